// Makes labels for people: words and units from keys, and one sentence from a description written for a model.

/** Words with a special spelling, by their lower-case form. */
const KNOWN = new Map(
	(
		"HTTP HTTPS URL URI ID API HTML CSS JSON XML YAML SQL CSV PDF IP IPv4 IPv6 TCP UDP DNS SSL TLS UI UX CPU GPU RAM OS SDK CLI UUID " +
		"GUID IBAN BIC VAT ISBN UTC GMT ISO JWT SSH FTP MIME UTF PNG JPEG SVG GIF RGB SHA MD5 USB SAP UI5 OData OAuth GitHub GitLab " +
		"ETag iOS macOS AI LLM MCP GPS AWS DPI FPS BPM RPM TTL UV EUR USD GBP LTS DST HSL CDN TypeScript JavaScript"
	)
		.split(" ")
		.map((word) => [word.toLowerCase(), word])
);

const known = (word) => {
	const low = word.toLowerCase();
	const [, letters, digits] = /^(\D+)(\d*)$/.exec(low) ?? [];
	return (
		KNOWN.get(low) ??
		(KNOWN.has(letters) ? KNOWN.get(letters) + digits : undefined) ??
		(low.endsWith("s") && KNOWN.has(low.slice(0, -1)) ? `${KNOWN.get(low.slice(0, -1))}s` : undefined)
	);
};

/** The words of a key, in the spelling of the key. */
export function tokens(key) {
	const text = String(key);
	// A long name in capitals, such as "MAX_COUNT", becomes lower case. A short one, such as "USD", stays.
	const quiet = /\p{Ll}/u.test(text) || text.length < 5 ? text : text.toLowerCase();
	const parts =
		quiet.match(/\p{Lu}{2,}s(?!\p{Ll})|\p{Lu}+(?!\p{Ll})\d*|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+\d*|\d+\p{Ll}*|\p{Lu}/gu) ?? [];
	// Unreal begins the names of booleans with "b".
	/^b\p{Lu}\p{Ll}/u.test(quiet) && parts.shift();
	return parts.reduce((all, part) => {
		const joined = KNOWN.get(`${all.at(-1)}${part}`.toLowerCase());
		return joined && all.length ? [...all.slice(0, -1), joined] : [...all, part];
	}, []);
}

function sentenceOf(parts) {
	const text = parts
		.map((part, index) => {
			const spoken = known(part) ?? (part === part.toUpperCase() && part.length > 1 ? part : part.toLowerCase());
			return spoken.length === 1 ? spoken.toUpperCase() : spoken;
		})
		.join(" ")
		.replace(/(\p{Ll}{3,})(\d)/gu, "$1 $2");
	return text.charAt(0).toUpperCase() === text.charAt(0) || known(parts[0] ?? "")
		? text
		: text.charAt(0).toUpperCase() + text.slice(1);
}

/** A key as words: "HTTPStatusCode" becomes "HTTP status code". Other text, such as a path or a sentence, is not changed. */
export function words(key) {
	const text = String(key).trim();
	return /^[\p{L}\p{N}_$-]+$/u.test(text)
		? sentenceOf(tokens(text)) || text
		: /^\p{L}[\p{L}\p{N} ]*$/u.test(text)
			? text.charAt(0).toUpperCase() + text.slice(1)
			: text;
}

/** Units by the last word of a key: the kind, the unit and its words, and for times the factor to seconds. */
const UNITS = [
	"bytes bytes byte",
	"percent % percent percentage pct",
	"seconds s 1 sec secs second seconds",
	"seconds ms 1e-3 ms msec millis millisecond milliseconds",
	"seconds µs 1e-6 us micros microseconds",
	"seconds ns 1e-9 ns nanos nanoseconds",
	...(
		"km km kilometers|m meters metres|cm cm|mm mm|mi miles|ft feet ft|kg kg|lb lbs|km/h kmh kph|mph mph|m/s mps|hPa hpa|kW kw|kWh kwh|" +
		"Hz hz|MHz mhz|GHz ghz|px px pixels|fps fps|rpm rpm|bpm bpm|° deg degrees|°C celsius|°F fahrenheit|K kelvin|kB kb|KiB kib|MB mb|" +
		"MiB mib|GB gb|GiB gib|min minutes mins|h hours hrs|d days"
	)
		.split("|")
		.map((one) => `other ${one}`)
];

/** `[kind, unit, factor]` by the word of a unit. "min" is left out, since it may mean a minimum. */
const BY_WORD = new Map(
	UNITS.flatMap((line) => {
		const [kind, unit, ...rest] = line.split(" ");
		return [unit, ...rest].filter((word) => /^[a-z]{2,}$/.test(word) && word !== "min").map((word) => [word, [kind, unit, Number(rest[0])]]);
	})
);

