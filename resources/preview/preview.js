// The page of `portcullis preview`: a small MCP Apps host for the views of one server, for authors and reviewers of views.

import { answer } from "./dialogs.js";
import { hostile } from "./hostile.js";
import { example, showAnswer, showFacts, showTools } from "./panels.js";
import { Failure, list, listen, request } from "./mcp.js";
import { load, Stage } from "./stage.js";
import { HOSTS, LOCALES } from "./surroundings.js";
import { cut, h, isObject } from "./text.js";
import { viewOf } from "./calls.js";

const at = (id) => document.getElementById(id);
const sandbox = document.body.dataset.sandbox;

/** The first and the longest delay before the page connects to the server again, in milliseconds. */
const RETRY = [300, 5000];

/** The user's choices. They are kept in the page's URL, so that a reload shows the same. */
const chosen = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
chosen.tool ??= document.body.dataset.tool;
chosen.theme = ["light", "dark", "both"].includes(chosen.theme)
	? chosen.theme
	: matchMedia("(prefers-color-scheme: dark)").matches
		? "dark"
		: "light";
chosen.width = ["360", "600", "wide"].includes(chosen.width) ? chosen.width : "wide";
chosen.locale = LOCALES.includes(chosen.locale) ? chosen.locale : "";
chosen.host = Object.hasOwn(HOSTS, chosen.host ?? "") ? chosen.host : "specification";
chosen.answers = chosen.answers === "hostile" ? "hostile" : "real";
// For screenshots: the view alone, without the rest of the page.
document.body.classList.toggle("bare", chosen.bare === "1");

let tools = [];
let listed = false;
/** The state of each tool by its name: the `text` of the arguments, and the last `call`. */
const known = new Map();
const stage = new Stage({ sandbox, tools: () => tools, answered: (result) => showAnswer(at("answer"), result) });

const selected = () => tools.find(({ name }) => name === chosen.tool);

function remember() {
	history.replaceState(null, "", `#${new URLSearchParams(chosen)}`);
	document.title = chosen.tool ? `${cut(chosen.tool, 100)} – Portcullis preview` : "Portcullis preview";
}

function knownOf(tool) {
	if (!known.has(tool.name)) {
		known.set(tool.name, { text: JSON.stringify(example(tool.inputSchema), null, 2) });
	}
	return known.get(tool.name);
}

function say(text) {
	at("note").hidden = text === undefined;
	at("note").textContent = text === undefined ? "" : cut(text, 2000);
}

function select(name) {
	if (name !== chosen.tool) {
		chosen.tool = name;
		remember();
	}
	watchOther();
	at("tools").querySelector("[aria-current]")?.removeAttribute("aria-current");
	at("tools")
		.querySelector(`[data-name="${CSS.escape(name)}"]`)
		?.setAttribute("aria-current", "true");
	const tool = selected();
	at("name").textContent = tool ? cut(tool.title ?? tool.annotations?.title ?? tool.name, 200) : cut(name, 200);
	at("description").textContent = tool ? cut(tool.description ?? "", 2000) : "";
	at("call").disabled = !tool;
	at("reload").disabled = !tool;
	at("arguments-error").textContent = "";
	if (tool) {
		const { text, call } = knownOf(tool);
		at("arguments").value = text;
		showRunning(call);
		showAnswer(at("answer"), call?.result, call?.failure);
	}
	showEffect();
	return show();
}

/** Shows what effect a call of the selected tool has. */
function showEffect() {
	const tool = selected();
	at("effect").textContent = !tool
		? ""
		: chosen.answers === "hostile"
			? "Nothing is called: hostile answers are made up, one kind after the other."
		: tool.annotations?.readOnlyHint === true
			? "It only reads, says the tool."
			: "This is no rehearsal: what the tool changes is changed.";
}

function showList() {
	const wanted = { words: at("search").value, kind: at("kind").value };
	showTools(at("tools"), at("count"), tools, chosen.tool, wanted, select);
}

let shows = 0;

/** Shows the current view of the selected tool. */
async function show() {
	const turn = ++shows;
	const tool = selected();
	say(undefined);
	at("size").textContent = "";
	if (!tool) {
		await stage.show(undefined);
		showFacts(at("facts"), undefined);
		if (listed) {
			say(chosen.tool ? `The server lists no tool \`${chosen.tool}\`.` : "The server has no tools.");
		}
		return;
	}
	showFacts(at("facts"), tool);
	if (viewOf(tool) === undefined) {
		await stage.show(undefined);
		if (turn === shows) {
			say("This tool has no view: its definition names none. What it answers stands beside.");
		}
		return;
	}
	try {
		const page = await load(viewOf(tool), answer, chosen.host);
		if (turn === shows) {
			at("size").textContent = page.words;
			showFacts(at("facts"), tool, page);
			await stage.show(tool, page, knownOf(tool).call);
		}
	} catch (error) {
		if (turn === shows) {
			await stage.show(undefined);
			say(`Its view is not shown: ${error.message}`);
		}
	}
}

