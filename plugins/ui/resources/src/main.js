// The page of a tool: asks for its input, calls it when the user says so, and shows what it answers.

import { draw } from "./chart.js";
import { Viewer } from "./data.js";
import { clean, cut, equal, h, has, isObject, pretty, showNumber, user } from "./dom.js";
import { makeForm } from "./form.js";
import { greet, reportSize, talk } from "./host.js";
import { image, jsonIn, raw, resultOf } from "./result.js";
import { point, reader } from "./schema.js";

const page = JSON.parse(document.getElementById("portcullis").textContent);
const { tool } = page;
const hints = tool.annotations ?? {};
// What MCP says of a tool that says nothing: it writes, and may destroy.
const asksFirst = hints.readOnlyHint !== true && hints.destructiveHint !== false;
const name = tool.title ?? hints.title ?? tool.name;

/** What faces may see: the input that was last sent or told, and the last answer. */
const state = { input: undefined, result: undefined };

const host = talk(heard);
const output = isObject(tool.outputSchema) ? tool.outputSchema : undefined;
const view = new Viewer(reader(output ?? {}).look, (url) =>
	host.request("ui/open-link", { url }).then(
		(answer) => answer?.isError && tell("The host did not open the link."),
		(problem) => tell(`The host did not open the link: ${problem.message}`)
	)
);
const form = makeForm(tool.inputSchema);

const status = h("p", { role: "status", class: "status" });
const progress = h("progress", { "aria-label": "Progress", hidden: true });
const stop = h("button", { type: "button", hidden: true, onclick: () => running?.abort() }, "Stop");
const start = h(
	"button",
	{ type: "button", class: "primary", onclick: () => run(actions) },
	asksFirst ? "Run…" : "Run"
);
const reset = h("button", { type: "button", onclick: () => fill(undefined, { fresh: true }) }, "Reset");
const actions = h("div", { class: "actions" }, start, reset, stop, progress, status);
const input = h("section", { class: "input", "aria-label": "Input" }, form.element, actions);
const answer = h("section", { class: "answer", "aria-label": "Result", tabindex: -1, hidden: true });
const notice = h("p", { class: "notice", hidden: true });
const header = h(
	"header",
	{},
	h(
		"div",
		{ class: "title" },
		h("h1", {}, name),
		h(
			"span",
			{ class: asksFirst ? "badge warn" : "badge" },
			hints.readOnlyHint ? "Read-only" : asksFirst ? "May change or delete" : "Adds or updates"
		)
	),
	tool.description && cut(h("p", { class: "lead" }), clean(tool.description), 400, (piece) => h("span", {}, piece))
);
const main = h("main", {}, header, notice, input, answer);

let running;
let progressToken;
let calls = 0;
let edited = false;

/** How long a question must have stood in one place before it can be agreed to, in milliseconds. */
const ARMED_AFTER = 700;

/** Takes back the question that is open: what it asks about is no longer what stands in the form. */
let dismiss;

let face;

const tell = (text) => (status.textContent = clean(text));

function fill(value, ask) {
	dismiss?.();
	form.fill(value, ask);
	edited = false;
}

/** Enables a button only after it has stood still for a while, so that no click meant for something else meets it. */
function arm(button) {
	let [place, since] = ["", 0];
	const watch = () => {
		const { x, y } = button.getBoundingClientRect();
		const now = performance.now();
		if (place !== `${x} ${y}`) {
			[place, since] = [`${x} ${y}`, now];
		}
		button.disabled = now - since < ARMED_AFTER;
		button.isConnected && requestAnimationFrame(watch);
	};
	watch();
}

