// The page of a tool: asks for its input, calls it when the user says so, and shows what it answers.

import { agree, dismiss } from "./consent.js";
import { dress, settle } from "./context.js";
import { converse } from "./conversation.js";
import { copy } from "./copy.js";
import { Viewer } from "./data.js";
import { clean, equal, freshId, h, has, isObject, showNumber, steady } from "./dom.js";
import { makeForm } from "./form.js";
import { greet, reportSize, talk } from "./host.js";
import { parts } from "./parts.js";
import { dataIn, image, raw, resultOf } from "./result.js";
import { say } from "./say.js";
import { point, reader } from "./schema.js";
import { jsonIn } from "./text.js";
import { sentence, words } from "./words.js";

const page = JSON.parse(document.getElementById("portcullis").textContent);
const { tool } = page;
const hints = tool.annotations ?? {};
// What MCP says of a tool that says nothing: it writes, and may destroy.
const asksFirst = hints.readOnlyHint !== true && hints.destructiveHint !== false;
const name = tool.title ?? hints.title ?? words(tool.name);

/** What faces may see: the input that was last sent or told, and the last answer. */
const state = { input: undefined, result: undefined };

const host = talk(heard);
const conversation = converse(host, tell);
const output = isObject(tool.outputSchema) ? tool.outputSchema : undefined;
const view = new Viewer(
	reader(output ?? {}).look,
	(url) =>
		host.request("ui/open-link", { url }).then(
			(answer) => answer?.isError && tell(say("linkNotOpened")),
			({ message }) => tell(`${say("linkNotOpened")} ${message}`)
		),
	{
		copy,
		canSave: conversation.canDownload,
		save: conversation.download,
		canAsk: conversation.canAsk,
		ask: conversation.ask
	}
);
const form = makeForm(tool.inputSchema);

/** What is known of the host's surroundings. */
let context = {};
/** Whether this page may call its tool; otherwise the assistant may. */
let isCallable = page.callable !== false;

const button = (onclick, attributes) => h("button", { type: "button", ...attributes, onclick });
const status = h("p", { role: "status", class: "status" });
const progress = h("progress", { hidden: true });
const stop = button(() => running?.abort(), { hidden: true });
const start = button(() => run(actions), { class: "primary" });
const reset = button(() => fill(undefined, { fresh: true }));
const actions = h("div", { class: "actions" }, start, reset, stop, progress, status);
const foldId = freshId();
const toggle = button(() => ((keepsOpen = isFolded), fold(!isFolded)), {
	class: "fold",
	"aria-controls": foldId,
	hidden: true
});
const whole = button(changeMode, { hidden: true });
const badge = h("span", { class: asksFirst ? "badge warn" : "badge" });
const lead =
	tool.description && h("p", { class: "lead" }, sentence(tool.description));
const only = h("p", { class: "hint", hidden: true });
const draft = h("div", { class: "input", id: foldId }, lead, only, form.element);
const input = h("section", { class: "input" }, draft, actions);
const answer = h("section", { class: "answer", tabindex: -1, hidden: true });
const notice = h("p", { class: "notice", hidden: true });
const deeds = h("div", { class: "actions deeds" }, toggle, whole);
const header = h("header", { class: "title" }, h("div", { class: "names" }, h("h1", {}, name), badge), deeds);
const main = h("main", {}, header, notice, input, answer);

let running;
let progressToken;
let calls = 0;
let edited = false;
/** Whether the form is folded, and whether the user wants it open whatever is answered. */
let isFolded = false;
let keepsOpen = false;

let face;

function tell(text) {
	status.textContent = clean(text);
}

function fill(value, ask) {
	dismiss();
	form.fill(value, ask);
	edited = false;
	label();
}

/** Writes the page's own words. */
function label() {
	const count = Object.keys(form.read() ?? {}).length;
	toggle.textContent = count ? say("editSet", { count }) : say("edit");
	start.textContent = isCallable ? say(asksFirst ? "runAsking" : "run") : say("askAssistant");
	reset.textContent = say("reset");
	stop.textContent = say("stop");
	only.textContent = say("onlyAssistant");
	badge.textContent = say(hints.readOnlyHint ? "reads" : asksFirst ? "destroys" : "adds");
	progress.setAttribute("aria-label", say("progress"));
	input.setAttribute("aria-label", say("input"));
	answer.setAttribute("aria-label", say("result"));
	whole.textContent = say(context.displayMode === "fullscreen" ? "leaveFull" : "fullScreen");
}

