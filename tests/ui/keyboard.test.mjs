// The keyboard alone: in each view of the gallery, Tab reaches everything that can be operated, in both directions and out again,
// the focus is seen, and Enter, Space, Escape and the arrows operate what has it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gallery, show } from "./gallery.mjs";
import { startHosts } from "./host.mjs";

/** Most presses of Tab in one direction: more than any view of the gallery has places to stop. */
const STOPS = 80;

/** In the frame of a view: what the test asks of it. */
function watch() {
	const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']";
	/** The names of what has had the focus, since much is made anew after a press; and what Tab has led to. */
	const [reached, stopped] = [new Set(), new WeakSet()];
	let changes = 0;
	new MutationObserver((all) => (changes += all.length)).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
	document.addEventListener("focusin", ({ target }) => ++changes && reached.add(said(target)));
	const isThere = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && !one.closest("[inert]") && (one.tabIndex >= 0 || one.matches("[role=tab]"));
	const said = (one) => `${one.tagName.toLowerCase()}${one.type ? `[${one.type}]` : ""} “${(one.getAttribute("aria-label") || one.labels?.[0]?.textContent || one.textContent || one.className).trim().slice(0, 40)}”`;
	window.keyboard = {
		changes: () => changes,
		/** What nothing has reached yet. Of radio buttons and tabs, the arrows reach all but one. */
		missed: () =>
			[...document.querySelectorAll(CONTROLS)]
				.filter((one) => isThere(one) && !reached.has(said(one)) && !one.matches("[role=tab], [type=radio]"))
				.map(said),
		/** What has the focus: its name and kind, how it can be operated, and what is wrong with how it is seen. */
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
			// A field of a time shows the focus at its parts, of which a script knows nothing.
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

/** The keys that operate a kind of element, each for itself; a second undoes the first, where that is needed to go on. */
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

/** Operates what has the focus, and says what came of it. */
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
	// A button that cannot be pressed while the tool runs has the focus again afterwards; what an answer replaces is not gone on from.
	const isKept = isHeld || (await frame.waitForFunction(() => document.activeElement !== document.body && !document.querySelector("[aria-busy]"), undefined, { timeout: 5000 }).catch(() => {}));
	isKept || faults.push(`${here.name}: the focus is lost after ${keys.join(", ")}`);
	return faults;
}

/** Goes through a view with Tab, or Shift and Tab, until the focus is out of it at `end`; operates each element once. */
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
			// Backwards, the button of a field of a time comes before what can be typed into.
			here.isNew && !(key === "Shift+Tab" && /^(date|time)/.test(here.kind)) && faults.push(...(await operate(view, frame, here, chosen)));
		}
	}
	return { faults: [...faults, `${STOPS} times ${key} do not lead out of the view: ${names.slice(-6).join(", ")}`], names };
}

test("the keyboard alone does everything in each view of the gallery", { timeout: 600_000, concurrency: 3 }, async (t) => {
	const hosts = await startHosts(t);
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
			// There and back; once more where a press of a button has shown what was passed before.
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
