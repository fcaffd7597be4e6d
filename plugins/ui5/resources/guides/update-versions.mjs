// Brings versions.json up to date: `node plugins/ui5/resources/guides/update-versions.mjs` (needs npm).
//
// Each package gets its newest release, or the newest release below the version that does not fit the other packages.
// Afterwards, set the same versions in `tests/ui5-guides`, and run its tests.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const FILE = new URL('versions.json', import.meta.url);

const parts = (version) => version.split('.').map(Number);
function compare(one, other) {
  const [a, b] = [parts(one), parts(other)];
  const different = a.findIndex((part, index) => part !== b[index]);
  return different < 0 ? 0 : a[different] - b[different];
}

const table = JSON.parse(readFileSync(FILE, 'utf8'));
for (const [name, known] of Object.entries(table.packages)) {
  const listed = JSON.parse(execFileSync('npm', ['view', name, 'versions', '--json'], { encoding: 'utf8' }));
  const releases = [listed].flat().filter((version) => /^\d+\.\d+\.\d+$/.test(version));
  const fitting = releases.filter((version) => !known.below || compare(version, known.below) < 0);
  const newest = fitting.sort(compare).at(-1);
  if (!newest) throw new Error(`${name}: npm has no release${known.below ? ` below ${known.below}` : ''}`);
  if (newest !== known.version) console.log(`${name}: ${known.version} -> ${newest}`);
  known.version = newest;
}
table.date = new Date().toISOString().slice(0, 10);
writeFileSync(FILE, `${JSON.stringify(table, null, '\t')}\n`);