/** Single letters, and words of more than one meaning, that are units only after words such as these. */
const WARMTH = /^(temp|temperature|high|low|feels|like|dew|point|apparent|air|water|surface|ambient|max|min|avg|mean)$/;
const AFTER = [
	["c", "°C", WARMTH],
	["f", "°F", WARMTH],
	["m", "m", /^(height|depth|distance|elevation|altitude|length|width|visibility|radius)$/],
	["s", "s", /^(duration|time|timeout|elapsed|interval|delay|age|ttl|uptime|wait|latency)$/],
	["min", "min", /^(duration|timeout|elapsed|interval|delay|wait)$/]
];

const MONEY = /^(usd|eur|gbp|jpy|chf|cny|inr|aud|cad|sek|nok|dkk|pln|brl|krw)$/;

/**
 * The unit of a number, from its key or from a unit that the data names.
 *
 * @returns `undefined`, or its `kind` (`bytes`, `seconds`, `percent`, `money`, `other`), its `unit`, the `factor` to bytes or
 *          seconds, and the `label` without the unit
 */
export function measure(key, named) {
	const text = String(key);
	if (typeof named === "string" && /^[^\d\s]\S{0,8}$/.test(named) && !/^(iso8601|unixtime|string|boolean)$/i.test(named)) {
		const [kind = "other", unit = named, factor] = BY_WORD.get(named) ?? [];
		return { kind, unit, factor: factor || 1, label: words(key) };
	}
	if (!/^[\w$-]+$/.test(text)) {
		return undefined;
	}
	const parts = tokens(text);
	const last = parts.at(-1)?.toLowerCase();
	const rest = parts.slice(0, parts.at(-2)?.toLowerCase() === "in" ? -2 : -1);
	const label = rest.length ? sentenceOf(rest) : last?.startsWith("byte") ? "Size" : BY_WORD.get(last)?.[0] === "seconds" ? "Time" : words(key);
	const after = AFTER.find(([word, , before]) => word === last && rest.some((part) => before.test(part.toLowerCase())));
	if (after) {
		return after[1] === "s"
			? { kind: "seconds", unit: "s", factor: 1, label }
			: { kind: "other", unit: after[1], label };
	}
	if (MONEY.test(last) && rest.length) {
		return { kind: "money", unit: last.toUpperCase(), label };
	}
	const [kind, unit, factor] = BY_WORD.get(last) ?? [];
	return kind && (rest.length || kind !== "other")
		? { kind, unit, factor: factor || 1, label: kind === "bytes" && /^(max|min|total|used|free)$/i.test(rest.join()) ? `${label} size` : label }
		: undefined;
}

/** The label of a part: its title, or its key as words if the title was only made from the key. The unit of a number is added. */
export function labelOf(key, schema, isNumber) {
	const { title } = typeof schema === "object" && schema ? schema : {};
	const letters = (text) => String(text).toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
	if (typeof title === "string" && title && letters(title) !== letters(key)) {
		return title;
	}
	const found = isNumber ? measure(key, schema?.unit) : undefined;
	return found && (found.label !== words(key) || schema?.unit) ? `${found.label} (${found.unit})` : words(key);
}

/** The start of a line that addresses a model, or that lists what the form shows. */
const FOR_MODELS =
	/^\s*(args|arguments|parameters|params|returns?|raises|examples?|usage|notes?|important|inputs?|outputs?|when to use|use this|do not|don't|you (must|should)|\*\*|#|<|```|[-*] )/i;

/** One sentence for people from a description that was written for a model. */
export function sentence(description) {
	const lines = String(description ?? "")
		.replace(/<(\w+)>[\s\S]*?<\/\1>/g, "")
		.trim()
		.split(/\n/);
	const end = lines.findIndex((line, index) => index > 0 && (!line.trim() || FOR_MODELS.test(line)));
	const text = lines
		.slice(0, end < 0 ? undefined : end)
		.join(" ")
		.replace(/\s+/g, " ")
		.replace(/[*`#]+/g, "")
		.trim()
		.replace(/^(use )?this (tool|function)( to| (can|will|allows you to|lets you|is used to|helps you))? /i, "")
		.replace(/^use (this )?to /i, "");
	const first = /^.{12,}?[.!?](?=\s+[\p{Lu}"'(]|$)(?<!\b(e\.g|i\.e|etc|vs|approx)\.)/u.exec(text)?.[0] ?? text;
	const short = first.length > 180 ? `${first.slice(0, 170).replace(/\s+\S*$/, "")}…` : first;
	return short.charAt(0).toUpperCase() + short.slice(1);
}
