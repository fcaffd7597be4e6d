// The parts that only pages with the larger runtime have. The plugin gives this runtime to tools that may need it.

/**
 * Empty in the usual runtime. In the larger runtime, more.js fills it: `shape(value, view, schema, depth)`,
 * `records(value, view, schema, name, columnsOf)`,
 * `text(text, view, about)`, `words(text, open)` and `pictures(records, columns, ordinal)` show the data that they recognise; `measured(entries)`
 * adds units; `areAmounts(values)` recognises amounts that are texts; `pages(schema, input, answer)` finds the next page;
 * `groups`, `chips` and `upload` are parts of forms. Views by a specification also use `draw` and `ticks` of chart.js,
 * `places` of map.js and `compare` of diff.js.
 */
export const parts = {};
