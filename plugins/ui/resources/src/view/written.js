// Shows code, and the difference between two texts.

/** The start of a comment, by languages. */
const COMMENTS = [
	["//", /^(c|c\+\+|cpp|c#|cs|css|go|java|javascript|js|jsx|kotlin|php|rust|rs|scala|swift|ts|tsx|typescript)$/i],
	["#", /^(bash|dockerfile|perl|py|python|r|rb|ruby|sh|shell|toml|ya?ml)$/i],
	["--", /^(haskell|lua|sql)$/i]
];

/** Maximum length of code with highlighting, and of code that is shown. */
const COLOURED = 20_000;
const LONGEST = 100_000;

/** The number of equal lines that are shown around a change. */
const AROUND = 3;

function parts(h, text, language) {
	const mark = COMMENTS.find(([, languages]) => languages.test(language))?.[0];
	const comment = mark && `${mark}[^\\n]*${mark === "//" ? "|/\\*[^]*?\\*/" : ""}`;
	const pattern = new RegExp(
		`(${comment ?? "(?!)"})|("(?:\\\\.|[^"\\\\\\n])*"|'(?:\\\\.|[^'\\\\\\n])*')|(\\b\\d[\\w.]*)`,
		"g"
	);
	const made = [];
	let end = 0;
	for (const found of text.matchAll(pattern)) {
		made.push(text.slice(end, found.index), h(found[1] ? "i" : found[2] ? "b" : "u", {}, found[0]));
		end = found.index + found[0].length;
	}
	return [...made, text.slice(end)];
}

/** Code with its language. Comments, strings and numbers are highlighted. */
export function code({ h, say }, text, language = "") {
	const short = text.slice(0, LONGEST);
	return h(
		"figure",
		{ class: "code" },
		language && h("figcaption", {}, language),
		h(
			"pre",
			{ tabindex: 0, role: "region", "aria-label": language ? say("codeIn", { language }) : say("code") },
			h("code", {}, short.length > COLOURED ? short : parts(h, short, language))
		),
		text.length > LONGEST && h("p", { class: "hint" }, say("firstOf", { shown: LONGEST, count: text.length }))
	);
}

const TAGS = { "=": "span", "-": "del", "+": "ins" };
const SIGNS = { "=": "  ", "-": "− ", "+": "+ " };

/** The difference between two texts. The rows have a kind and a line, as made by `compare` of diff.js. */
export function diff({ h, say }, rows) {
	const count = (kind) => rows.filter(([one]) => one === kind).length;
	const line = ([kind, text]) => h(TAGS[kind], {}, SIGNS[kind] + text);
	const shown = [];
	for (let from = 0; from < rows.length; ) {
		let to = from;
		while (to < rows.length && (rows[to][0] === "=") === (rows[from][0] === "=")) {
			to++;
		}
		const lead = from === 0 ? 0 : AROUND;
		const tail = to === rows.length ? 0 : AROUND;
		const hidden = to - from - lead - tail;
		if (rows[from][0] === "=" && hidden > 1) {
			shown.push(
				...rows.slice(from, from + lead).map(line),
				h(
					"details",
					{},
					h("summary", {}, say("equalLines", { count: hidden })),
					rows.slice(from + lead, to - tail).map(line)
				),
				...rows.slice(to - tail, to).map(line)
			);
		} else {
			shown.push(...rows.slice(from, to).map(line));
		}
		from = to;
	}
	const says = [
		count("+") && say("linesAdded", { count: count("+") }),
		count("-") && say("linesRemoved", { count: count("-") })
	].filter(Boolean);
	return h(
		"figure",
		{ class: "diff" },
		h("figcaption", {}, says.join(" · ") || say("noDifference")),
		h("pre", { tabindex: 0, role: "region", "aria-label": say("changes") }, shown)
	);
}
