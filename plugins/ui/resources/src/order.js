// Puts the parts of an object into an order by importance for a person: notices, verdicts, findings, documents, rows and facts, the rest.

import { isObject } from "./dom.js";
import { tokens } from "./words.js";

export const isScalar = (value) => typeof value !== "object" || value === null;

/** Whether a value is a list of a few short values that fit on a line. */
export const isShortList = (value) =>
	Array.isArray(value) && value.length <= 6 && value.every((one) => isScalar(one) && String(one).length < 40);

const isEmpty = (value) => isObject(value) ? !Object.keys(value).length : Array.isArray(value) ? !value.length : value === null || value === undefined || value === "";

const BOOKKEEPING =
	/^((total|result|row|item|match|page|record)s?_)?(count|total|limit|offset|skip|cursor|page|size|number)$|^total(_\w+)?$|^(next|prev|previous|start|end)_(cursor|page|offset|index|page_token|token)$|^per_page$|^page_\w+$|^has_(more|next|next_page|previous|prev)$|^(is_)?(truncated|cached|complete|last_page)$|^as_of$|^(generated|fetched|retrieved|queried|checked|updated)(_at)?$|^(took|elapsed|duration|query_time|execution_time|time_taken)(_\w+)?$|^(data_)?sources?$|^attribution$|^licen[cs]e$|^copyright$|^(request|trace|session)_id$|^(api|schema)_version$|^(timezone|time_zone|units?|hints?|notes?)$/;

/** Names of members that are bookkeeping as long as there is no error. */
const FORMALITIES = /^(success|ok|status|errors?|warnings?)$/;
const FINDINGS = /^(\w+_)?(errors?|warnings?|findings|issues|problems|violations|messages|diagnostics|failures|conflicts)$/;
const VERDICT = /^(is_)?(valid|passed|success|ok|error)$/;
const NAMES = /^(title|name|display_name|full_name|subject|headline)$/;
const PLACES = /^(city|location|symbol)$/;

/** Names so general that they say nothing about the part. */
export const GENERIC =
	/^(results?|data|items|rows|values?|content|contents|text|output|body|response|entries|records|list|payload|answer|markdown|document|message|reply)$/;

const WARNING = /^(warning|notice|caution)$/;

export const plain = (key) => tokens(key).join("_").toLowerCase();

const isCount = (key, value, rows) => /(^|_)(count|total)$/.test(key) && value === rows;

/** Whether a member says nothing worth showing: success, no further pages, or the number of rows that are shown anyway. */
const isSilent = (key, value, rows) =>
	value === null ||
	value === "" ||
	(/^(success|ok)$/.test(key) && value === true) ||
	(/^warnings?$/.test(key) && isEmpty(value)) ||
	(/^has_|truncated$|^offset$|^skip$/.test(key) && !value) ||
	isCount(key, value, rows);

const isFormality = (key, value) =>
	FORMALITIES.test(plain(key)) &&
	(value === true || isEmpty(value) || (/^status$/.test(plain(key)) && /^(ok|success|succeeded)$/i.test(value)));

const isLong = (value) => typeof value === "string" && (value.length > 400 || /\n/.test(value.trim()));

/**
 * The parts of an object, in order.
 *
 * @param entries `[key, value, …]` each
 * @param isRows whether the value of an entry is shown as a table; @param isNamed whether one of the facts may be the heading
 * @param isEcho whether an entry repeats the input of the call, which makes it bookkeeping
 * @returns `title`, the entry whose value is the heading; `pieces`, lists of entries by `kind`: `facts` are one list,
 *          a `section` is one part with its own heading, a `notice` is a sentence, and `book` is one line of bookkeeping
 */
