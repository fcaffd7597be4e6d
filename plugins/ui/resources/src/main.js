// The page of a tool: asks for the arguments, calls the tool when the user says so, and shows the answer.

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
// By MCP, a tool without these hints is not read-only, and may be destructive.
const asksFirst = hints.readOnlyHint !== true && hints.destructiveHint !== false;
const name = tool.title ?? hints.title ?? words(tool.name);

/** The state that faces see: the input that was last sent or announced by the host, and the last answer. */
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

/** The host context, as far as the host has sent it. */
let context = {};
/** Whether this page may call its tool. If not, it asks the assistant to. */
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
/** Whether the form is folded, and whether the user wants it to stay open after an answer. */
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

/** Writes the labels of the page. */
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

/** Shows the buttons that the tool, the host and the answer allow. */
function arrange() {
	const isFull = context.displayMode === "fullscreen";
	whole.hidden =
		!context.availableDisplayModes?.includes(isFull ? "inline" : "fullscreen") ||
		!(isFull || main.querySelector("table,svg,canvas"));
	document.documentElement.dataset.mode = context.displayMode ?? "";
	only.hidden = isCallable;
	// A tool without arguments is run again by a small button in the header, so that the answer comes first.
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

/** Folds or unfolds the form. The focus does not stay on a hidden element. */
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

/** Calls the tool with the arguments in the form. */
async function run(anchor) {
	const done = !running && form.submit();
	if (!done) {
		running || tell(say("notSent"));
	}
	return done && call(done.value, anchor);
}

/** Calls the tool. Gives the answer, or `undefined` if the tool was not called. */
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
		// A host may also send the same answer as a notification, before or after.
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
	// Not `disabled`, since a disabled button loses the focus.
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

/** Shows an answer: by the face, if there is one and it succeeds. */
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
	// After an error of the user's own call the form stays open, to correct the input. Otherwise the answer is read first.
	fold(!face && !keepsOpen && (isFolded || !running || !result?.isError));
}

/** Buttons for the previous and the next page, if the tool has pagination. */
function pages(result) {
	const { next, previous } = (isCallable && !result?.isError && parts.pages?.(tool.inputSchema, state.input, dataIn(result))) || {};
	const leaf = (key, args) => args && h("button", { type: "button", onclick: (event) => call(args, event.currentTarget) }, say(key));
	return (next || previous) && h("nav", { class: "pages", "aria-label": say("pages") }, leaf("previousPage", previous), leaf("nextPage", next));
}

/** Whether the face succeeded. If not, it is removed, and the page says why. */
function attempt(action) {
	try {
		action();
		return true;
	} catch (problem) {
		plain(problem.message);
		return false;
	}
}

/** Removes the face: shows the page that is made from the schemas alone. */
function plain(reason) {
	face?.element.remove();
	face?.end?.();
	face = undefined;
	main.classList.remove("faced", "documented");
	notice.hidden = !reason;
	notice.textContent = clean(say("viewFailed", { reason }));
	fill(form.read(), {});
	notice.after(input);
	// A user who asks for the form wants to see it.
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
		// Other notifications do not concern this page.
		default:
	}
}

let waiting;

/** Shows the input that the host sends. While the model still writes the input, it is shown at most once per frame. */
function takeIn(partial) {
	cancelAnimationFrame(waiting);
	waiting = undefined;
	// Text that the user has typed is not replaced.
	edited || running || fill(state.input, { partial });
	face && attempt(() => face.update(state));
}

const read = async (uri) => (await host.request("resources/read", { uri })).contents[0].text;

/** Adopts changes of the host context, and the user's language. */
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
			// A form with text that cannot be parsed yet is not filled again: the text would be lost.
			form.fill(form.read(), {});
		}
		state.result && present(state.result);
		arrange();
	}
}

input.addEventListener("keydown", (event) => {
	if (event.key === "Enter" && !event.isComposing && event.target.matches("select, input:not([type=checkbox], [type=color])")) {
		event.preventDefault();
		run(actions);
	}
});
for (const kind of ["input", "change"]) {
	form.element.addEventListener(kind, ({ isTrusted }) => {
		edited = true;
		label();
		// When the focus moves from a field to the question, the field fires a trusted `change`, which is ignored.
		(kind === "input" || !isTrusted) && dismiss?.();
	});
}

/** Shows the page, in the browser's language until the host names another one. */
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

/** Puts the face into the page: the view by a specification or a document, if there is one. */
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
