// The question before a call of a destructive tool.

import { h, pretty } from "./dom.js";
import { say } from "./say.js";

/** How long a question must be shown in one place before the user can agree, in milliseconds. */
const ARMED_AFTER = 700;

/** Closes the open question. */
let open;

/** Closes the question, since the form no longer holds the arguments that it asks about. */
export const dismiss = () => open?.();

/** Enables a button only when it has not moved for a while, so that a click meant for something else does not hit it. */
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
 * Asks before a destructive call; `true` once the user agrees.
 *
 * @param name of the tool; @param anchor the element beside which the question is shown; @param args the arguments, shown if `isShown`
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
			// The second click of a double click was meant for the element that was here before.
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
		// The question is above a view that a model wrote, so that nothing in the view can move the question.
		isShown ? anchor.before(panel) : anchor.after(panel);
		panel.querySelector(".actions").lastChild.focus();
		panel.scrollIntoView({ block: "nearest" });
		arm(agreed);
	});
}
