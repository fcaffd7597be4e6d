// Checks that the manifests of the guides are valid, and that charts have the feeds that they need.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import { at } from './blocks.mjs';

const SCHEMA = JSON.parse(readFileSync(createRequire(import.meta.url).resolve('@ui5/manifest/schema.json'), 'utf8'));
const NEWEST_1 = SCHEMA.properties._version.enum.at(-1);

const ajv = new Ajv2020({ strict: false, allErrors: true, unicodeRegExp: false });
addFormats(ajv);
ajv.addMetaSchema(JSON.parse(readFileSync(createRequire(import.meta.url).resolve('ajv/dist/refs/json-schema-draft-07.json'), 'utf8')));
// The guides have no cards of this type, so the schema accepts none.
ajv.addSchema({ definitions: { AdaptiveCard: false } }, 'https://adaptivecards.io/schemas/adaptive-card.json');
const valid = ajv.compile(SCHEMA);

/**
 * Throws if the manifest is not valid. The schema of version 2 is not on npm. Version 2 is version 1 without
 * some properties, so a manifest of version 2 must also be valid in version 1. The linter finds the removed
 * properties.
 */
export function checkManifest(block, manifest = JSON.parse(block.text)) {
  const judged = /^[2-9]\./.test(manifest._version) ? { ...manifest, _version: NEWEST_1 } : manifest;
  if (!valid(judged)) {
    const errors = valid.errors.map(({ instancePath, message }) => `${instancePath} ${message}`);
    throw new Error(`${at(block)}: the manifest is not valid: ${[...new Set(errors)].slice(0, 8).join('; ')}`);
  }
  const deprecated = deprecatedCardContent(manifest['sap.card']?.content ?? {});
  if (deprecated.length) throw new Error(`${at(block)}: deprecated: ${deprecated}`);
}

function deprecatedCardContent(content) {
  const properties = SCHEMA.$defs['ContentType.Analytical'].properties;
  return Object.keys(content).filter((name) => content.chartType && properties[name]?.deprecated);
}

/** The feeds that the line above an example lists, such as `uid` (m)+?. */
export function feedsOf(line) {
  const [, list] = /Feeds: (.+)\.$/.exec(line) ?? [];
  if (!list) throw new Error(`no feeds in "${line}"`);
  return list.split(', ').map((item) => {
    const [, uid, kind, least, many, optional] = /^`(\w+)` \(([md])\)(\d?)(\+?)(\??)$/.exec(item) ?? [];
    if (!uid) throw new Error(`what is ${item}?`);
    return { uid, type: kind === 'm' ? 'Measure' : 'Dimension', least: Number(least || 1), many: many === '+', optional: optional === '?' };
  });
}

/** Throws if an example of a chart does not match the list of its feeds. */
export function checkChart(block, card) {
  const content = JSON.parse(block.text);
  const complain = (why) => {
    throw new Error(`${at(block)}: ${content.chartType}: ${why}`);
  };
  if (!block.above.includes(`\`${content.chartType}\``)) complain('the text above is about another chart');
  const places = new Map(feedsOf(block.above).map((place) => [place.uid, place]));
  const names = { Measure: content.measures.map(({ name }) => name), Dimension: content.dimensions.map(({ name }) => name) };
  const fed = new Set();
  for (const { uid, type, values } of content.feeds) {
    const place = places.get(uid) ?? complain(`it has no feed ${uid}`);
    if (fed.has(uid)) complain(`${uid} is fed twice`);
    fed.add(uid);
    if (place.type !== type) complain(`${uid} takes a ${place.type}`);
    if (values.length < place.least || (values.length > 1 && !place.many)) complain(`${uid} does not take ${values.length} values`);
    for (const value of values) if (!names[type].includes(value)) complain(`there is no ${type} ${value}`);
  }
  for (const place of places.values()) if (!place.optional && !fed.has(place.uid)) complain(`${place.uid} is not fed`);
  const used = content.feeds.flatMap(({ values }) => values);
  for (const name of [...names.Measure, ...names.Dimension]) if (!used.includes(name)) complain(`${name} is not used`);
  const time = content.feeds.find(({ uid }) => uid === 'timeAxis');
  if (time && content.dimensions.find(({ name }) => name === time.values[0]).dataType !== 'date') complain('a time axis needs a date');
  checkManifest(block, { ...card, 'sap.card': { ...card['sap.card'], type: 'Analytical', content } });
  return content.chartType;
}
