// What only some pages have: the page maker adds it to tools that may need it.

/**
 * Empty, or as more.js fills it in: `shape(value, view, schema, depth)`, `text(text, view, about)` and
 * `pictures(records, columns, ordinal)` show what they know; `measured(entries)` takes in units; `areAmounts(values)` knows those that are texts; `pages(schema, input, answer)` finds the next page; `groups`, `chips` and
 * `upload` are of forms. `draw` and `ticks` of chart.js, `places` of map.js and `compare` of diff.js are also for views by a specification.
 */
export const parts = {};
