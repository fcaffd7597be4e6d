// Sends messages to the conversation around the page: questions of the user, and context for the model.

import { h, pretty } from "./dom.js";
import { say } from "./say.js";

/** Maximum length of data in a message to the assistant or the model, in characters. */
const LONGEST = 4000;

const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** A value as text for the assistant. */
const quoted = (value) => `\`\`\`json\n${cut(pretty(value))}\n\`\`\``;

/** The answer of a tool in brief: its text, or else its data. */
function inBrief({ content, structuredContent } = {}) {
	const texts = (Array.isArray(content) ? content : [])
		.filter((item) => item?.type === "text" && !(item.annotations?.audience?.includes("assistant") === false))
		.map(({ text }) => text);
	return cut(texts.join("\n") || JSON.stringify(structuredContent) || "no content");
}

/**
 * Gives the functions by which the page takes part in the conversation.
 *
 * @param host sends requests to the host; @param tell shows the user a line
 * @returns the functions. Each works once `learn` has been told that the host supports it
 */
export function converse(host, tell) {
	let can = {};
	const text = (said) => ({ type: "text", text: said });
	/** Whether the host did what the page requested. If not, the user is told. */
	const request = (method, params) =>
		host.request(method, params).then(
			(result) => (result?.isError && tell(say("hostRefused", { reason: "—" })), !result?.isError),
			({ message }) => (tell(say("hostRefused", { reason: message })), false)
		);
	const send = (said) => request("ui/message", { role: "user", content: [text(said)] });

	return {
		/** Takes the capabilities that the host declared in the handshake. */
		learn: (capabilities = {}) => (can = capabilities),
		/** Whether the user can ask the assistant from this page. */
		canAsk: () => can.message,
		/** Whether the host saves files. */
		canDownload: () => can.downloadFile,
		/** Asks the assistant to run the tool, since this page cannot. Gives whether the host accepted the message. */
		askToRun: (name, args) => send(`${say("pleaseRun", { name })}\n\n${quoted(args)}`),
		/**
		 * Lets the user ask the assistant about a value, in a field below the element that shows the value.
		 *
		 * @param anchor the element; @param value the value
		 */
		ask(anchor, value) {
			const back = document.activeElement;
			const question = h("input", { type: "text", dir: "auto", "aria-label": say("question") });
			question.value = say("askAbout");
			const end = () => {
				panel.remove();
				back?.focus?.();
			};
			const go = async () => {
				end();
				(await send(`${question.value}\n\n${quoted(value)}`)) && tell(say("asked"));
			};
			const panel = h(
				"div",
				{
					class: "asking",
					role: "group",
					"aria-label": say("askAbout"),
					onkeydown: (event) => {
						event.stopPropagation();
						event.key === "Escape" && end();
						event.key === "Enter" && event.target === question && !event.isComposing && go();
					}
				},
				question,
				h("button", { type: "button", class: "primary", onclick: go }, say("send")),
				h("button", { type: "button", onclick: end }, say("cancel"))
			);
			anchor.after(panel);
			question.select();
		},
		/** Has the host save a text as a file for the user. Gives whether the host did. */
		download: (name, mimeType, content) =>
			request("ui/download-file", {
				contents: [
					{ type: "resource", resource: { uri: `file:///${encodeURIComponent(name)}`, mimeType, text: content } }
				]
			}),
		/** Tells the model about a call that the user made in this page. The model would not see it otherwise. */
		report(name, args, result) {
			can.updateModelContext &&
				host
					.request("ui/update-model-context", {
						content: [
							text(
								`The user ran \`${name}\` in its view, with ${cut(JSON.stringify(args))}.\n${result?.isError ? "It failed" : "It answered"}: ${inBrief(result)}`
							)
						]
					})
					// The page shows the answer in any case.
					.catch(() => undefined);
		}
	};
}