/** Asks before what may destroy; `true` once the user agrees. */
function agree(anchor, args, shown) {
	return new Promise((done) => {
		dismiss?.();
		const back = document.activeElement;
		dismiss = () => {
			dismiss = undefined;
			panel.remove();
			done(false);
		};
		const end = (yes) => () => {
			done(yes);
			dismiss?.();
			back?.focus?.();
		};
		const agreed = h(
			"button",
			// The second click of a double click was meant for what stood here before.
			{ type: "button", class: "danger", onclick: (event) => event.detail > 1 || end(true)() },
			"Run it"
		);
		const panel = h(
			"div",
			{
				class: "confirm",
				role: "alertdialog",
				"aria-label": "Confirm",
				onkeydown: (event) => event.key === "Escape" && end(false)()
			},
			h("p", {}, h("strong", {}, `Run “${name}”?`), " It may change or delete something."),
			shown && h("pre", {}, pretty(args).slice(0, 4000)),
			h(
				"div",
				{ class: "actions" },
				agreed,
				h("button", { type: "button", onclick: end(false) }, "Cancel")
			)
		);
		// Above a view of a model's, so that nothing in the view can move it.
		shown ? anchor.before(panel) : anchor.after(panel);
		panel.querySelector(".actions").lastChild.focus();
		panel.scrollIntoView({ block: "nearest" });
		arm(agreed);
	});
}

/** Calls the tool with what the form yields. */
async function run(anchor) {
	const done = form.submit();
	if (!done) {
		tell("Not sent: see what needs attention.");
	}
	return done && call(done.value, anchor);
}

/** Calls the tool; the answer, or `undefined` if nothing was called. */
async function call(args, anchor, shown, sending) {
	if (running || (asksFirst && !(await agree(anchor, args, shown))) || running) {
		return undefined;
	}
	const before = state.result;
	progressToken = `portcullis-${++calls}`;
	running = new AbortController();
	sending?.();
	working("Running…");
	try {
		const result = await host.request(
			"tools/call",
			{ name: tool.name, arguments: args, _meta: { progressToken } },
			running.signal
		);
		// A host may tell the same once more by a notification, before or after.
		if (state.result === before || !equal(state.result, result)) {
			state.input = args;
			present(result);
			main.append(answer);
			answer.scrollIntoView({ block: "nearest" });
		}
		tell(result?.isError ? "The tool reports an error." : "Done.");
		return result;
	} catch (problem) {
		failed(problem.message);
		return { isError: true, content: [{ type: "text", text: problem.message }] };
	} finally {
		running = undefined;
		rest();
	}
}

function failed(message) {
	tell("");
	answer.hidden = false;
	answer.replaceChildren(
		h(
			"div",
			{ class: "alert", role: "alert" },
			h("strong", {}, "The tool was not called, or gave no answer"),
			h("p", {}, message)
		)
	);
	main.append(answer);
}

function working(text) {
	tell(text);
	progress.hidden = false;
	progress.removeAttribute("value");
	start.disabled = Boolean(running);
	stop.hidden = !running;
	main.setAttribute("aria-busy", "true");
}

function rest() {
	progress.hidden = stop.hidden = true;
	start.disabled = false;
	main.removeAttribute("aria-busy");
}

/** Shows an answer: by the face if there is one, and it can. */
function present(result) {
	state.result = result;
	answer.hidden = false;
	const shown = face && !result?.isError && attempt(() => face.update(state));
	answer.replaceChildren(h("h2", {}, "Result"), shown ? raw(result) : resultOf(result, view, output));
	answer.classList.toggle("bare", Boolean(shown));
}

/** Whether the face did it; if not, it goes, and the page says why. */
function attempt(action) {
	try {
		action();
		return true;
	} catch (problem) {
		plain(problem.message);
		return false;
	}
}

/** Goes back to the page that is made from the schemas alone. */
function plain(reason) {
	face?.element.remove();
	face?.end?.();
	face = undefined;
	main.classList.remove("faced", "documented");
	notice.hidden = !reason;
	notice.textContent = clean(`This tool’s own view cannot be shown: ${reason}`);
	fill(form.read(), {});
	notice.after(input);
	main.append(answer);
	state.result && present(state.result);
}

