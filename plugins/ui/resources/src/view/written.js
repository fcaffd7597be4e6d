// Code, and what has changed between two texts.

/** What begins a comment, by languages. */
const COMMENTS = [
	["//", /^(c|c\+\+|cpp|c#|cs|css|go|java|javascript|js|jsx|kotlin|php|rust|rs|scala|swift|ts|tsx|typescript)$/i],
	["#", /^(bash|dockerfile|perl|py|python|r|rb|ruby|sh|shell|toml|ya?ml)$/i],
	["--", /^(haskell|lua|sql)$/i]
];

/** Longest code whose parts are told apart, and longest that is shown. */
const COLOURED = 20_000;
const LONGEST = 100_000;

/** Most lines of either text that are compared, and most pairs of lines. */
const LINES = 5000;
const PAIRS = 4e6;

/** Equal lines that are shown beside a change. */
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

/** Code with its language: comments, texts and numbers stand out. */
export function code(h, text, language = "") {
	const short = text.slice(0, LONGEST);
	return h(
		"figure",
		{ class: "code" },
		language && h("figcaption", {}, language),
		h(
			"pre",
			{ tabindex: 0, role: "region", "aria-label": language ? `Code: ${language}` : "Code" },
			h("code", {}, short.length > COLOURED ? short : parts(h, short, language))
		),
		text.length > LONGEST && h("p", { class: "hint" }, `The first ${LONGEST} of ${text.length} characters.`)
	);
}

/** The lines of two texts: `[kind, line]` with the kinds `=`, `-` and `+`. */
export function compare(before, after) {
	const [a, b] = [before.split("\n").slice(0, LINES), after.split("\n").slice(0, LINES)];
	let start = 0;
	while (start < a.length && start < b.length && a[start] === b[start]) {
		start++;
	}
	let end = 0;
	while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) {
		end++;
	}
	const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
	const rows = a.slice(0, start).map((line) => ["=", line]);
	if (left.length * right.length > PAIRS) {
		rows.push(...left.map((line) => ["-", line]), ...right.map((line) => ["+", line]));
	} else {
		// The longest common subsequence, from each pair of lines on.
		const wide = right.length + 1;
		const longest = new Uint16Array((left.length + 1) * wide);
		for (let i = left.length - 1; i >= 0; i--) {
			for (let j = right.length - 1; j >= 0; j--) {
				longest[i * wide + j] =
					left[i] === right[j]
						? longest[(i + 1) * wide + j + 1] + 1
						: Math.max(longest[(i + 1) * wide + j], longest[i * wide + j + 1]);
			}
		}
		let [i, j] = [0, 0];
		while (i < left.length || j < right.length) {
			if (i < left.length && j < right.length && left[i] === right[j]) {
				rows.push(["=", left[i++]]);
				j++;
			} else if (
				j === right.length ||
				(i < left.length && longest[(i + 1) * wide + j] >= longest[i * wide + j + 1])
			) {
				rows.push(["-", left[i++]]);
			} else {
				rows.push(["+", right[j++]]);
			}
		}
	}
	return [...rows, ...a.slice(a.length - end, a.length).map((line) => ["=", line])];
}

const TAGS = { "=": "span", "-": "del", "+": "ins" };
const SIGNS = { "=": "  ", "-": "− ", "+": "+ " };

/** What has changed from one text to another, line by line. */
export function diff(h, before, after) {
	const rows = compare(before, after);
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
					h("summary", {}, `${hidden} equal lines`),
					rows.slice(from + lead, to - tail).map(line)
				),
				...rows.slice(to - tail, to).map(line)
			);
		} else {
			shown.push(...rows.slice(from, to).map(line));
		}
		from = to;
	}
	const says =
		count("+") + count("-")
			? `${count("+")} ${count("+") === 1 ? "line" : "lines"} added, ${count("-")} removed`
			: "The two are equal";
	return h(
		"figure",
		{ class: "diff" },
		h("figcaption", {}, says),
		h("pre", { tabindex: 0, role: "region", "aria-label": "Changes" }, shown)
	);
}
