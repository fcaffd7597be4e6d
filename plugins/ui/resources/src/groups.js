// The group of fields that every form has: an object with its declared properties. The other groups are in lists.js.

import { canon, equal, h, has } from "./dom.js";
import { parts } from "./parts.js";
import { say } from "./say.js";

/** The field for undeclared properties of an object, as JSON. */
function loose(nodes, schema, others, ask) {
	const node = nodes.build({ type: "object" }, Object.fromEntries(others), { ...ask, name: say("value"), item: true, depth: ask.depth + 1 });
	return { ...node, get: (problems, path) => Object.entries(node.get(problems, path) ?? {}) };
}

export function object(nodes, schema, value = {}, ask) {
	const box = h("div", { class: "fields" });
	const named = new Map();
	const known = (now) => [...new Set([...Object.keys(now.properties ?? {}), ...(now.required ?? [])])];
	function lay(current, fresh) {
		const now = schema.conditions ? nodes.effective(schema, current) : schema;
		const wanted = known(now);
		[...named.keys()]
			.filter((name) => !wanted.includes(name))
			.forEach((name) => {
				named.get(name).element.remove();
				named.delete(name);
			});
		wanted.forEach((name, index) => {
			const part = has(now.properties, name) ? now.properties[name] : true;
			const required = now.required?.includes(name) ?? false;
			const key = canon([part, required]);
			const old = named.get(name);
			if (old?.key !== key) {
				const held = old?.element.contains(document.activeElement);
				old?.element.remove();
				const node = nodes.build(part, has(current, name) ? current[name] : undefined, {
					name,
					required,
					fresh,
					partial: ask.partial,
					marks: ask.marks,
					depth: ask.depth
				});
				named.set(name, { ...node, key });
				held && setTimeout(node.focus);
			}
			const { element } = named.get(name);
			box.children[index] === element || box.insertBefore(element, box.children[index] ?? null);
		});
	}
	lay(value, ask.fresh);
	const open =
		schema.patternProperties ||
		(has(schema, "additionalProperties") ? schema.additionalProperties : schema.unevaluatedProperties);
	const others = Object.entries(value).filter(([name]) => !named.has(name));
	const rest = (open || others.length > 0) && (parts.groups?.entries ?? loose)(nodes, schema, others, ask);
	const get = (problems, path) =>
		Object.fromEntries([
			...[...named]
				.map(([name, node]) => [name, node.get(problems, [...path, name])])
				.filter(([, part]) => part !== undefined),
			...(rest ? rest.get(problems, path, named) : [])
		]);
	if (schema.conditions) {
		const again = () => lay(get([], []), true);
		box.addEventListener("input", again);
		box.addEventListener("change", again);
	}
	let seen = value;
	return {
		parts: rest ? [box, rest.element] : [box],
		get,
		child: (name) => named.get(name) ?? rest?.child?.(name),
		named,
		/** Shows another value where it differs from the last one. Gives whether that was possible. */
		update(next) {
			if (rest || !Object.keys(next).every((name) => named.has(name))) {
				return false;
			}
			named.forEach((node, name) => {
				const [was, is] = [seen, next].map((one) => (has(one, name) ? one[name] : undefined));
				if (!equal(was, is) && !node.set?.(is)) {
					node.key = undefined;
				}
			});
			seen = next;
			lay(next);
			return true;
		}
	};
}
