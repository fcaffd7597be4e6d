// The page of a host, made with the official AppBridge. `start` embeds a view, `log` records what the view does, and `end` removes it.

import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

const nothing = () => ({ messages: [], calls: [], links: [], sizes: [], ready: false, others: [], modes: [] });
const log = nothing();
let bridge;
let listening;

/** The host's answers to requests other than calls, by the name of the bridge's handler. */
const replies = {};
window.reply = (name, result) => (replies[name] = () => result);
const usual = () => ({ content: [{ type: "text", text: "ok" }] });
let answer = usual;

window.log = log;

/** Sets the answer of the tool from now on. */
window.answers = (result, { hang = false, fail } = {}) => {
	answer = () => (hang ? new Promise(() => {}) : fail ? Promise.reject(new Error(fail)) : result);
};

/** Sends a progress notification for the last call. */
window.progress = (params) =>
	bridge.notification({
		method: "notifications/progress",
		params: { progressToken: log.calls.at(-1)._meta.progressToken, ...params }
	});

window.send = (what, params) => bridge[what](params);

/** Embeds `html` behind the sandbox proxy of another origin, as the specification requires. */
window.start = async (html, proxy, hostContext, capabilities) => {
	const frame = document.createElement("iframe");
	frame.title = "view";
	frame.sandbox = "allow-scripts allow-same-origin";
	listening = new AbortController();
	addEventListener(
		"message",
		({ data, source }) => {
			if (source === frame.contentWindow) {
				log.messages.push(data);
			}
		},
		{ signal: listening.signal }
	);
	bridge = new AppBridge(
		null,
		{ name: "host", version: "1" },
		{ openLinks: {}, serverTools: {}, logging: {}, ...capabilities },
		{ hostContext }
	);
	bridge.oninitialized = () => (log.ready = true);
	bridge.onsizechange = (size) => {
		log.sizes.push(size);
		frame.style.height = `${size.height}px`;
	};
	bridge.oncalltool = async (params) => {
		log.calls.push(params);
		return answer(params);
	};
	bridge.onopenlink = async ({ url }) => {
		log.links.push(url);
		return {};
	};
	bridge.onrequestdisplaymode = async ({ mode }) => {
		log.modes.push(mode);
		return { mode };
	};
	for (const name of [
		"onmessage",
		"onupdatemodelcontext",
		"ondownloadfile",
		"onreadresource",
		"oncreatesamplingmessage"
	]) {
		bridge[name] = async (params) => {
			log.others.push([name, params]);
			return replies[name]?.(params) ?? {};
		};
	}
	const ready = new Promise((resolve) => (bridge.onsandboxready = resolve));
	document.body.append(frame);
	await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
	frame.src = proxy;
	await ready;
	await bridge.sendSandboxResourceReady({ html });
};

/** Removes the view, so that the page is as it was before `start`. */
window.end = async () => {
	listening.abort();
	document.body.replaceChildren();
	await bridge.close();
	Object.assign(log, nothing());
	answer = usual;
	Object.keys(replies).forEach((name) => delete replies[name]);
};
