// Calls a tool with clients by others, which start the server that a `.mcp.json` names:
//
//     node project.mjs FOLDER TOOL ARGUMENTS EXPECTED
//
// FOLDER has the `.mcp.json`, ARGUMENTS is JSON, and EXPECTED is a text that the answer has to contain. Each client also
// has to list the tool with the descriptions that its author wrote.

import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import * as python from './python.mjs';
import * as v1 from './sdk-v1.mjs';
import * as v2 from './sdk-v2.mjs';

const [folder, tool, args, expected] = process.argv.slice(2);
const { mcpServers } = JSON.parse(readFileSync(join(folder, '.mcp.json'), 'utf8'));
const { command, args: options } = mcpServers.portcullis;
// The environment of the shell, because the SDKs pass a part of it only.
const start = { command, args: options, env: { ...process.env } };

const clients = {
  'TypeScript SDK, version 1': v1.connect,
  'TypeScript SDK, version 2': v2.connect('auto'),
  'Python SDK': python.connect('auto'),
};

/** The arguments of a schema without a description, also those within arguments, by their paths. */
function undescribed(schema, path = '') {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const own = inner.description || inner.$ref || inner.allOf ? [] : [`${path}/${name}`];
    return [...own, ...undescribed(inner, `${path}/${name}`)];
  });
}

/** The definition of a tool. A plugin that takes longer to load than lists wait for is listed some time later. */
async function find(client, tool) {
  for (const end = Date.now() + 60_000; ; ) {
    const found = (await client.tools()).find((one) => one.name === tool);
    if (found || Date.now() > end) return found;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

for (const [name, connect] of Object.entries(clients)) {
  const client = await connect({ start });
  const listed = await find(client, tool);
  assert.ok(listed, `${name}: the tool ${tool} is listed`);
  assert.match(listed.description, /^Finds the lines of a (text|text file) that contain a pattern\./, name);
  // A plain component has comments for its functions and for fields of records, and none for parameters.
  const isParameter = (path) => tool !== 'find_lines' && path.split('/').length === 2;
  const missing = undescribed(listed.inputSchema).filter((path) => !isParameter(path));
  assert.deepEqual(missing, [], `${name}: arguments without a description`);
  const answer = await client.call(tool, JSON.parse(args));
  assert.ok(!answer.isError, `${name}: ${JSON.stringify(answer)}`);
  const text = answer.content.map((block) => block.text).join('\n');
  assert.ok(text.includes(expected), `${name}: ${text}`);
  await client.close();
  console.log(`${name}: the tool ${tool} is listed and called`);
}
