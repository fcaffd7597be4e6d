// Checks that the whole files of a guide, as projects, have no findings.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ui5lint } from '@ui5/linter';
import { ESLint } from 'eslint';

import { blocksOf, writeProject } from './blocks.mjs';

const require = createRequire(import.meta.url);
const TSC = require.resolve('typescript/bin/tsc');
const INTERFACES = join(require.resolve('@ui5/ts-interface-generator/package.json'), '../dist/generateTSInterfaces.js');

// The files that a project needs and that its guide does not show.
function scaffold() {
  const setup = blocksOf('typescript.md').filter(({ path }) => path === 'tsconfig.json' || path === 'ui5.yaml');
  const manifest = blocksOf('guidelines.md').filter(({ path }) => path === 'webapp/manifest.json');
  return Object.fromEntries([...setup, ...manifest].map(({ path, text }) => [path, text]));
}

/** Writes a project with a guide's files in one language. Files without code belong to both languages. */
export function makeProject(folder, blocks, language) {
  const other = language === 'ts' ? 'js' : 'ts';
  const files = blocks
    .filter(({ path }) => path)
    .filter((block) => block.language !== other || block.path.endsWith('.mjs'))
    .map((block) => ({ ...block, path: block.path.replace(/^card\//, 'webapp/') }));
  writeProject(folder, files, scaffold());
  return files.map(({ path }) => path);
}

/** Generates the interfaces of controls, and throws the errors of the compiler. */
export function compile(folder) {
  execFileSync(process.execPath, [INTERFACES], { cwd: folder, stdio: 'pipe' });
  run(TSC, ['--project', folder, '--pretty', 'false'], folder);
}

function run(script, args, cwd) {
  try {
    execFileSync(process.execPath, [script, ...args], { cwd, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    throw new Error(error.stdout || error.stderr || error.message, { cause: error });
  }
}

/** Throws the findings of the UI5 linter. */
export async function lint(folder, paths) {
  const linted = paths.filter((path) => /^(webapp\/.*\.(js|ts|xml|html|json)|ui5\.yaml)$/.test(path) && !isCard(folder, path));
  if (linted.length === 0) throw new Error('there is nothing to lint');
  const results = await ui5lint({ rootDir: folder, filePatterns: linted, noConfig: true, details: true });
  const findings = results.flatMap(({ filePath, messages }) =>
    messages.map(({ line, ruleId, message }) => `${filePath}:${line} ${ruleId}: ${message}`),
  );
  if (findings.length) throw new Error(findings.join('\n'));
}

// Manifests of cards are left out, since the linter treats every manifest as that of an application.
function isCard(folder, path) {
  return path.endsWith('manifest.json') && 'sap.card' in JSON.parse(readFileSync(join(folder, path), 'utf8'));
}

/** Runs ESLint with the configuration of the guide, and throws its findings. */
export async function eslint(folder) {
  const engine = new ESLint({ cwd: folder });
  const results = await engine.lintFiles(['webapp/**/*.ts']);
  const judged = results.filter(({ filePath }) => !filePath.endsWith('.gen.d.ts'));
  if (judged.length === 0) throw new Error('there is nothing to lint');
  const findings = judged.flatMap(({ filePath, messages }) =>
    messages.map(({ line, ruleId, message }) => `${filePath}:${line} ${ruleId}: ${message}`),
  );
  if (findings.length) throw new Error(findings.join('\n'));
}
