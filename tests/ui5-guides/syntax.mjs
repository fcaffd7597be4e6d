// Checks that each block parses, and that its kind is known.

import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DOMParser } from '@xmldom/xmldom';
import { parse as parseHtml, parseFragment } from 'parse5';
import ts from 'typescript';
import { parseDocument } from 'yaml';

import { at, filled } from './blocks.mjs';

const PREFIXES = {
  '': 'sap.m',
  core: 'sap.ui.core',
  f: 'sap.f',
  form: 'sap.ui.layout.form',
  mvc: 'sap.ui.core.mvc',
  rowmodes: 'sap.ui.table.rowmodes',
  table: 'sap.ui.table',
};

const CHECKS = { html, js, json, properties, sh, ts: script, xml, yaml };

/** Throws if the block does not parse, or if its kind is not known. */
export function checkSyntax(block) {
  const check = CHECKS[block.language];
  if (!check) throw new Error(`${at(block)}: no check for this language`);
  if (!block.path && !block.role && block.language !== 'sh') throw new Error(`${at(block)}: a whole file, a part, or old code?`);
  if (block.language === 'ts' && block.role === 'part') throw new Error(`${at(block)}: TypeScript has to be a whole file, so that it is compiled`);
  try {
    check({ ...block, text: filled(block.text) });
  } catch (error) {
    throw new Error(`${at(block)}: ${error.message}`, { cause: error });
  }
}

function js(block) {
  script(block, ts.ScriptKind.JS);
}

function script(block, kind = ts.ScriptKind.TS) {
  const parsed = ts.createSourceFile(block.path ?? 'block', block.text, ts.ScriptTarget.Latest, true, kind);
  const problem = parsed.parseDiagnostics[0];
  if (problem) throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'));
  if (parsed.statements.length === 0) throw new Error('it is empty');
}

function xml(block) {
  const text = block.path
    ? block.text
    : `<part ${Object.entries(PREFIXES).map(([prefix, name]) => `xmlns${prefix && ':'}${prefix}="${name}"`).join(' ')}>${block.text}</part>`;
  const problems = [];
  const document = new DOMParser({ onError: (level, message) => problems.push(`${level}: ${message}`) }).parseFromString(text, 'text/xml');
  if (problems.length) throw new Error(problems.join('\n'));
  if (block.role !== 'before') {
    for (const element of Array.from(document.getElementsByTagName('*'))) {
      control(element);
      Array.from(element.attributes).forEach(attribute);
    }
  }
}

// Every element with a capital letter is a control. Only controls with type declarations exist.
let modules;
const WEB_COMPONENTS = ['', '-fiori', '-ai'].map((part) => `@ui5/webcomponents${part}/dist`);
function control(element) {
  if (!/^[A-Z]/.test(element.localName)) return;
  // Web components come from npm packages that are not installed here. Only those of these packages are allowed.
  if (WEB_COMPONENTS.includes(element.namespaceURI)) return;
  modules ??= declaredModules();
  const name = `${element.namespaceURI.replaceAll('.', '/')}/${element.localName}`;
  if (!modules.has(name) && name !== 'sap/ui/core/FragmentDefinition') throw new Error(`there is no ${name}`);
}

// UI5 ignores an object in an attribute for an aggregation of one control, which has to be an element. Objects
// are allowed only as bindings, and as values of `core:require`.
const BINDING = /\{\s*['"]?(path|parts|model)['"]?\s*:/;
function attribute({ localName, value }) {
  const isObject = /^\{\s*['"]?\w+['"]?\s*:/.test(value);
  if (isObject && localName !== 'require' && !BINDING.test(value)) {
    throw new Error(`the attribute ${localName} has an object that is no binding`);
  }
}

function declaredModules() {
  const types = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/@openui5/types/types');
  const names = new Set();
  for (const file of readdirSync(types)) {
    for (const [, name] of readFileSync(join(types, file), 'utf8').matchAll(/^declare module "([^"]+)"/gm)) names.add(name);
  }
  return names;
}

function html(block) {
  const problems = [];
  const parse = block.path ? parseHtml : parseFragment;
  parse(block.text, { onParseError: (problem) => problems.push(`${problem.code} in line ${problem.startLine}`) });
  if (problems.length) throw new Error(problems.join(', '));
}

function json(block) {
  JSON.parse(block.text);
}

function yaml(block) {
  const [problem] = parseDocument(block.text).errors;
  if (problem) throw problem;
}

function properties(block) {
  keysOf(block.text);
}

/** The keys of a properties file. Throws if a line is neither empty, nor a comment, nor a text. */
export function keysOf(text) {
  const keys = [];
  for (const line of text.split('\n')) {
    if (!line.trim() || line.startsWith('#')) continue;
    const entry = /^([\w.]+)=(.+)$/.exec(line);
    if (!entry) throw new Error(`this is no text: ${line}`);
    keys.push(entry[1]);
  }
  if (new Set(keys).size !== keys.length) throw new Error('a key is there twice');
  return keys;
}

function sh(block) {
  if (!block.text.trim()) throw new Error('it is empty');
}