export function arrange(entries, isRows, isNamed, isEcho = () => false) {
	const isSmall = ([, value]) => (isScalar(value) && !isLong(value)) || isShortList(value) || isEmpty(value);
	const small = entries.filter(isSmall);
	const large = entries.filter((entry) => !isSmall(entry));
	const isMain = (entry) => isLong(entry[1]) || Array.isArray(entry[1]) || isRows(entry);
	const main = large.filter(isMain);
	// If the answer has rows, or an empty list of them, counts and offsets are bookkeeping.
	const hasRows = main.length > 0 || entries.some(([, value]) => typeof value === "object" && value !== null && isEmpty(value));
	const isFinding = ([key]) => FINDINGS.test(plain(key));
	const [listed, ...others] = main.filter((entry) => !isFinding(entry));
	const rowCount = others.length ? undefined : Object.keys(listed?.[1] ?? main[0]?.[1] ?? {}).length;
	const isBook = ([key, value]) =>
		isFormality(key, value) || (hasRows && (BOOKKEEPING.test(plain(key)) || isCount(plain(key), value, rowCount)) && !(Array.isArray(value) && value.length > 3));
	let book = small.filter(isBook);
	let facts = small.filter((entry) => !isBook(entry));
	if (!facts.length && !large.length) {
		[facts, book] = [book, []];
	}
	book = book.filter(([key, value]) => !isSilent(plain(key), value, rowCount));
	// What repeats the input says nothing new, unless it is all that was answered, or the heading.
	const told = facts.filter((entry) => !isEcho(entry));
	const echoes = told.length || large.length ? facts.filter(isEcho) : [];
	facts = facts.filter((entry) => !echoes.includes(entry));
	// Empty values are shown as facts only if there is little else. So are zeros among counts.
	const areCounts = entries.length > 3 && entries.every(([, value]) => typeof value === "number");
	const filled = facts.filter(([, value]) => !isEmpty(value) && (value || !areCounts));
	if (large.length || filled.length > 3 || (areCounts && filled.length)) {
		book = [...facts.filter((entry) => !filled.includes(entry)), ...book];
		facts = filled;
	}
	const notices = facts.filter(([key, value]) => WARNING.test(plain(key)) && typeof value === "string" && value.includes(" "));
	facts = facts.filter((entry) => !notices.includes(entry));
	// More than three facts are the answer itself and come first. Fewer facts only describe the rows.
	const isThing = facts.length > 3;
	const title = isNamed && (large.length || facts.length > 1 || echoes.length) ? [...facts, ...echoes].find(([key, value]) => (NAMES.test(plain(key)) || (!isThing && PLACES.test(plain(key)))) && typeof value === "string" && value && value.length < 120) : undefined;
	const untitled = (all) => all.filter((entry) => entry !== title);
	facts = untitled(facts);
	book = [...untitled(echoes), ...book];
	const documents = main.filter((entry) => isLong(entry[1]) && !isFinding(entry));
	const rows = main.filter((entry) => !isLong(entry[1]) && !isFinding(entry));
	const objects = large.filter((entry) => !isMain(entry) && !isFinding(entry));
	// An object called "result" is the answer itself, and the rows beside it are about it.
	const results = objects.filter(([key]) => /^(results?|answer|output)$/.test(plain(key)));
	const rest = objects.filter((entry) => !results.includes(entry));
	// Whether something is valid is what was asked, and the findings say why.
	const verdicts = isThing && !documents.length ? [] : facts.filter(([key]) => VERDICT.test(plain(key)));
	const list = { kind: "facts", entries: facts.filter((entry) => !verdicts.includes(entry)) };
	const sections = (all) => all.map((entry) => ({ kind: "section", entries: [entry] }));
	const first = isThing ? [list, ...sections(rows)] : [...sections(rows), list];
	return {
		title,
		pieces: [{ kind: "notice", entries: notices }, { kind: "facts", entries: verdicts }, ...sections(large.filter(isFinding)), ...sections(documents), ...sections(results), ...first, ...sections(rest), { kind: "book", entries: book }].filter(
			(piece) => piece.entries.length
		)
	};
}
