// What the page says to the conversation that it is in: questions of the user, and what the model should know.

import { h, pretty } from "./dom.js";
import { say } from "./say.js";

/** Most characters of what is told about data, to the assistant and to the model. */
const LONGEST = 4000;

const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** A value as text for the assistant. */
const quoted = (value) => `\`\`\`json\n${cut(pretty(value))}\n\`\`\``;

/** The answer of a tool in a few words: its text, or else its data. */
function inBrief({ content, structuredContent } = {}) {
	const texts = (Array.isArray(content) ? content : [])
		.filter((item) => item?.type === "text" && !(item.annotations?.audience?.includes("assistant") === false))
		.map(({ text }) => text);
	return cut(texts.join("\n") || JSON.stringify(structuredContent) || "no content");
}

/**
 * The page's part in the conversation.
 *
 * @param host talks with the host; @param tell shows the user a line
 * @returns what the page can do, each once `learn` has heard that the host can
 */
export function converse(host, tell) {
	let can = {};
	const text = (said) => ({ type: "text", text: said });
	/** Whether the host did what it was asked for; if not, the user is told. */
	const request = (method, params) =>
		host.request(method, params).then(
			(result) => (result?.isError && tell(say("hostRefused", { reason: "—" })), !result?.isError),
			({ message }) => (tell(say("hostRefused", { reason: message })), false)
		);
	const send = (said) => request("ui/message", { role: "user", content: [text(said)] });

	return {
		/** Takes note of what the host can, as it says in the handshake. */
		learn: (capabilities = {}) => (can = capabilities),
		/** Whether the user can ask the assistant from here. */
		canAsk: () => Boolean(can.message),
		/** Whether the host saves files. */
		canDownload: () => Boolean(can.downloadFile),
		/** Asks the assistant to run the tool, which this page cannot; whether the host took it. */
		askToRun: (name, args) => send(`${say("pleaseRun", { name })}\n\n${quoted(args)}`),
		/**
		 * Lets the user ask the assistant about something that is shown, beneath the element that stands for it.
		 *
		 * @param anchor the element; @param value what it shows
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
		/** Has the host save a text as a file of the user's; whether it did. */
		download: (name, mimeType, content) =>
			request("ui/download-file", {
				contents: [
					{ type: "resource", resource: { uri: `file:///${encodeURIComponent(name)}`, mimeType, text: content } }
				]
			}),
		/** Tells the model of a call that the user made here: it sees no other way. */
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
					// The answer stands in the page all the same.
					.catch(() => undefined);
		}
	};
}
