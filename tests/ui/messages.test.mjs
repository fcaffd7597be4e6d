// Tests that the messages of each language are complete and have all placeholders.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { parse } from "acorn";
import path from "node:path";
import { test } from "node:test";
import { shipped } from "./build.mjs";
import { LANGUAGES, languageOf } from "../../plugins/ui/resources/src/say.js";

const sources = path.join(shipped, "src");
const read = async (name) => JSON.parse(await readFile(path.join(sources, "messages", name), "utf8"));
const english = await read("en.json");
const places = (text) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();
const forms = (text) => (typeof text === "string" ? { other: text } : text);

for (const language of LANGUAGES) {
	test(`${language} has every message`, async () => {
		const messages = await read(`${language}.json`);
		assert.deepEqual(Object.keys(messages), Object.keys(english));
		const plurals = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
		for (const [key, text] of Object.entries(messages)) {
			assert.equal(typeof text, language === "en" || typeof english[key] === "string" ? typeof english[key] : "object", key);
			for (const [form, words] of Object.entries(forms(text))) {
				assert.ok(words.trim() && !words.includes("�"), `${key}: ${form}`);
				const wanted = places(forms(english[key]).other);
				// The plural forms for one and two may write the number as a word.
				const spelled = ["one", "two"].includes(form) ? places(words) : wanted;
				assert.deepEqual(places(words), spelled, `${key}: ${form}`);
				assert.ok(places(words).every((place) => wanted.includes(place)), `${key}: ${form}`);
			}
			if (typeof text === "object") {
				assert.ok("other" in text, key);
				// The form `many` is rare and was added to CLDR late, so it may be missing, except in Arabic.
				const needed = plurals.filter((form) => form !== "many" || language === "ar");
				assert.deepEqual(needed.filter((form) => !(form in text)), [], key);
			}
		}
	});
}

test("every message is used, and every used message exists", async () => {
	const files = (await readdir(sources, { recursive: true })).filter((name) => name.endsWith(".js"));
	const texts = await Promise.all(files.map((name) => readFile(path.join(sources, name), "utf8")));
	const code = texts.join("\n");
	const unsaid = Object.keys(english).filter((key) => !new RegExp(`"${key}"`).test(code));
	assert.deepEqual(unsaid, []);
	const said = [...code.matchAll(/\bsay\("(\w+)"/g)].map(([, key]) => key);
	assert.ok(said.length > 20);
	assert.deepEqual(said.filter((key) => !(key in english)), []);
});

/** Texts in a program that users would see: contents of elements, and labels. */
function seen(program) {
	const found = [];
	const isText = (text) => /\p{L}{3,}/u.test(text) && text !== "null";
	/** The texts that an expression may have as its value, without calls: the result of `say` is a message. */
	const texts = (node) =>
		node?.type === "Literal" && typeof node.value === "string" && isText(node.value)
			? [node.value]
			: node?.type === "TemplateLiteral"
				? [...node.quasis.map(({ value }) => value.cooked).filter(isText), ...node.expressions.flatMap(texts)]
				: node?.type === "ConditionalExpression"
					? [node.consequent, node.alternate].flatMap(texts)
					: ["LogicalExpression", "BinaryExpression"].includes(node?.type) && ["&&", "||", "??", "+"].includes(node.operator)
						? [...(node.operator === "&&" ? [] : texts(node.left)), ...texts(node.right)]
						: node?.type === "ArrayExpression"
							? node.elements.flatMap(texts)
							: [];
	const walk = (node) => {
		if (node?.type === "CallExpression" && node.callee.name === "h") {
			found.push(...node.arguments.slice(2).flatMap(texts));
			for (const { key, value } of node.arguments[1]?.properties ?? []) {
				["aria-label", "aria-valuetext", "title", "placeholder", "alt"].includes(key?.value ?? key?.name) && found.push(...texts(value));
			}
		}
		node?.type === "AssignmentExpression" && /^(textContent|title|placeholder|ariaLabel)$/.test(node.left.property?.name) && found.push(...texts(node.right));
		node?.type === "CallExpression" && node.callee.name === "tell" && found.push(...node.arguments.flatMap(texts));
		Object.values(node ?? {}).forEach((part) => (Array.isArray(part) ? part.forEach((one) => one?.type && walk(one)) : part?.type && walk(part)));
	};
	walk(parse(program, { ecmaVersion: "latest", sourceType: "module" }));
	return found;
}

test("all texts that users see are messages", async () => {
	assert.deepEqual(seen('h("p", {}, ok ? "Hello you" : say("no"), `${n} lines`); h("a", { title: x || "Some title" }); tell("Done now")'), ["Hello you", " lines", "Some title", "Done now"]);
	const files = (await readdir(sources, { recursive: true })).filter((name) => name.endsWith(".js") && !name.startsWith("document"));
	assert.ok(files.length > 30);
	for (const name of files) {
		const program = (await readFile(path.join(sources, name), "utf8")).replace(/ with \{ type: "json" \}/g, "");
		assert.deepEqual(seen(program), [], name);
	}
});

test("the language of a locale is one with messages, or English", () => {
	const all = { "de-AT": "de", "zh-Hant-TW": "zh", "ar-EG": "ar", "sv-SE": "en", "no such": "en" };
	for (const [locale, language] of Object.entries(all)) {
		assert.equal(languageOf(locale), language, locale);
	}
	assert.equal(languageOf(undefined), "en");
});
