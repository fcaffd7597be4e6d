// What a model's document is given: its tool, by a port, and nothing else. Runs within the nested frame, before all else.

/**
 * Must stand alone: its text is put into the document. There it leaves `portcullis`:
 * `input`, `result` and `theme` as they are now, `listen(then)` to hear of changes, `call(arguments)` for the tool's answer.
 */
export function inner() {
	// What the policy of a page does not cover: it would reach the network.
	for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "WebTransport"]) {
		delete globalThis[name];
	}
	delete Element.prototype.attachShadow;
	delete Element.prototype.setHTMLUnsafe;
	new MutationObserver((changes) =>
		changes.forEach(({ addedNodes }) =>
			addedNodes.forEach((node) =>
				[node, ...(node.querySelectorAll?.("*") ?? [])].forEach(
					(one) => /^(link|iframe|frame|object|embed|portal|fencedframe)$/i.test(one.nodeName) && one.remove()
				)
			)
		)
	).observe(document, { childList: true, subtree: true });

	const waiting = new Map();
	const listeners = new Set();
	let last = 0;
	let port;
	const ready = new Promise((resolve) =>
		addEventListener("message", function first({ source, ports }) {
			if (source !== parent || !ports[0] || port) {
				return;
			}
			removeEventListener("message", first);
			port = ports[0];
			port.onmessage = ({ data: { id, result, error, state } }) => {
				if (state) {
					Object.assign(api, state);
					document.documentElement.dataset.theme = state.theme;
					document.documentElement.style.colorScheme = state.theme;
					listeners.forEach((then) => then(api));
				} else {
					const [done, failed] = waiting.get(id) ?? [];
					waiting.delete(id);
					error === undefined ? done?.(result) : failed?.(new Error(error));
				}
			};
			new ResizeObserver(() =>
				port.postMessage({ height: document.documentElement.getBoundingClientRect().height })
			).observe(document.documentElement);
			resolve();
		})
	);
	const api = {
		input: undefined,
		result: undefined,
		theme: "light",
		listen(then) {
			listeners.add(then);
			port && then(api);
		},
		call: (args) =>
			ready.then(
				() =>
					new Promise((done, failed) => {
						waiting.set(++last, [done, failed]);
						port.postMessage({ id: last, call: args });
					})
			)
	};
	globalThis.portcullis = api;
}
