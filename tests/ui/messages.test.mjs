// The page's own words in each language: complete, and with every place that is filled in.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
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
				// A form for one or two may write the number as a word.
				const spelled = ["one", "two"].includes(form) ? places(words) : wanted;
				assert.deepEqual(places(words), spelled, `${key}: ${form}`);
				assert.ok(places(words).every((place) => wanted.includes(place)), `${key}: ${form}`);
			}
			if (typeof text === "object") {
				assert.ok("other" in text, key);
				// What is rare, and was added to CLDR late, may be written as the rest.
				const needed = plurals.filter((form) => form !== "many" || language === "ar");
				assert.deepEqual(needed.filter((form) => !(form in text)), [], key);
			}
		}
	});
}

test("each message is said somewhere, and nothing else is", async () => {
	const files = (await readdir(sources, { recursive: true })).filter((name) => name.endsWith(".js"));
	const texts = await Promise.all(files.map((name) => readFile(path.join(sources, name), "utf8")));
	const code = texts.join("\n");
	const unsaid = Object.keys(english).filter((key) => !new RegExp(`"${key}"`).test(code));
	assert.deepEqual(unsaid, []);
	const said = [...code.matchAll(/\bsay\("(\w+)"/g)].map(([, key]) => key);
	assert.ok(said.length > 20);
	assert.deepEqual(said.filter((key) => !(key in english)), []);
});

test("a locale's language is one that there is, or English", () => {
	const all = { "de-AT": "de", "zh-Hant-TW": "zh", "ar-EG": "ar", "sv-SE": "en", "no such": "en" };
	for (const [locale, language] of Object.entries(all)) {
		assert.equal(languageOf(locale), language, locale);
	}
	assert.equal(languageOf(undefined), "en");
});
