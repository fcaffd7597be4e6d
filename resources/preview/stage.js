// Shows the view of a tool in one theme or both, and handles the view's requests.

import { Allowance, called, needsConsent } from "./calls.js";
import { answer, isWeb, mayCall, mayOpen, openTab } from "./dialogs.js";
import { hostile } from "./hostile.js";
import { list, request } from "./mcp.js";
import { HOSTS, policyOf } from "./surroundings.js";
import { block, bytes, clean, cut, h, isObject, pretty } from "./text.js";
import { Refusal, View } from "./view.js";

const MIME_TYPE = "text/html;profile=mcp-app";

/** The size above which some hosts refuse a view, in bytes. */
const USUAL_SIZE = 1 << 20;

/** Maximum number of entries in the log of a view's requests, and in the list of its faults. */
const KEPT = 200;

/** Maximum length of a request or an answer in the log, in characters. */
const LONGEST = 200_000;

/**
 * Loads a view.
 *
 * @param host the kind of host to imitate: a name in `HOSTS`
 * @returns `html`, the Content Security `policy`, `faults` found before it is shown, its size as `words`, its `meta` and `uri`
 */
export async function load(uri, ask, host) {
	if (!uri.startsWith("ui://")) {
		throw new Error(`its address is \`${uri}\`, which does not begin with \`ui://\``);
	}
	const { contents } = await request("resources/read", { uri }, { ask });
	const item = Array.isArray(contents) ? contents[0] : undefined;
	if (!isObject(item) || contents.length !== 1) {
		throw new Error("its resource is not one content item");
	}
	if (item.mimeType !== MIME_TYPE) {
		throw new Error(`its type is \`${item.mimeType}\`; hosts show \`${MIME_TYPE}\` alone`);
	}
	const html = typeof item.text === "string" ? item.text : decoded(item.blob);
	const size = new TextEncoder().encode(html).length;
	const meta = item._meta?.ui ?? (await listedMeta(uri));
	const { policy, refused } = policyOf(meta?.csp, HOSTS[host]);
	const permissions = Object.keys(isObject(meta?.permissions) ? meta.permissions : {});
	const faults = [
		...refused.map((one) => ["policy", `it declares what is no origin, which is left out: ${one}`]),
		...permissions.map((one) => ["permission", `it declares \`${one}\`, which this page does not give`]),
		...(size > USUAL_SIZE
			? [["size", `it is ${bytes(size)}; some hosts show no more than ${bytes(USUAL_SIZE)}`]]
			: [])
	];
	return { uri, html, policy, meta, faults, words: `${bytes(size)} of HTML` };
}

const decoded = (blob) => new TextDecoder().decode(Uint8Array.from(atob(blob), (char) => char.charCodeAt(0)));

/** `_meta.ui` of a view in the list of resources, for views whose contents have none. */
async function listedMeta(uri) {
	try {
		return (await list("resources/list", "resources")).find((one) => one.uri === uri)?._meta?.ui;
	} catch {
		// If the server has no list of resources, nothing is declared.
		return undefined;
	}
}

export class Stage {
	#page;
	#tool;
	#call;
	#themes = [];
	#look = {};
	#shown = [];
	#turn = 0;
	#log = { items: document.getElementById("log"), none: document.getElementById("no-log"), count: 0 };
	#findings = { items: document.getElementById("findings"), none: document.getElementById("no-findings"), count: 0 };

