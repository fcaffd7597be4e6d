// Tests of labels from keys and titles, and of sentences from descriptions that were written for models.

import assert from "node:assert/strict";
import { test } from "node:test";
import { modules } from "./modules.mjs";

const { labelOf, measure, sentence, words } = await modules("words");

const WORDS = {
	HTTPStatusCode: "HTTP status code",
	oDataV4Url: "OData V4 URL",
	bRecursive: "Recursive",
	userID: "User ID",
	userIds: "User IDs",
	imageURLs: "Image URLs",
	max_item_count: "Max item count",
	maxItemCount: "Max item count",
	MAX_ITEM_COUNT: "Max item count",
	gitHubRepo: "GitHub repo",
	eTag: "ETag",
	sha256: "SHA256",
	address2: "Address 2",
	ipv4Address: "IPv4 address",
	vitamin_c: "Vitamin C",
	"content-type": "Content type",
	straßeName: "Straße name",
	"名前": "名前",
	"src/main.rs": "src/main.rs",
	"feels like": "Feels like",
	b: "B",
	URLs: "URLs",
	"": "",
	"#": "#"
};

test("keys become words", () => {
	for (const [key, label] of Object.entries(WORDS)) {
		assert.equal(words(key), label, key);
	}
});

test("units are read from the names of numbers only", () => {
	for (const [key, label] of Object.entries({
		timeout_ms: "Timeout (ms)",
		size_bytes: "Size (bytes)",
		sizeInBytes: "Size (bytes)",
		high_c: "High (°C)",
		feelsLikeF: "Feels like (°F)",
		humidity_percent: "Humidity (%)",
		price_usd: "Price (USD)",
		wind_kmh: "Wind (km/h)"
	})) {
		assert.equal(labelOf(key, {}, true), label, key);
		assert.equal(labelOf(key, {}, false), words(key), `${key} of texts`);
	}
	for (const key of ["vitamin_c", "temp_min", "plan_b", "section_m", "class_s", "terms"]) {
		assert.equal(measure(key), undefined, key);
	}
});

test("titles take precedence, unless they were only made from the key", () => {
	assert.equal(labelOf("user_id", { title: "User Id" }), "User ID");
	assert.equal(labelOf("userUrl", { title: "Userurl" }), "User URL");
	assert.equal(labelOf("x", { title: "High °C" }, true), "High °C");
});

test("a description becomes one sentence for people", () => {
	const all = [
		["This tool allows you to get the weather. Use it often.\n\nArgs:\n city: x", "Get the weather."],
		["Get files, e.g. `a.txt`. Then B.", "Get files, e.g. a.txt."],
		["<usecase>\nFor models\n</usecase>\nLists pages", "Lists pages"],
		["Reads a file.\nReturns:\n  the text", "Reads a file."],
		["Use this tool to add two numbers", "Add two numbers"],
		["One line\nthat goes on. Next.", "One line that goes on."],
		["", ""],
		[undefined, ""]
	];
	for (const [description, said] of all) {
		assert.equal(sentence(description), said);
	}
	assert.ok(sentence("word ".repeat(200)).length <= 181);
});
