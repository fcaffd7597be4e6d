// Tests that the keyboard is enough: in each view of the gallery, Tab reaches every control in both directions and leaves the
// view, the focus is visible, and Enter, Space, Escape and the arrows operate the focused control.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gallery, show } from "./gallery.mjs";
import { startHosts } from "./host.mjs";

/** Maximum number of presses of Tab in one direction: more than any view of the gallery has controls. */
const STOPS = 120;

/** Adds the functions of the test to the frame of a view. */
function watch() {
	const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']";
	/** The names of controls that have had the focus (names, since presses replace elements), and the elements that Tab reached. */
	const [reached, stopped] = [new Set(), new WeakSet()];
	let changes = 0;
	new MutationObserver((all) => (changes += all.length)).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
	document.addEventListener("focusin", ({ target }) => ++changes && reached.add(said(target)));
	const isThere = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && !one.closest("[inert]") && (one.tabIndex >= 0 || one.matches("[role=tab]"));
	const said = (one) => `${one.tagName.toLowerCase()}${one.type ? `[${one.type}]` : ""} “${(one.getAttribute("aria-label") || one.labels?.[0]?.textContent || one.textContent || one.className).trim().slice(0, 40)}”`;
	window.keyboard = {
		changes: () => changes,
		/** The controls that have not had the focus yet. Of radio buttons and tabs, Tab reaches one, and the arrows reach the others. */
		missed: () =>
			[...document.querySelectorAll(CONTROLS)]
				.filter((one) => isThere(one) && !reached.has(said(one)) && !one.matches("[role=tab], [type=radio]"))
				.map(said),
		/** The focused control: its name and kind, how it can be operated, and faults in how it is shown. */
		here() {
			const one = document.activeElement;
			if (!document.hasFocus() || one === document.body || one === document.documentElement) {
				return undefined;
			}
			const isNew = !stopped.has(one);
			reached.add(said(one));
			stopped.add(one);
			const { outlineStyle, outlineWidth } = getComputedStyle(one);
			const { left, right, top, bottom, width, height } = one.getBoundingClientRect();
			const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
			const faults = [];
			const kind = one.tagName === "INPUT" ? one.type : one.getAttribute("role") || one.tagName.toLowerCase();
			// A time field shows the focus at its parts, which scripts cannot see.
			!/^(date|time)/.test(kind) && (outlineStyle === "none" || !parseFloat(outlineWidth)) && faults.push("no outline shows the focus");
			(width < 2 || height < 2) && faults.push(`its size is ${width} × ${height}`);
			left < innerWidth && right > 0 && at && at !== one && !one.contains(at) && !at.contains(one) && !one.labels?.length && faults.push(`it is behind ${said(at)}`);
			const state = () => JSON.stringify([one.value, one.checked, one.getAttribute("aria-selected"), one.getAttribute("aria-valuenow"), one.scrollTop, one.scrollLeft]);
			window.keyboard.state = state;
			return {
				name: said(one),
				kind,
				isNew,
				faults,
				state: state(),
				isReadOnly: Boolean(one.readOnly),
				scrolls: one.scrollHeight > one.clientHeight + 1 ? "ArrowDown" : one.scrollWidth > one.clientWidth + 1 ? (getComputedStyle(one).direction === "rtl" ? "ArrowLeft" : "ArrowRight") : ""
			};
		}
	};
}

/** The keys that operate each kind of element. A second key undoes the first, if that is needed to go on. */
const KEYS = {
	text: ["7"],
	search: ["7", "Backspace"],
	email: ["7"],
	url: ["7"],
	password: ["7"],
	number: ["ArrowUp"],
	range: ["ArrowRight"],
	slider: ["ArrowRight"],
	date: ["ArrowUp ArrowRight ArrowUp ArrowRight ArrowUp"],
	time: ["ArrowUp ArrowRight ArrowUp ArrowRight ArrowUp"],
	"datetime-local": ["0 1 0 2 2 0 2 6 ArrowRight 1 0 1 1 1 2 0 1 3 a"],
	textarea: ["7"],
	select: ["ArrowDown"],
	checkbox: ["Space", "Space"],
	radio: ["ArrowDown"],
	tab: ["ArrowRight"],
	summary: ["Enter", "Space"],
	button: ["Enter"]
};

