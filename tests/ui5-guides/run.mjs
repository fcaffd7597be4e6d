// Checks every code block of the UI5 guides: `npm ci && npm test`.
//
// All blocks parse, TypeScript compiles, views name existing controls, manifests are valid, charts have the
// feeds that they need, and the linters find nothing. Prints a line for each check, and the count.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { GUIDES, VERSIONS, at, blocksOf, guides } from './blocks.mjs';
import { checkChart, checkManifest } from './manifests.mjs';
import { compile, eslint, lint, makeProject } from './projects.mjs';
import { checkSyntax, keysOf } from './syntax.mjs';

const CHARTS = 44;

const world = mkdtempSync(join(tmpdir(), 'ui5-guides-'));
let passed = 0;
let failed = 0;

async function check(name, work) {
  try {
    await work();
    passed += 1;
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n        ${error.message.replaceAll('\n', '\n        ')}`);
  }
}

function expect(holds, message) {
  if (!holds) throw new Error(message);
}

async function checkGuide(guide) {
  const blocks = blocksOf(guide);
  for (const block of blocks) await check(at(block), () => checkSyntax(block));
  for (const block of blocks.filter(({ path }) => path?.endsWith('manifest.json'))) {
    await check(`${at(block)} is valid`, () => checkManifest(block));
  }
  const files = blocks.filter(({ path }) => path);
  for (const language of ['js', 'ts']) {
    if (!files.some((block) => block.language === language && block.path.match(/^(webapp|card)\//))) continue;
    const folder = join(world, `${guide.replaceAll('/', '-')}-${language}`);
    let paths;
    await check(`${guide}: its ${language} files make a project`, () => {
      paths = makeProject(folder, blocks, language);
    });
    if (!paths) continue;
    if (language === 'ts') await check(`${guide}: compiles`, () => compile(folder));
    await check(`${guide}: the UI5 linter finds nothing (${language})`, () => lint(folder, paths));
    if (paths.includes('eslint.config.mjs')) await check(`${guide}: ESLint finds nothing`, () => eslint(folder));
  }
  if (blocks.some(({ language }) => language === 'properties')) await check(`${guide}: texts`, () => checkTexts(blocks));
}

// Checks that every text to which a file of the guide is bound exists, and that there are no other texts.
function checkTexts(blocks) {
  const there = blocks.filter(({ language }) => language === 'properties').flatMap(({ text }) => keysOf(text));
  const used = blocks
    .filter(({ language, path }) => path && language !== 'properties' && path !== 'package.json')
    .flatMap(({ text }) => [...text.matchAll(/\{i18n>(\w+)\}|"\{\{(\w+)\}\}"|getText\("(\w+)"/g)].map((match) => match.slice(1).find(Boolean)));
  for (const key of used) expect(there.includes(key), `there is no text ${key}`);
  for (const key of there) expect(used.includes(key), `the text ${key} is not used`);
}

function checkCharts() {
  const blocks = blocksOf('cards.md');
  const card = JSON.parse(blocks.find(({ path }) => path === 'card/manifest.json').text);
  const types = blocks.filter(({ role }) => role === 'content').map((block) => checkChart(block, card));
  expect(types.length === CHARTS, `there are ${types.length} charts, not ${CHARTS}`);
  expect(new Set(types).size === CHARTS, 'a chart is there twice');
}

// Checks that every version is used, and that every used version exists.
function checkVersions() {
  const { packages } = VERSIONS;
  const text = guides().map((guide) => readFileSync(join(GUIDES, guide), 'utf8')).join('');
  for (const name of Object.keys(packages)) expect(text.includes(`{{${name}}}`), `nobody asks for ${name}`);
  const manifest = JSON.parse(blocksOf('typescript.md').find(({ path }) => path === 'package.json').text);
  for (const [name, version] of Object.entries(manifest.devDependencies)) {
    expect(packages[name], `there is no version of ${name}`);
    expect(version.replace(/^[~^]/, '') === `{{${name}}}`, `${name} has the version of something else`);
  }
}

try {
  expect(guides().length > 0, 'there are no guides');
  for (const guide of guides()) await checkGuide(guide);
  await check('cards.md: charts', checkCharts);
  await check('versions', checkVersions);
} finally {
  rmSync(world, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