	/** @param around `sandbox`, the sandbox's URL; `tools()`, the tools of the server; `answered(result)` is called with answers */
	constructor(around) {
		this.around = around;
		this.place = document.getElementById("stage");
		addEventListener("resize", () => this.#shown.forEach((one) => this.#surround(one)));
		addEventListener("keydown", ({ key }) => {
			const full = this.#shown.find(({ mode }) => mode === "fullscreen");
			if (key === "Escape" && full) {
				this.#mode(full, "inline");
			}
		});
	}

	/** Loads a view again, with the last call of its tool. Without a tool, shows nothing. */
	async show(tool, page, call) {
		const turn = ++this.#turn;
		await this.#clear(this.#shown);
		if (turn !== this.#turn) {
			return;
		}
		this.#tool = tool;
		this.#page = page;
		this.#call = call;
		for (const [kind, words] of [
			["log", this.#log],
			["findings", this.#findings]
		]) {
			words.count = 0;
			words.items.replaceChildren();
			words.none.hidden = false;
			document.getElementById(`${kind}-count`).textContent = "0";
		}
		page?.faults.forEach(([kind, text]) => this.#found(kind, text));
		this.#fill();
	}

	/**
	 * Changes how views are shown.
	 *
	 * @param look `theme` is light, dark or both; `width` in pixels or wide; `locale`; `host`, a name of `HOSTS`; `answers`, the
	 *   tool's or hostile ones
	 */
	async look(look) {
		const { theme, width } = look;
		const themes = theme === "both" ? ["light", "dark"] : [theme];
		const before = this.#themes;
		this.#themes = themes;
		this.#look = { ...look };
		this.place.dataset.width = width;
		if (before.length === 1 && themes.length === 1 && this.#shown.length === 1) {
			this.#shown[0].theme = theme;
		} else {
			await this.#clear(this.#shown.filter((one) => !themes.includes(one.theme)));
			this.#fill();
		}
		this.#shown.forEach((one) => this.#surround(one));
	}

	/** Shows a call of the user. As in a chat, each call has a view of its own. */
	async called(tool, call) {
		if (this.#tool?.name === tool.name && this.#page) {
			await this.show(tool, this.#page, call);
		}
	}

	/** Tells views that a call of the user has ended. */
	answered(call) {
		this.#shown.filter((one) => one.call === call).forEach((one) => this.#tellEnd(one));
	}

	/** Whether the shown view differs from the view that `read` gives. */
	async isStale(read) {
		const before = this.#page;
		if (!before) {
			return true;
		}
		try {
			const now = await read(before.uri);
			return this.#page === before && (now.html !== before.html || now.policy !== before.policy);
		} catch {
			// Loading the view again shows why it cannot be read.
			return true;
		}
	}

	async #clear(some) {
		this.#shown = this.#shown.filter((one) => !some.includes(one));
		await Promise.all(
			some.map(async (one) => {
				await one.view.close();
				one.figure.remove();
			})
		);
	}

	/** Makes the views of the chosen themes that are missing. */
	#fill() {
		for (const theme of this.#themes) {
			if (this.#page && !this.#shown.some((one) => one.theme === theme)) {
				this.#shown.push(this.#make(theme));
			}
		}
		this.#shown.sort((a, b) => this.#themes.indexOf(a.theme) - this.#themes.indexOf(b.theme));
	}

	#make(theme) {
		const state = h("span", { class: "state", role: "status" });
		const name = h("span", { class: "theme" });
		const size = h("span", { class: "size" });
		const leave = h("button", { type: "button", onclick: () => this.#mode(one, "inline") }, "Leave full screen");
		const body = h("div", { class: "view" });
		const figure = h("figure", {}, h("figcaption", {}, name, state, size, leave), body);
		const one = {
			theme,
			mode: "inline",
			figure,
			name,
			size,
			call: this.#call,
			allowance: new Allowance(),
			consent: Promise.resolve(),
			always: new Set()
		};
		const { id } = this.#call ?? {};
		// Moving a frame reloads it, so the light view is inserted at its final place.
		this.place.insertBefore(figure, theme === "light" ? this.place.firstChild : null);
		this.#dress(one);
		const host = {
			request: (method, params, more) => this.#request(one, method, params, more ?? {}),
			noted: (method, params) => this.#noted(one, method, params),
			fault: (kind, text) => this.#found(kind, text, one.theme),
			sized: (height, asked) => {
				const cut = height < Math.ceil(asked) ? ` (it asks for ${Math.ceil(asked)})` : "";
				size.textContent = `${body.clientWidth} × ${height}${cut}`;
			},
			state: (kind, words, why) => {
				figure.dataset.state = kind;
				state.textContent = words;
				if (kind === "cut") {
					body.replaceChildren(h("p", { class: "note" }, `The view was cut off. ${cut(why, 500)}`));
				}
			}
		};
		const { locale, host: kind } = this.#look;
		const setting = { tool: this.#tool, theme, mode: "inline", width: body.clientWidth, id, locale, host: kind };
		one.view = new View(body, this.around.sandbox, this.#page, setting, host);
		if (one.call) {
			one.view.input(one.call.args);
			this.#tellEnd(one);
		}
		return one;
	}

	#tellEnd({ view, call }) {
		if (call.result !== undefined) {
			view.result(call.result);
		} else if (call.failure !== undefined) {
			view.cancelled(call.failure);
		}
	}

	#dress({ figure, theme, mode, name }) {
		figure.className = mode === "fullscreen" ? `${theme} full` : theme;
		name.textContent = theme === "light" ? "Light" : "Dark";
	}

	#surround(one) {
		this.#dress(one);
		const { width, height } = one.figure.querySelector(".view").getBoundingClientRect();
		const full = one.mode === "fullscreen";
		one.view.surround({
			theme: one.theme,
			mode: one.mode,
			locale: this.#look.locale,
			width: Math.floor(width),
			height: full ? Math.floor(height) : undefined
		});
	}

	#mode(one, mode) {
		one.mode = mode;
		this.#surround(one);
		if (mode === "inline") {
			one.figure.querySelector("iframe")?.focus();
		}
	}

	#request(one, method, params, more) {
		switch (method) {
			case "tools/call":
				return this.#calls(one, params, more);
			case "resources/read":
			case "resources/list":
				return this.#logged(one, method, params, () => request(method, params, { ...more, ask: answer }));
			case "ui/open-link":
				return this.#logged(one, method, params, () => this.#opens(one, params, more));
			case "ui/message":
			case "ui/update-model-context":
			case "ui/download-file":
				return this.#logged(one, method, params, () => ({}));
			case "ui/request-display-mode":
				return this.#logged(one, method, params, () => {
					// A view covers the page only after a click of the user in the view.
					if (params.mode === "inline" || one.view.pressed) {
						this.#mode(one, params.mode);
					}
					return { mode: one.mode };
				});
			default:
				return undefined;
		}
	}

	#calls(one, params, more) {
		const { name, arguments: args = {} } = params;
		return this.#logged(one, `tools/call ${cut(name ?? "", 200)}`, args, () =>
			one.allowance.spend(async () => {
				const tool = called(this.around.tools(), this.#tool, typeof name === "string" ? name : "");
				if (!isObject(args)) {
					throw new Refusal("`arguments` are an object");
				}
				if (this.#look.answers === "hostile") {
					return hostile(tool);
				}
				if (needsConsent(tool, this.#tool, one.view.pressed)) {
					await this.#consent(one, tool, args, more.signal);
				}
				const about = { ...more, ask: answer, schema: tool.inputSchema };
				const result = await request("tools/call", { name: tool.name, arguments: args }, about);
				this.around.answered(result);
				return result;
			})
		);
	}

	/** Asks the user for consent, one question at a time. After one refusal, all further calls of the view are refused. */
	#consent(one, tool, args, signal) {
		const asked = one.consent.then(async () => {
			const said = one.always.has(tool.name)
				? "always"
				: one.refused || signal.aborted
					? "no"
					: await mayCall(tool, args, this.#tool.name, signal);
			if (said === "always") {
				one.always.add(tool.name);
			} else if (said === "no") {
				one.refused = true;
				throw new Refusal(`the person refused the call of \`${tool.name}\`, and further ones of this view`, 1);
			}
		});
		one.consent = asked.catch(() => {});
		return asked;
	}

	async #opens(one, { url }, { signal }) {
		if (!isWeb(url) || url.length > 4000) {
			throw new Refusal("only addresses of http and https, of at most 4000 characters, are opened");
		}
		if (one.unlinked || one.linking) {
			return { isError: true };
		}
		one.linking = true;
		const may = await mayOpen(url, this.#tool.name, signal);
		one.linking = false;
		one.unlinked = !may;
		return may && openTab(url) ? {} : { isError: true };
	}

	#noted(one, method, params) {
		this.#logged(one, method, params, () => ({}));
		if (method === "ui/notifications/request-teardown") {
			one.figure.dataset.state = "closed";
			one.view.close().then(() => {
				one.figure.querySelector(".state").textContent = "Closed by the view";
			});
		}
	}

	/** Runs a request of a view, and shows the request and its outcome in the log. */
	async #logged(one, what, given, run) {
		const outcome = h("span", { class: "outcome" }, "…");
		const body = h("div", {}, block(cut(pretty(given), LONGEST)));
		const details = h(
			"details",
			{},
			h("summary", {}, h("code", {}, what), h("span", { class: "theme" }, one.theme), outcome),
			body
		);
		this.#add("log", this.#log, h("li", {}, details));
		const end = (kind, words, shown) => {
			outcome.textContent = words;
			outcome.dataset.kind = kind;
			body.append(h("p", { class: "hint" }, "was answered with"), block(cut(shown, LONGEST)));
		};
		const began = performance.now();
		try {
			const result = await run();
			const bad = result?.isError === true;
			end(
				bad ? "bad" : "ok",
				`${bad ? "error" : "done"}, ${Math.round(performance.now() - began)} ms`,
				pretty(result)
			);
			return result;
		} catch (error) {
			end("bad", error instanceof Refusal ? "refused" : "failed", clean(error.message));
			throw error;
		}
	}

	#found(kind, text, theme) {
		const words = h("span", {}, cut(text, 2000));
		const where = theme && this.#themes.length > 1 ? h("span", { class: "theme" }, theme) : undefined;
		this.#add("findings", this.#findings, h("li", {}, h("span", { class: "badge" }, kind), where, words));
	}

	/** Adds an item to a list. Removes the oldest items if there are too many. */
	#add(name, words, item) {
		words.none.hidden = true;
		words.count += 1;
		words.items.append(item);
		while (words.items.children.length > KEPT) {
			words.items.firstChild.remove();
		}
		document.getElementById(`${name}-count`).textContent = String(words.count);
	}
}
