// One view in its two frames: the host's side of MCP Apps (2026-01-26), and limits on the view's messages.

import { HOSTS, MAX_HEIGHT, contextOf } from "./surroundings.js";
import { bytes, clean, isObject } from "./text.js";

/** The limits of a view. A view that exceeds one is removed. Times are in milliseconds, sizes in characters. */
const LIMITS = {
	messages: { most: 300, perSecond: 100 },
	size: { most: 8_000_000, perSecond: 2_000_000 },
	start: 5000,
	teardown: 500,
	running: 32,
	waiting: 100
};

const METHOD_NOT_FOUND = -32601;
const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/** An error that is sent to a view as the answer to a request. */
export class Refusal extends Error {
	constructor(message, code = INVALID_PARAMS) {
		super(message);
		this.code = code;
	}
}

const shown = new Set();

addEventListener("message", (event) => {
	for (const view of shown) {
		if (view.sent(event)) {
			return;
		}
	}
});

/** Whether a window is within one of these frames. */
function within(frames, source, depth = 0) {
	for (let index = 0; depth < 4 && index < Math.min(frames.length, 20); index++) {
		if (frames[index] === source || within(frames[index], source, depth + 1)) {
			return true;
		}
	}
	return false;
}

export class View {
	#host;
	#frame;
	#sandbox;
	#page;
	#setting;
	#began = performance.now();
	#spent = { at: performance.now(), messages: 0, size: 0 };
	#state = "loading";
	#told = new Set();
	#pending = new Map();
	#running = new Map();
	#last = 0;
	#waiting = [];
	#late;