/** What the page offers, as the tool, the host and the answer allow. */
function arrange() {
	const isFull = context.displayMode === "fullscreen";
	whole.hidden =
		!context.availableDisplayModes?.includes(isFull ? "inline" : "fullscreen") ||
		!(isFull || main.querySelector("table,svg,canvas"));
	document.documentElement.dataset.mode = context.displayMode ?? "";
	only.hidden = isCallable;
	// A tool that takes nothing is run again by a small button in the head: the answer stands first.
	const isBare = form.isEmpty();
	if (isBare && isFolded && start.parentNode !== deeds) {
		const isHeld = start === document.activeElement;
		deeds.prepend(start);
		isHeld && start.focus({ preventScroll: true });
	}
	start.className = isBare && isFolded ? "" : "primary";
	start.hidden = (isFolded && !isBare) || !(isCallable || conversation.canAsk());
	reset.hidden = isFolded || start.hidden || isBare;
	draft.inert = !isCallable && !conversation.canAsk();
	draft.hidden = isFolded;
	toggle.hidden = !state.result || Boolean(face) || isBare;
	toggle.setAttribute("aria-expanded", String(!isFolded));
	main.classList.toggle("folded", isFolded);
	label();
}

/** Folds the form, or unfolds it; the focus does not stay on what has gone. */
function fold(to) {
	const held = input.contains(document.activeElement);
	isFolded = to;
	arrange();
	held && to && toggle.focus({ preventScroll: true });
}

async function changeMode() {
	try {
		const mode = context.displayMode === "fullscreen" ? "inline" : "fullscreen";
		context.displayMode = (await host.request("ui/request-display-mode", { mode }))?.mode;
		arrange();
	} catch ({ message }) {
		tell(say("hostRefused", { reason: message }));
	}
}

/** Calls the tool with what the form yields. */
async function run(anchor) {
	const done = !running && form.submit();
	if (!done) {
		running || tell(say("notSent"));
	}
	return done && call(done.value, anchor);
}

/** Calls the tool; the answer, or `undefined` if nothing was called. */
async function call(args, anchor, shown, sending) {
	if (!isCallable) {
		(await conversation.askToRun(tool.name, args)) && tell(say("asked"));
		return undefined;
	}
	if (running || (asksFirst && !(await agree(name, anchor, args, shown))) || running) {
		return undefined;
	}
	const before = state.result;
	progressToken = `portcullis-${++calls}`;
	running = new AbortController();
	sending?.();
	working(say("running"));
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
			answer.scrollIntoView({ block: "nearest" });
		}
		conversation.report(tool.name, args, result);
		tell(say(result?.isError ? "toolError" : "done"));
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
			h("strong", {}, say("notCalled")),
			h("p", {}, message)
		)
	);
}

function working(text) {
	tell(text);
	progress.hidden = false;
	progress.removeAttribute("value");
	// Not `disabled`: that would take the focus away.
	start.setAttribute("aria-disabled", String(Boolean(running)));
	stop.hidden = !running;
	main.setAttribute("aria-busy", "true");
}

function rest() {
	stop === document.activeElement && start.focus({ preventScroll: true });
	progress.hidden = stop.hidden = true;
	start.setAttribute("aria-disabled", "false");
	main.removeAttribute("aria-busy");
}

/** Shows an answer: by the face if there is one, and it can. */
function present(result) {
	state.result = result;
	answer.hidden = false;
	const shown = face && !result?.isError && attempt(() => steady(face.element, () => face.update(state)));
	steady(answer, () =>
		answer.replaceChildren(
			h("h2", { class: "unseen" }, say("result")),
			...(shown ? [raw(result)] : [resultOf(result, view, output, state.input), pages(result)].filter(Boolean))
		)
	);
	answer.classList.toggle("bare", Boolean(shown));
	// Who has just run the tool mends the input; what the assistant ran is read first.
	fold(!face && !keepsOpen && (isFolded || !running || !result?.isError));
}