/** Operates the focused control, and returns the faults. */
async function operate({ host }, frame, here, chosen) {
	const told = async () => {
		const inHost = host.evaluate(() => ["calls", "links", "others", "modes"].map((kind) => window.log[kind].length));
		const inView = frame.evaluate(() => [window.keyboard.changes(), window.keyboard.state()]);
		return String([await inHost, await inView, chosen.length]);
	};
	const keys = here.kind === "group" || here.kind === "region" ? here.scrolls && [here.scrolls] : KEYS[here.kind];
	if (!keys || here.isReadOnly) {
		return keys === undefined && here.kind !== "file" && here.kind !== "color" ? [`${here.name}: there is no key for ${here.kind}`] : [];
	}
	const faults = [];
	for (const key of keys) {
		const before = await told();
		for (const one of key.split(" ")) {
			await host.keyboard.press(one);
		}
		let has = false;
		for (let round = 0; round < 20 && !has; round++) {
			round && (await host.waitForTimeout(25));
			has = (await told()) !== before;
		}
		has || faults.push(`${here.name}: ${key} does nothing`);
	}
	const [isOpen, isHeld] = await frame.evaluate(() => [document.querySelector("dialog[open]") !== null, document.activeElement !== document.body && !document.querySelector("[aria-busy]")]);
	if (isOpen) {
		await host.keyboard.press("Escape");
		(await frame.evaluate(() => document.querySelector("dialog[open]") !== null)) && faults.push(`${here.name}: Escape does not close the dialog`);
	}
	// A button that is disabled while the tool runs gets the focus back afterwards. A control that an answer replaces does not count.
	const isKept = isHeld || (await frame.waitForFunction(() => document.activeElement !== document.body && !document.querySelector("[aria-busy]"), undefined, { timeout: 5000 }).catch(() => {}));
	isKept || faults.push(`${here.name}: the focus is lost after ${keys.join(", ")}`);
	return faults;
}

/** Goes through a view with Tab, or Shift and Tab, until the focus leaves it at `end`. Operates each control once. */
async function walk(view, frame, key, end, chosen) {
	const [faults, names] = [[], []];
	for (let stop = 0; stop < STOPS; stop++) {
		await view.host.keyboard.press(key);
		if (await view.host.evaluate((id) => document.activeElement.id === id, end)) {
			return { faults, names };
		}
		const here = await frame.evaluate(() => window.keyboard.here());
		if (here) {
			names.push(here.name);
			faults.push(...here.faults.map((fault) => `${here.name}: ${fault}`));
			// Backwards, the button of a time field comes before its text parts.
			here.isNew && !(key === "Shift+Tab" && /^(date|time)/.test(here.kind)) && faults.push(...(await operate(view, frame, here, chosen)));
		}
	}
	return { faults: [...faults, `${STOPS} times ${key} do not lead out of the view: ${names.slice(-6).join(", ")}`], names };
}

test("each view of the gallery can be operated by keyboard alone", { timeout: 600_000, concurrency: 3 }, async (t) => {
	const hosts = await startHosts(t, { reuse: true });
	const { shapes, parts, compared } = await gallery();
	const all = [...shapes, ...parts, ...compared].map((one) =>
		t.test(one.name, { timeout: 120_000 }, async (t) => {
			const view = await show(t, hosts, one);
			const frame = view.host.frames().find((inner) => inner.parentFrame()?.parentFrame() === view.host.mainFrame());
			one.how.result && (await view.answers(one.how.result));
			const chosen = [];
			view.host.on("filechooser", (chooser) => chosen.push(chooser));
			await frame.evaluate(watch);
			await view.host.evaluate(() => {
				const button = (id) => Object.assign(document.createElement("button"), { id, textContent: id });
				document.body.prepend(button("before"));
				document.body.append(button("after"));
				document.getElementById("before").focus();
			});
			let missed = [];
			// Forwards and backwards; a second time if a press of a button has shown controls at places that were passed already.
			for (let round = 0; round < 2 && (!round || missed.length); round++) {
				for (const [key, end] of [["Tab", "after"], ["Shift+Tab", "before"]]) {
					const { faults, names } = await walk(view, frame, key, end, chosen);
					assert.deepEqual(faults, []);
					assert.ok(names.length > 0, `${key} goes through the view`);
				}
				missed = await frame.evaluate(() => window.keyboard.missed());
			}
			assert.deepEqual(missed, [], "the keyboard reaches everything");
		})
	);
	await Promise.all(all);
});