	/**
	 * Shows a view.
	 *
	 * @param place the element that gets the view's frame
	 * @param sandbox the URL of the sandbox, which has an origin of its own
	 * @param page `html` and its Content Security `policy`
	 * @param setting `tool`, `theme`, `width`, `mode`, `locale`, `host` (one of `HOSTS`), `id` of the call that the view shows
	 * @param host callbacks: `request(method, params, more)` answers requests of the view, `noted(method, params)` gets its
	 *   notifications, `fault(kind, text)` gets its faults, `state(name, text)` gets its state
	 */
	constructor(place, sandbox, page, setting, host) {
		this.#host = host;
		this.#sandbox = sandbox;
		this.#page = page;
		this.#setting = setting;
		const frame = document.createElement("iframe");
		frame.title = clean(`View of ${setting.tool.name}, ${setting.theme}`);
		frame.setAttribute("sandbox", `allow-scripts allow-same-origin ${this.#kind.forms ? "allow-forms" : ""}`);
		frame.referrerPolicy = "no-referrer";
		frame.src = sandbox;
		this.#frame = frame;
		shown.add(this);
		place.append(frame);
		host.state("loading", "Loading");
		this.#late = setTimeout(() => {
			const words =
				this.#state === "loading"
					? "the sandbox did not load: is this page older than the server? Reload it"
					: `the view has not asked for \`ui/initialize\` within ${LIMITS.start / 1000} s: hosts leave such a view blank`;
			this.#fault("silent", words);
			host.state("silent", "No answer");
		}, LIMITS.start);
	}

	/** The kind of host that this page imitates for the view. */
	get #kind() {
		return HOSTS[this.#setting.host];
	}

	/** Whether the user's last click or key press was within the view, a moment ago. */
	get pressed() {
		return navigator.userActivation.isActive && document.activeElement === this.#frame;
	}

	/** Handles a message, if it comes from this view. */
	sent({ source, origin, data }) {
		const proxy = this.#frame.contentWindow;
		if (!proxy || source === null) {
			return false;
		}
		const around = source !== proxy && within(proxy.frames, source);
		if (source !== proxy && !around) {
			return false;
		}
		if (!this.#spend(data)) {
			return true;
		}
		if (around) {
			this.#fault("past", "the view posts to this page past its frame: not heard");
		} else if (origin === new URL(this.#sandbox).origin) {
			this.#heard(data);
		}
		return true;
	}

	/** Sends the arguments of the call to the view, as soon as the view is ready. */
	input(args) {
		this.#tell("ui/notifications/tool-input", { arguments: args });
	}

	/** Sends the answer of the tool to the view, as soon as the view is ready. */
	result(result) {
		this.#tell("ui/notifications/tool-result", result);
	}

	/** Tells the view that there will be no answer, as soon as the view is ready. */
	cancelled(reason) {
		this.#tell("ui/notifications/tool-cancelled", { reason });
	}

	/** Sends changes of the host context to the view. */
	surround(setting) {
		const before = contextOf(this.#setting);
		Object.assign(this.#setting, setting);
		const now = contextOf(this.#setting);
		const changed = Object.entries(now).filter(([key, one]) => JSON.stringify(one) !== JSON.stringify(before[key]));
		// A view that is not ready gets the whole host context in the answer to `ui/initialize`.
		if (changed.length > 0 && this.#state === "ready") {
			this.#tell("ui/notifications/host-context-changed", Object.fromEntries(changed));
		}
	}

	/** Asks the view to finish, waits a little, and removes it. */
	async close() {
		if (this.#state === "ready") {
			this.#state = "closing";
			const answered = this.#ask("ui/resource-teardown", {});
			const late = new Promise((resolve) => setTimeout(resolve, LIMITS.teardown, "late"));
			if ((await Promise.race([answered, late])) === "late") {
				this.#fault(
					"teardown",
					`the view did not answer \`ui/resource-teardown\` within ${LIMITS.teardown} ms`
				);
			}
		}
		this.#remove();
	}

	#remove() {
		this.#state = "gone";
		clearTimeout(this.#late);
		shown.delete(this);
		for (const stop of this.#running.values()) {
			stop.abort(new Refusal("the view is gone"));
		}
		this.#frame.remove();
	}

	/** Removes the view because it broke a rule. */
	#cutOff(why) {
		if (this.#state !== "gone") {
			this.#remove();
			this.#host.fault("cut off", why);
			this.#host.state("cut", "Cut off", why);
		}
	}

	/** Reports a fault of the view, each fault once. */
	#fault(kind, text) {
		const key = `${kind} ${text}`;
		if (!this.#told.has(key) && this.#told.size < 100) {
			this.#told.add(key);
			this.#host.fault(kind, text);
		}
	}

	/** Counts a message. `false`: the view has exceeded a limit. */
	#spend(data) {
		let size;
		try {
			size = JSON.stringify(data)?.length ?? 0;
		} catch {
			this.#fault("protocol", "the view posts what is no JSON: not heard");
			size = -1;
		}
		const now = performance.now();
		const seconds = (now - this.#spent.at) / 1000;
		this.#spent.at = now;
		for (const [kind, more] of [
			["messages", 1],
			["size", Math.max(size, 0)]
		]) {
			const { most, perSecond } = LIMITS[kind];
			this.#spent[kind] = Math.max(this.#spent[kind] - seconds * perSecond, 0) + more;
			if (this.#spent[kind] > most) {
				const much = kind === "size" ? bytes(most) : `${most} messages`;
				this.#cutOff(`It sent more than ${much} at once.`);
			}
		}
		return size >= 0 && this.#state !== "gone";
	}

	#heard(data) {
		if (!isObject(data) || data.jsonrpc !== "2.0") {
			this.#fault("protocol", "the view posts what is no JSON-RPC: not heard");
		} else if (typeof data.method !== "string") {
			const pending = this.#pending.get(data.id);
			this.#pending.delete(data.id);
			pending?.(data);
		} else if (data.method === "ui/notifications/sandbox-proxy-ready") {
			this.#deliver();
		} else if (data.method === "notifications/portcullis/left") {
			const to = typeof data.params?.to === "string" && data.params.to !== "" ? ` to ${data.params.to}` : "";
			this.#cutOff(`It tried to leave its page${to}.`);
		} else if (data.method === "notifications/portcullis/flood") {
			this.#cutOff(`It sent more than ${LIMITS.messages.most} messages at once.`);
		} else if (data.method === "notifications/portcullis/fault") {
			this.#fault(String(data.params?.kind).slice(0, 20), String(data.params?.text).slice(0, 2000));
		} else if (data.id === undefined) {
			this.#notified(data.method, isObject(data.params) ? data.params : {});
		} else {
			this.#asked(data);
		}
	}

	#deliver() {
		if (this.#state !== "loading") {
			this.#cutOff("Its frame was loaded anew.");
			return;
		}
		this.#state = "delivered";
		this.#host.state("delivered", "Starting");
		const { html, policy } = this.#page;
		const params = { html, policy, forms: this.#kind.forms, messages: LIMITS.messages };
		this.#post({ method: "ui/notifications/sandbox-resource-ready", params });
	}

	#notified(method, params) {
		if (method === "ui/notifications/initialized" && this.#state === "answered") {
			clearTimeout(this.#late);
			this.#state = "ready";
			this.#host.state("ready", `Ready in ${Math.round(performance.now() - this.#began)} ms`);
			for (const [told, about] of this.#waiting.splice(0)) {
				this.#tell(told, about);
			}
		} else if (method === "ui/notifications/size-changed") {
			if (Number.isFinite(params.height) && this.#setting.mode === "inline") {
				const height = Math.min(Math.max(Math.ceil(params.height), 0), MAX_HEIGHT);
				this.#frame.style.height = `${height}px`;
				this.#host.sized?.(height, params.height);
			}
		} else if (method === "notifications/cancelled") {
			this.#running.get(params.requestId)?.abort(new Refusal("the view took it back"));
		} else if (method === "ui/notifications/request-teardown" || method === "notifications/message") {
			this.#host.noted(method, params);
		} else {
			this.#fault("protocol", `a host does not know the notification \`${method}\``);
		}
	}

	async #asked({ id, method, params }) {
		if (typeof id !== "string" && typeof id !== "number") {
			this.#fault("protocol", "a request's id is neither text nor a number: not heard");
			return;
		}
		const stop = new AbortController();
		if (this.#running.has(id) || this.#running.size >= LIMITS.running) {
			const why = this.#running.has(id) ? `another request has the id ${id}` : "too many requests at a time";
			this.#fault("protocol", `${why}: not heard`);
			this.#post({ id, error: { code: INVALID_REQUEST, message: why } });
			return;
		}
		this.#running.set(id, stop);
		let answer;
		try {
			answer = { id, result: await this.#answer(method, isObject(params) ? params : {}, stop.signal) };
		} catch (error) {
			const code = Number.isInteger(error.code) ? error.code : INTERNAL_ERROR;
			answer = {
				id,
				error: { code, message: error.message, ...(error.data !== undefined && { data: error.data }) }
			};
			if (code === INVALID_REQUEST || code === METHOD_NOT_FOUND) {
				this.#fault("protocol", error.message);
			}
		}
		this.#running.delete(id);
		this.#post(answer);
	}

	async #answer(method, params, signal) {
		if (method === "ping") {
			return {};
		}
		if (method === "ui/initialize") {
			return this.#initialize(params);
		}
		if (this.#state !== "ready" && this.#state !== "answered") {
			throw new Refusal(`\`${method}\` was asked before \`ui/initialize\``, INVALID_REQUEST);
		}
		if (method === "ui/request-display-mode") {
			const mode = this.#kind.modes.includes(params.mode) ? params.mode : this.#setting.mode;
			await this.#host.request(method, { mode });
			return { mode: this.#setting.mode };
		}
		const token = params._meta?.progressToken;
		const progress = (how) =>
			token !== undefined && this.#tell("notifications/progress", { ...how, progressToken: token });
		const answer = await this.#host.request(method, params, { signal, progress });
		if (answer === undefined) {
			throw new Refusal(`this host does not know the request \`${method}\``, METHOD_NOT_FOUND);
		}
		return answer;
	}

	#initialize({ appInfo, appCapabilities, protocolVersion }) {
		const missing = [
			[typeof appInfo?.name !== "string", "appInfo.name"],
			[typeof appInfo?.version !== "string", "appInfo.version"],
			[!isObject(appCapabilities), "appCapabilities"],
			[typeof protocolVersion !== "string", "protocolVersion"]
		].filter(([is]) => is);
		if (missing.length > 0) {
			const words = `\`ui/initialize\` is without ${missing.map(([, name]) => `\`${name}\``).join(", ")}`;
			this.#fault("protocol", words);
			throw new Refusal(words);
		}
		if (this.#state === "delivered") {
			this.#state = "answered";
		}
		return {
			protocolVersion: "2026-01-26",
			hostInfo: { name: "portcullis-preview", version: "1" },
			hostCapabilities: this.#kind.capabilities,
			hostContext: contextOf(this.#setting)
		};
	}

	#ask(method, params) {
		const id = `host-${++this.#last}`;
		return new Promise((resolve) => {
			this.#pending.set(id, resolve);
			this.#post({ id, method, params });
		});
	}

	/** Sends a notification to the view, as soon as the view is ready. */
	#tell(method, params) {
		if (this.#state === "ready") {
			this.#post({ method, params });
		} else if (this.#state !== "gone" && this.#state !== "closing" && this.#waiting.length < LIMITS.waiting) {
			this.#waiting.push([method, params]);
		}
	}

	#post(message) {
		this.#frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, new URL(this.#sandbox).origin);
	}
}
