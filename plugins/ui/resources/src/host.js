// The view's side of MCP Apps (2026-01-26): JSON-RPC with the host that embeds the page.

import { say } from "./say.js";

const VERSION = "2026-01-26";

/** The pause between two reports of the page's size, in milliseconds. */
const REPORT_EVERY = 250;

/**
 * Exchanges messages with the host.
 *
 * @param heard is called with the method and the parameters of each notification
 * @returns `request`, which can be cancelled by a signal, and `notify`
 */
export function talk(heard) {
	const waiting = new Map();
	let last = 0;
	const post = (message) => parent !== window && parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
	const notify = (method, params) => post({ method, params });

	addEventListener("message", ({ source, data }) => {
		if (source !== parent || parent === window || data?.jsonrpc !== "2.0") {
			return;
		}
		const { id, method, params, result, error } = data;
		if (method === undefined) {
			const [done, failed] = waiting.get(id) ?? [];
			waiting.delete(id);
			error ? failed?.(new Error(error.message ?? "The host refused without a reason.")) : done?.(result);
		} else if (id === undefined) {
			heard(method, params ?? {});
		} else if (method === "ping" || method === "ui/resource-teardown") {
			post({ id, result: {} });
		} else {
			post({ id, error: { code: -32601, message: `this view does not answer ${method}` } });
		}
	});

	const request = (method, params, signal) =>
		new Promise((done, failed) => {
			const id = ++last;
			waiting.set(id, [done, failed]);
			signal?.addEventListener("abort", () => {
				if (waiting.delete(id)) {
					notify("notifications/cancelled", { requestId: id, reason: "the user stopped it" });
					failed(new Error(say("stopped")));
				}
			});
			post({ id, method, params });
		});

	return { request, notify };
}

/** The handshake. Gives the host's capabilities and context. */
export async function greet({ request, notify }) {
	const answer = await request("ui/initialize", {
		appInfo: { name: "portcullis-view", version: "1" },
		appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
		protocolVersion: VERSION
	});
	notify("ui/notifications/initialized", {});
	return answer;
}

/** Tells the host the size of the page, now and whenever it changes, a few times per second at most. */
export function reportSize({ notify }) {
	let told = "";
	let pause;
	const tell = () => {
		const size = { width: Math.ceil(innerWidth), height: Math.ceil(document.body.getBoundingClientRect().height) };
		if (!pause && told !== (told = `${size.width} ${size.height}`)) {
			notify("ui/notifications/size-changed", size);
			// Changes during the pause are reported together after it.
			pause = setTimeout(() => {
				pause = undefined;
				tell();
			}, REPORT_EVERY);
		}
	};
	new ResizeObserver(tell).observe(document.body);
	tell();
}
