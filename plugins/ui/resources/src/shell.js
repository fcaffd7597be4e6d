// Holds a model's document in a frame that is nobody's: it may ask for its own tool, after the user acted, and nothing else.

import { inner } from "./inner.js";

const POLICY =
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; media-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'";
const EVERY = 1000;
const LARGEST = 100_000;
const HEIGHT = 10_000;

function make({ call, h, isObject, page, plain, state, tell }) {
	// Our own frame's rules are the nested document's as well: what it is sent to must be nowhere.
	document.head.append(
		h("meta", {
			"http-equiv": "Content-Security-Policy",
			content:
				"frame-src 'none'; connect-src 'none'; object-src 'none'; form-action 'none'; base-uri 'none'; worker-src 'none'"
		})
	);
	const { port1: port, port2 } = new MessageChannel();
	const frame = h("iframe", {
		sandbox: "allow-scripts",
		title: "View",
		class: "document",
		referrerpolicy: "no-referrer"
	});
	const element = h(
		"section",
		{ class: "face data", "aria-label": "View" },
		frame,
		h("button", { type: "button", class: "link", onclick: () => plain("") }, "Show the plain form instead")
	);
	let last = -Infinity;
	let busy = false;

	/** The answer to a call, or why there is none. */
	async function answer(args) {
		if (!isObject(args)) {
			throw new Error("arguments must be an object");
		}
		const text = JSON.stringify(args);
		if (text.length > LARGEST) {
			throw new Error("the arguments are too large");
		}
		if (!navigator.userActivation.isActive) {
			throw new Error("the tool is called when the user acts, not by itself");
		}
		if (busy || performance.now() - last < EVERY) {
			throw new Error("the tool is called once a second at most, and once at a time");
		}
		busy = true;
		try {
			const result = await call(JSON.parse(text), frame, true);
			if (!result) {
				throw new Error("the user did not agree");
			}
			return result;
		} finally {
			busy = false;
			last = performance.now();
		}
	}

	port.onmessage = async ({ data }) => {
		if (!isObject(data)) {
			return;
		}
		if (typeof data.height === "number") {
			frame.style.height = `${Math.min(HEIGHT, Math.max(40, Math.ceil(data.height) || 0))}px`;
		} else if (Number.isInteger(data.id)) {
			try {
				port.postMessage({ id: data.id, result: await answer(data.call) });
			} catch (problem) {
				port.postMessage({ id: data.id, error: problem.message });
			}
		}
	};
	const inform = () =>
		port.postMessage({
			state: {
				input: state.input,
				result: state.result,
				theme: document.documentElement.dataset.theme ?? "light"
			}
		});
	frame.addEventListener(
		"load",
		() => {
			frame.contentWindow.postMessage("portcullis", "*", [port2]);
			inform();
			// A document that goes elsewhere is shown no more.
			frame.addEventListener("load", () => plain("its document tried to go elsewhere"), { once: true });
		},
		{ once: true }
	);
	frame.srcdoc = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}"><meta http-equiv="x-dns-prefetch-control" content="off"><script>(${inner})()</script>${page.document}`;
	tell("");
	return { element, update: inform, dress: inform };
}

globalThis.portcullisFace = make;
