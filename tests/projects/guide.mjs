// Puts the code of docs/guides/javascript-and-python.md into a project: node guide.mjs LANGUAGE PART PROJECT
//
// LANGUAGE is `js` or `python`. PART is `functions` (up to the heading "The contract") or `contract` (what follows, in
// JavaScript only). All
// blocks of a part in one language are one file, in their order. Imports may stand anywhere in both languages.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PAGE = join(dirname(fileURLToPath(import.meta.url)), '../../docs/guides/javascript-and-python.md');
const HEADING = '\n## The contract\n';
const SOURCES = { js: 'src/plugin.js', python: 'plugin.py' };

/** The code of all blocks in a language. */
export function blocks(text, language) {
  const found = [];
  let open;
  for (const line of text.split('\n')) {
    if (open) {
      if (line === '```') {
        if (open.language === language) found.push(open.lines.join('\n'));
        open = undefined;
      } else {
        open.lines.push(line);
      }
    } else if (line.startsWith('```')) {
      open = { language: line.slice(3), lines: [] };
    }
  }
  return found;
}

const [language, part, project] = process.argv.slice(2);
const page = readFileSync(PAGE, 'utf8');
const at = page.indexOf(HEADING);
const text = part === 'functions' ? page.slice(0, at) : page.slice(at);
for (const [name, file] of [['wit', 'wit/plugin.wit'], [language, SOURCES[language]]]) {
  const code = blocks(text, name);
  if (at < 0 || code.length === 0) throw new Error(`${PAGE} has no code in ${name} for the ${part}`);
  mkdirSync(join(project, dirname(file)), { recursive: true });
  writeFileSync(join(project, file), `${code.join('\n\n')}\n`);
}