/** Calls the selected tool with the arguments in the text box. */
async function run() {
	const tool = selected();
	let args;
	try {
		args = JSON.parse(at("arguments").value);
		if (!isObject(args)) {
			throw new Error("arguments are a JSON object: { … }");
		}
	} catch (error) {
		at("arguments-error").textContent = `This cannot be sent: ${error.message}`;
		at("arguments").focus();
		return;
	}
	at("arguments-error").textContent = "";
	const stop = new AbortController();
	const call = { args, stop, id: crypto.randomUUID() };
	knownOf(tool).call?.stop.abort(new Failure("another call was made"));
	knownOf(tool).call = call;
	const current = () => selected()?.name === tool.name && known.get(tool.name).call === call;
	showRunning(call);
	showAnswer(at("answer"), undefined, undefined, "Called; there is no answer yet.");
	stage.called(tool, call);
	const progress = (how) => {
		call.progress = how;
		if (current()) {
			showRunning(call);
		}
	};
	try {
		const params = { name: tool.name, arguments: args };
		const more = { signal: stop.signal, progress, ask: answer, schema: tool.inputSchema };
		call.result =
			chosen.answers === "hostile" ? hostile(tool) : await request("tools/call", params, more);
	} catch (error) {
		call.failure = error.message;
	}
	stage.answered(call);
	if (current()) {
		showRunning(call);
		showAnswer(at("answer"), call.result, call.failure);
	}
}

function showRunning(call) {
	const running = call !== undefined && call.result === undefined && call.failure === undefined;
	at("cancel").hidden = !running;
	const { progress = 0, total, message } = call?.progress ?? {};
	const bar = h("progress", {
		"aria-label": "Progress",
		"max": total,
		"value": total === undefined ? undefined : progress
	});
	at("progress").replaceChildren(...(running ? [bar, h("span", {}, cut(message ?? "Running", 500))] : []));
}

/** Lists the tools again, and shows changes. */
async function refresh() {
	const before = JSON.stringify(tools);
	const fresh = (await list("tools/list", "tools")).filter((tool) => isObject(tool) && typeof tool.name === "string");
	const first = !listed;
	const was = JSON.stringify(selected());
	listed = true;
	tools = fresh;
	if (first || JSON.stringify(tools) !== before) {
		showList();
	}
	if (first && !chosen.tool) {
		chosen.tool = (tools.find(viewOf) ?? tools[0])?.name ?? "";
		remember();
	}
	if (first || JSON.stringify(selected()) !== was) {
		await select(chosen.tool ?? "");
	} else if (selected() && viewOf(selected()) && (await stage.isStale((uri) => load(uri, answer, chosen.host)))) {
		await show();
	}
}

let refreshing;
let again = false;

/** Refreshes, one refresh at a time. Further requests during a refresh lead to a single refresh after it. */
function refreshed() {
	again = true;
	refreshing ??= (async () => {
		try {
			while (again) {
				again = false;
				await refresh();
			}
			connection("ok", "Connected");
		} catch (error) {
			connection("bad", `The tools cannot be listed: ${error.message}`);
		} finally {
			refreshing = undefined;
		}
	})();
	return refreshing;
}

function connection(state, words) {
	at("connection").dataset.state = state;
	at("connection").textContent = cut(words, 300);
}

let watched = new AbortController();
let watchedUri;

/** Subscribes again, if another view is shown now. */
function watchOther() {
	if ((selected() && viewOf(selected())) !== watchedUri) {
		watched.abort();
	}
}

/** Receives notifications of the server as long as the page is open. Connects again after the connection was lost. */
async function follow() {
	let [wait] = RETRY;
	for (;;) {
		watched = new AbortController();
		const { signal } = watched;
		watchedUri = selected() && viewOf(selected());
		const heard = ({ method }) => {
			wait = RETRY[0];
			if (method !== "notifications/progress" && !signal.aborted) {
				refreshed();
			}
		};
		try {
			await listen(watchedUri === undefined ? [] : [watchedUri], heard, signal);
			connection("wait", "The server closed the connection; asking again");
		} catch (error) {
			if (signal.aborted) {
				continue;
			}
			connection("bad", `Not connected: ${error.message}`);
		}
		await new Promise((resolve) => setTimeout(resolve, wait));
		wait = Math.min(wait * 2, RETRY[1]);
		await renew();
	}
}

/** Reloads the page if the server was restarted: the page names the sandbox, whose address then differs. */
async function renew() {
	try {
		const body = new DOMParser().parseFromString(await (await fetch("/")).text(), "text/html").body;
		if (body.dataset.sandbox !== undefined && body.dataset.sandbox !== sandbox) {
			location.reload();
		}
	} catch {
		// The server is not reachable. The page tries again later.
	}
}

for (const [group, key] of [
	["themes", "theme"],
	["widths", "width"]
]) {
	at(group).querySelector(`[value="${chosen[key]}"]`).checked = true;
	at(group).addEventListener("change", ({ target }) => {
		chosen[key] = target.value;
		remember();
		stage.look(chosen);
	});
}
const option = (value, text = value) => h("option", { value }, text);
at("locale").append(...LOCALES.map((locale) => option(locale, locale || `${navigator.language} (browser)`)));
at("host").append(...Object.keys(HOSTS).map((host) => option(host)));
for (const key of ["locale", "host", "answers"]) {
	at(key).value = chosen[key];
	at(key).addEventListener("change", () => {
		chosen[key] = at(key).value;
		remember();
		stage.look(chosen);
		showEffect();
		// The policy of a loaded view cannot change, so the view is loaded again.
		key === "host" && show();
	});
}
stage.look(chosen);
at("search").addEventListener("input", showList);
at("kind").addEventListener("change", showList);
at("reload").addEventListener("click", show);
at("call").addEventListener("click", run);
at("cancel").addEventListener("click", () => known.get(chosen.tool)?.call?.stop.abort(new Failure("it was cancelled")));
at("arguments").addEventListener("input", () => {
	if (selected()) {
		knownOf(selected()).text = at("arguments").value;
	}
});
at("arguments").addEventListener("keydown", (event) => {
	if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
		run();
	}
});
follow();
