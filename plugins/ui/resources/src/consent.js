// The question before a tool that may destroy.

import { h, pretty } from "./dom.js";
import { say } from "./say.js";

/** How long a question must have stood in one place before it can be agreed to, in milliseconds. */
const ARMED_AFTER = 700;

/** Takes back the question that is open. */
let open;

/** What is asked about is no longer what stands in the form: the question goes. */
export const dismiss = () => open?.();

/** Enables a button only after it has stood still for a while, so that no click meant for something else meets it. */
function arm(button) {
	let [place, since] = ["", 0];
	const watch = () => {
		const { x, y } = button.getBoundingClientRect();
		const now = performance.now();
		if (place !== `${x} ${y}`) {
			[place, since] = [`${x} ${y}`, now];
		}
		button.disabled = now - since < ARMED_AFTER;
		button.isConnected && requestAnimationFrame(watch);
	};
	watch();
}

/**
 * Asks before what may destroy; `true` once the user agrees.
 *
 * @param name of the tool; @param anchor what the question stands at; @param args what will be sent, shown if `isShown`
 */
export function agree(name, anchor, args, isShown) {
	return new Promise((done) => {
		dismiss();
		const back = document.activeElement;
		open = () => {
			open = undefined;
			panel.remove();
			done(false);
		};
		const end = (yes) => () => {
			done(yes);
			dismiss();
			back?.focus?.();
		};
		const agreed = h(
			"button",
			// The second click of a double click was meant for what stood here before.
			{ type: "button", class: "danger", onclick: (event) => event.detail > 1 || end(true)() },
			say("runIt")
		);
		const panel = h(
			"div",
			{
				class: "confirm",
				role: "alertdialog",
				"aria-label": say("confirm"),
				onkeydown: (event) => event.key === "Escape" && end(false)()
			},
			h("p", {}, h("strong", {}, say("runWhat", { name })), ` ${say("mayDestroy")}`),
			isShown && h("pre", {}, pretty(args).slice(0, 4000)),
			h(
				"div",
				{ class: "actions" },
				agreed,
				h("button", { type: "button", onclick: end(false) }, say("cancel"))
			)
		);
		// Above a view of a model's, so that nothing in the view can move it.
		isShown ? anchor.before(panel) : anchor.after(panel);
		panel.querySelector(".actions").lastChild.focus();
		panel.scrollIntoView({ block: "nearest" });
		arm(agreed);
	});
}
