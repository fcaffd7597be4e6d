// What only some pages have: the page maker adds it to tools that may need it. Empty in the others.

/** `shape(value, view, …)`, `text(text, view, about)`, `map(records, columns)` and `pages(schema, input, answer)`, filled in by more.js. */
export const parts = {};
