// Puts the code of a guide into a project: node guide.mjs LANGUAGE PART PROJECT
//
// LANGUAGE is `js`, `python` or `go`. PART is `functions` (in javascript-and-python.md, up to the heading "The contract") or
// `contract` (what follows, in JavaScript only). All blocks of a part in JavaScript or Python are one file, in their order:
// imports may stand anywhere in both languages. Each block of go.md is a package. The WIT is that of the other page.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const GUIDES = join(dirname(fileURLToPath(import.meta.url)), '../../docs/guides');
const PAGE = join(GUIDES, 'javascript-and-python.md');
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

function write(file, code) {
  if (at < 0 || code.length === 0) throw new Error(`there is no code for ${file} in the ${part} of ${PAGE}`);
  mkdirSync(join(project, dirname(file)), { recursive: true });
  writeFileSync(join(project, file), `${code.join('\n\n')}\n`);
}

write('wit/plugin.wit', blocks(text, 'wit'));
if (language === 'go') {
  const packages = blocks(readFileSync(join(GUIDES, 'go.md'), 'utf8'), 'go');
  for (const code of packages) write(`${/^package (\w+)$/m.exec(code)[1]}/guide.go`, [code]);
} else {
  write(SOURCES[language], blocks(text, language));
}
