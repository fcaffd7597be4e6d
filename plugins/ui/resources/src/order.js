// Puts the parts of an object into the order in which a person asks for them: findings, rows and documents, facts, the rest.

import { isObject } from "./dom.js";
import { tokens } from "./words.js";

export const isScalar = (value) => typeof value !== "object" || value === null;

/** A few short values that fit on a line. */
export const isShortList = (value) =>
	Array.isArray(value) && value.length <= 6 && value.every((one) => isScalar(one) && String(one).length < 40);

const isEmpty = (value) => isObject(value) ? !Object.keys(value).length : Array.isArray(value) ? !value.length : value === null || value === undefined || value === "";

const BOOKKEEPING =
	/^((total|result|row|item|match|page|record)s?_)?(count|total|limit|offset|skip|cursor|page|size|number)$|^total(_\w+)?$|^(next|prev|previous|start|end)_(cursor|page|offset|index|page_token|token)$|^per_page$|^page_\w+$|^has_(more|next|next_page|previous|prev)$|^(is_)?(truncated|cached|complete|last_page)$|^as_of$|^(generated|fetched|retrieved|queried|checked|updated)(_at)?$|^(took|elapsed|duration|query_time|execution_time|time_taken)(_\w+)?$|^(data_)?sources?$|^attribution$|^licen[cs]e$|^copyright$|^(request|trace|session)_id$|^(api|schema)_version$|^(timezone|time_zone|units?|hints?|notes?)$/;

/** What is bookkeeping only while all is well. */
const FORMALITIES = /^(success|ok|status|errors?|warnings?)$/;
const FINDINGS = /^(errors?|warnings?|findings|issues|problems|violations|messages|diagnostics|failures|conflicts)$/;
const NAMES = /^(title|name|display_name|full_name|subject|headline)$/;
const PLACES = /^(city|location|symbol)$/;

/** Names of parts that say nothing beside the part itself. */
export const GENERIC =
	/^(results?|data|items|rows|values?|content|contents|text|output|body|response|entries|records|list|payload|answer|markdown|document|message|reply)$/;

const WARNING = /^(warning|notice|caution)$/;

export const plain = (key) => tokens(key).join("_").toLowerCase();

const isCount = (key, value, rows) => /(^|_)(count|total)$/.test(key) && value === rows;

/** What says nothing: all went well, there is nothing more, the rows stand there to be counted. */
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
 * @returns `title`, the entry whose value names the whole; `pieces`, lists of entries by `kind`: `facts` go into one list,
 *          a `section` stands for itself, a `notice` is a sentence, and `book` goes into one line
 */
export function arrange(entries, isRows, isNamed) {
	const isSmall = ([, value]) => (isScalar(value) && !isLong(value)) || isShortList(value) || isEmpty(value);
	const small = entries.filter(isSmall);
	const large = entries.filter((entry) => !isSmall(entry));
	const isMain = (entry) => isLong(entry[1]) || Array.isArray(entry[1]) || isRows(entry);
	const main = large.filter(isMain);
	// Where rows were asked for, also where none were found, counts and offsets are not the answer.
	const hasRows = main.length > 0 || entries.some(([, value]) => typeof value === "object" && value !== null && isEmpty(value));
	const rowCount = main.length === 1 ? Object.keys(main[0][1]).length : main.length ? undefined : 0;
	const isBook = ([key, value]) =>
		isFormality(key, value) || (hasRows && (BOOKKEEPING.test(plain(key)) || isCount(plain(key), value, rowCount)) && !(Array.isArray(value) && value.length > 3));
	let book = small.filter(isBook);
	let facts = small.filter((entry) => !isBook(entry));
	if (!facts.length && !large.length) {
		[facts, book] = [book, []];
	}
	book = book.filter(([key, value]) => !isSilent(plain(key), value, rowCount));
	// What is empty is of interest where little else is there.
	const filled = facts.filter(([, value]) => !isEmpty(value));
	if (large.length || filled.length > 3) {
		book = [...facts.filter((entry) => !filled.includes(entry)), ...book];
		facts = filled;
	}
	const notices = facts.filter(([key, value]) => WARNING.test(plain(key)) && typeof value === "string" && value.includes(" "));
	facts = facts.filter((entry) => !notices.includes(entry));
	// Many facts are what was asked for; a few only say of what the rows are.
	const isThing = facts.length > 3;
	const title = isNamed && (large.length || facts.length > 1) ? facts.find(([key, value]) => (NAMES.test(plain(key)) || (!isThing && PLACES.test(plain(key)))) && typeof value === "string" && value && value.length < 120) : undefined;
	facts = facts.filter((entry) => entry !== title);
	const isFinding = ([key]) => FINDINGS.test(plain(key));
	const documents = main.filter((entry) => isLong(entry[1]) && !isFinding(entry));
	const rows = main.filter((entry) => !isLong(entry[1]) && !isFinding(entry));
	const rest = large.filter((entry) => !isMain(entry) && !isFinding(entry));
	const list = { kind: "facts", entries: facts };
	const sections = (all) => all.map((entry) => ({ kind: "section", entries: [entry] }));
	const first = isThing ? [list, ...sections(rows)] : [...sections(rows), list];
	return {
		title,
		pieces: [{ kind: "notice", entries: notices }, ...sections(large.filter(isFinding)), ...sections(documents), ...first, ...sections(rest), { kind: "book", entries: book }].filter(
			(piece) => piece.entries.length
		)
	};
}
