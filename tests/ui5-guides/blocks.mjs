// The code blocks of the guides, and the sample projects that their whole files make.

import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));

/** The folder of the guides. */
export const GUIDES = join(HERE, '../../plugins/ui5/resources/guides');

/** The versions that replace `{{package}}`. */
export const VERSIONS = JSON.parse(readFileSync(join(GUIDES, 'versions.json'), 'utf8'));

// Words after the language of a block that are not paths.
const ROLES = new Set(['before', 'part', 'content']);

/**
 * The code blocks of a guide. Each has the guide, its first line, its language, its text, and either a `path`
 * (the block is a whole file) or a `role`: `before` (old code, as an example of what to change), `part` (of a
 * file) or `content` (of an analytical card).
 */
export function blocksOf(guide, text = readFileSync(join(GUIDES, guide), 'utf8')) {
  const blocks = [];
  let open;
  let paragraph = '';
  text.split('\n').forEach((line, index) => {
    const fence = /^(\s*)```(.*)$/.exec(line);
    if (!open && fence) {
      const [language, place, ...rest] = fence[2].trim().split(/\s+/);
      if (!language || rest.length) throw new Error(`${guide}:${index + 1}: what is this block?`);
      const role = ROLES.has(place) ? place : undefined;
      open = { guide, line: index + 1, language, role, path: role ? undefined : place, above: paragraph, lines: [] };
    } else if (open && fence) {
      const { lines, ...block } = open;
      blocks.push({ ...block, text: `${lines.join('\n')}\n` });
      open = undefined;
    } else if (open) {
      open.lines.push(line);
    } else if (line.trim()) {
      paragraph = line;
    }
  });
  if (open) throw new Error(`${guide}:${open.line}: this block has no end`);
  return blocks;
}

/** The names of all guides, relative to their folder. */
export function guides() {
  return readdirSync(GUIDES, { recursive: true }).filter((name) => name.endsWith('.md')).sort();
}

/** The text of a block, in which versions replace `{{package}}`. */
export function filled(text) {
  return text.replaceAll(/\{\{(@?[a-z0-9/-]+)\}\}/g, (placeholder, name) => VERSIONS.packages[name]?.version ?? placeholder);
}

/** Writes whole files of a guide to a folder that has access to the npm packages of this folder. */
export function writeProject(folder, blocks, extra = {}) {
  mkdirSync(folder, { recursive: true });
  symlinkSync(join(HERE, 'node_modules'), join(folder, 'node_modules'), 'dir');
  const files = new Map(Object.entries(extra));
  for (const block of blocks) {
    if (files.has(block.path) && !(block.path in extra)) throw new Error(`${at(block)}: ${block.path} is there twice`);
    files.set(block.path, filled(block.text));
  }
  for (const [path, text] of files) {
    const file = join(folder, path);
    if (relative(folder, file).startsWith('..')) throw new Error(`${path} is not below ${folder}`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

/** The place of a block, for messages. */
export function at(block) {
  return `${block.guide}:${block.line} (${block.language} ${block.path ?? block.role ?? ''})`;
}
