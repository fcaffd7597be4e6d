// The canvas of an interpreted script: the script can draw on it, and can read nothing back.

import { Facade, failure, numberOf, table, textOf, tick } from "./values.js";

const DRAWS =
	"arc arcTo beginPath bezierCurveTo clearRect closePath ellipse fillRect lineTo moveTo quadraticCurveTo rect resetTransform restore rotate roundRect save scale setTransform strokeRect transform translate";
const TEXTS = "direction font lineCap lineJoin textAlign textBaseline globalCompositeOperation shadowColor";
const NUMBERS = "globalAlpha lineDashOffset lineWidth miterLimit shadowBlur shadowOffsetX shadowOffsetY";

const GRADIENT = table({
	addColorStop: (gradient, offset, colour) => gradient.addColorStop(numberOf(offset), textOf(colour))
});

const paint = (name) => [
	(context) => (typeof context[name] === "string" ? context[name] : new Facade(context[name], GRADIENT)),
	(context, value) => (context[name] = value instanceof Facade && value.table === GRADIENT ? value.thing : textOf(value))
];

const entries = {
	fillStyle: paint("fillStyle"),
	strokeStyle: paint("strokeStyle"),
	clip: (context) => context.clip(),
	fill: (context) => context.fill(),
	stroke: (context) => context.stroke(),
	fillText: (context, text, ...numbers) => context.fillText(textOf(text), ...numbers.map(numberOf)),
	strokeText: (context, text, ...numbers) => context.strokeText(textOf(text), ...numbers.map(numberOf)),
	createLinearGradient: (context, ...numbers) => new Facade(context.createLinearGradient(...numbers.map(numberOf)), GRADIENT),
	createRadialGradient: (context, ...numbers) => new Facade(context.createRadialGradient(...numbers.map(numberOf)), GRADIENT),
	getLineDash: (context) => context.getLineDash(),
	setLineDash: (context, dashes) => {
		if (!Array.isArray(dashes)) {
			throw failure("TypeError", "`setLineDash` takes a list");
		}
		context.setLineDash(dashes.map(numberOf));
	}
};
for (const name of DRAWS.split(" ")) {
	entries[name] = (context, ...values) => {
		tick(5);
		context[name](...values.map((value) => (typeof value === "boolean" ? value : numberOf(value))));
	};
}
for (const name of TEXTS.split(" ")) {
	entries[name] = [(context) => context[name], (context, value) => (context[name] = textOf(value))];
}
for (const name of NUMBERS.split(" ")) {
	entries[name] = [(context) => context[name], (context, value) => (context[name] = numberOf(value))];
}

/** The drawing context of a canvas. */
export function drawing(context, canvas) {
	return new Facade(
		context,
		table({
			...entries,
			canvas: [() => canvas],
			measureText: (of, text) => {
				const { width } = of.measureText(textOf(text));
				return Object.assign(Object.create(null), { width });
			}
		})
	);
}