/** Buttons for the pages before and after this one, if the tool leafs. */
function pages(result) {
	const { next, previous } = (isCallable && !result?.isError && parts.pages?.(tool.inputSchema, state.input, dataIn(result))) || {};
	const leaf = (key, args) => args && h("button", { type: "button", onclick: (event) => call(args, event.currentTarget) }, say(key));
	return (next || previous) && h("nav", { class: "pages", "aria-label": say("pages") }, leaf("previousPage", previous), leaf("nextPage", next));
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
	notice.textContent = clean(say("viewFailed", { reason }));
	fill(form.read(), {});
	notice.after(input);
	// Who asks for the form wants to see it.
	keepsOpen ||= !reason;
	arrange();
	state.result && present(state.result);
}

function heard(method, params) {
	switch (method) {
		case "ui/notifications/tool-input":
		case "ui/notifications/tool-input-partial": {
			const partial = method.endsWith("partial");
			working(say(partial ? "inputComing" : "toolRuns"));
			state.input = params.arguments ?? {};
			partial ? (waiting ??= requestAnimationFrame(() => takeIn(true))) : takeIn(false);
			break;
		}
		case "ui/notifications/tool-result":
			if (!equal(params, state.result)) {
				present(params);
			}
			running || tell("");
			running || rest();
			break;
		case "ui/notifications/tool-cancelled":
			rest();
			tell(params.reason ? say("cancelledWhy", params) : say("cancelled"));
			break;
		case "ui/notifications/host-context-changed":
			surround(params);
			break;
		case "notifications/progress":
			if (running && params.progressToken === progressToken) {
				progress.max = params.total ?? 1;
				params.total && (progress.value = params.progress);
				const { message, progress: done, total } = params;
				tell(message ?? say(total ? "runningOf" : "runningDone", { done, total }));
			}
			break;
		// What else a host tells does not concern this page.
		default:
	}
}

let waiting;

/** Shows the input that the host tells of, at most once for each frame that is drawn while it is being written. */
function takeIn(partial) {
	cancelAnimationFrame(waiting);
	waiting = undefined;
	// What the user has typed is not taken away.
	edited || running || fill(state.input, { partial });
	face && attempt(() => face.update(state));
}

const read = async (uri) => (await host.request("resources/read", { uri })).contents[0].text;

/** Takes on what the host says of the page's surroundings, and its user's language. */
async function surround(news) {
	context = { ...context, ...news };
	dress(news);
	const { visibility } = context.toolInfo?.tool?._meta?.ui ?? {};
	isCallable &&= !Array.isArray(visibility) || visibility.includes("app");
	arrange();
	face?.dress?.(document.documentElement.dataset.theme);
	if (await settle(context, read)) {
		if (!edited) {
			fill(state.input, { fresh: !state.input });
		} else if (!form.isDrafted()) {
			// What is in the fields and cannot be read yet is not taken away.
			form.fill(form.read(), {});
		}
		state.result && present(state.result);
		arrange();
	}
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
		label();
		// A field that the focus has left for the question says so by a change of its own.
		(kind === "input" || !isTrusted) && dismiss?.();
	});
}

/** Shows the page, in the browser's language as long as the host has not said another. */
async function begin() {
	await settle({}, () => Promise.reject(new Error("there is no host yet")));
	fill(undefined, { fresh: true });
	arrange();
	document.body.replaceChildren(main);
	put();
	try {
		const { hostContext = {}, hostCapabilities } = await greet(host);
		conversation.learn(hostCapabilities);
		surround(hostContext);
		reportSize(host);
	} catch (problem) {
		tell(say("viewRefused", { reason: problem.message }));
	}
}

/** Puts the tool's own view into the page, if there is one. */
function put() {
	const wants = page.view ? "its specification" : page.document ? "its document" : "";
	if (!wants) {
		return;
	}
	attempt(() => {
		if (!globalThis.portcullisFace) {
			throw new Error(`the page has ${wants} and nothing that shows it`);
		}
		face = globalThis.portcullisFace({
			call,
			clean,
			conversation,
			form,
			h,
			has,
			host,
			image,
			input,
			isObject,
			jsonIn,
			page,
			parts,
			plain,
			point,
			run,
			say,
			showNumber,
			state,
			steady,
			tell,
			tool,
			view
		});
		main.classList.add("faced", page.document ? "documented" : "specified");
		notice.after(face.element);
		face.update(state);
	});
}

begin();