function heard(method, params) {
	switch (method) {
		case "ui/notifications/tool-input":
		case "ui/notifications/tool-input-partial": {
			const partial = method.endsWith("partial");
			working(partial ? "The input is being written…" : "The tool is running…");
			state.input = params.arguments ?? {};
			// What the user has typed is not taken away.
			edited || running || fill(state.input, { partial });
			face && attempt(() => face.update(state));
			break;
		}
		case "ui/notifications/tool-result":
			if (!equal(params, state.result)) {
				present(params);
				running || face || notice.after(answer);
			}
			running || tell("");
			running || rest();
			break;
		case "ui/notifications/tool-cancelled":
			rest();
			tell(`Cancelled${params.reason ? `: ${params.reason}` : "."}`);
			break;
		case "ui/notifications/host-context-changed":
			dress(params);
			break;
		case "notifications/progress":
			if (running && params.progressToken === progressToken) {
				progress.max = params.total ?? 1;
				params.total && (progress.value = params.progress);
				tell(
					params.message ??
						`Running… ${showNumber(params.progress)}${params.total ? ` of ${showNumber(params.total)}` : ""}`
				);
			}
			break;
		// What else a host tells does not concern this page.
		default:
	}
}

/** Takes on the host's looks and its user's ways of writing. */
function dress(context) {
	const root = document.documentElement;
	if (/^(light|dark)$/.test(context.theme)) {
		root.dataset.theme = context.theme;
	}
	for (const [key, value] of Object.entries(context.styles?.variables ?? {})) {
		// An address would be fetched.
		/^--[\w-]+$/.test(key) &&
			typeof value === "string" &&
			!/url\(|image-set\(/i.test(value) &&
			root.style.setProperty(key, value);
	}
	if (context.safeAreaInsets) {
		const { top, right, bottom, left } = context.safeAreaInsets;
		document.body.style.padding = [top, right, bottom, left].map((inset) => `${Number(inset) || 0}px`).join(" ");
	}
	const old = JSON.stringify(user);
	user.locale = context.locale ?? user.locale;
	user.timeZone = context.timeZone ?? user.timeZone;
	try {
		const { language, script } = new Intl.Locale(user.locale).maximize();
		root.dir = /^(Arab|Hebr|Thaa|Syrc|Nkoo|Adlm)$/.test(script) || language === "ar" ? "rtl" : "ltr";
	} catch {
		user.locale = undefined;
	}
	old === JSON.stringify(user) || (state.result && present(state.result));
	face?.dress?.(root.dataset.theme);
}

const LINES = ["INPUT", "SELECT"];

input.addEventListener("keydown", (event) => {
	const field = event.target;
	if (
		event.key === "Enter" &&
		!event.isComposing &&
		LINES.includes(field.tagName) &&
		!["checkbox", "color"].includes(field.type)
	) {
		event.preventDefault();
		run(actions);
	}
});
for (const kind of ["input", "change"]) {
	form.element.addEventListener(kind, ({ isTrusted }) => {
		edited = true;
		// A field that the focus has left for the question says so by a change of its own.
		(kind === "input" || !isTrusted) && dismiss?.();
	});
}

fill(undefined, { fresh: true });
document.body.replaceChildren(main);
const wants = page.view ? "its specification" : page.document ? "its document" : "";
if (wants) {
	attempt(() => {
		if (!globalThis.portcullisFace) {
			throw new Error(`the page has ${wants} and nothing that shows it`);
		}
		face = globalThis.portcullisFace({
			call,
			clean,
			draw,
			form,
			h,
			has,
			host,
			image,
			input,
			isObject,
			jsonIn,
			page,
			plain,
			point,
			run,
			showNumber,
			state,
			tell,
			tool,
			view
		});
		main.classList.add("faced", page.document ? "documented" : "specified");
		notice.after(face.element);
		face.update(state);
	});
}
greet(host).then(
	({ hostContext = {} }) => {
		dress(hostContext);
		reportSize(host);
	},
	(problem) => tell(`The host refused this view: ${problem.message}`)
);
