// Tests of the built binary with clients by others: `npm ci && npm test [-- BINARY]`.
//
// Each client is tested over each transport and in each era that it supports, with roots from the
// command line and with roots of the client. Prints a line for each check, and the count.

import { strict as assert } from 'node:assert';
import { pathToFileURL } from 'node:url';

import * as inspector from './inspector.mjs';
import * as python from './python.mjs';
import * as v1 from './sdk-v1.mjs';
import * as v2 from './sdk-v2.mjs';
import { binary, http, stdio, world as makeWorld } from './server.mjs';

const CHECK_TIME = 40_000;
const ALL_TIME = 15 * 60_000;
const TOOL = 'run_manifest_validation';

const world = makeWorld();
let passed = 0;
let failed = 0;

async function check(name, work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`over ${CHECK_TIME / 1000} s`)), CHECK_TIME);
  });
  try {
    await Promise.race([work(), late]);
    passed += 1;
    console.log(`ok      ${name}`);
    return true;
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n        ${String(error?.stack ?? error).replaceAll('\n', '\n        ')}`);
    return false;
  } finally {
    clearTimeout(timer);
  }
}

const text = (result) => result.content.map((block) => block.text).join('\n');

/** Checks that only clients with a library can make. */
async function library(name, client) {
  if (!client.doesNotAsk) {
    await check(`${name}: the server says who it is`, async () => {
      assert.equal((await client.server()).name, 'portcullis');
    });
  }
  await check(`${name}: a tool that is not there`, async () => {
    await assert.rejects(client.call('no_such_tool', {}), (error) => {
      assert.equal(error.code, -32602);
      assert.match(error.message, /no_such_tool/);
      return true;
    });
  });
}

async function tools(name, client) {
  await check(`${name}: the tool is listed`, async () => {
    const tool = (await client.tools()).find((tool) => tool.name === TOOL);
    assert.equal(tool?.inputSchema.type, 'object');
    assert.ok(tool.inputSchema.properties.manifestPath, 'its argument is described');
    assert.ok(tool.description.length > 20, 'it is described');
  });
}

async function validations(name, client) {
  await check(`${name}: a valid manifest`, async () => {
    const result = await client.call(TOOL, { manifestPath: world.valid });
    assert.ok(!result.isError, text(result));
    assert.deepEqual(result.structuredContent, { isValid: true, errors: [] });
    assert.deepEqual(JSON.parse(text(result)), result.structuredContent);
  });
  await check(`${name}: an invalid manifest`, async () => {
    const result = await client.call(TOOL, { manifestPath: world.invalid });
    assert.ok(!result.isError, text(result));
    assert.equal(result.structuredContent.isValid, false);
    const error = result.structuredContent.errors.find((error) => error.instancePath === '/sap.app/type');
    assert.equal(error?.keyword, 'enum', JSON.stringify(result.structuredContent));
    assert.ok(error.schemaPath && error.message && error.params.allowedValues.includes('application'));
  });
}

async function refusals(name, client) {
  await check(`${name}: a path outside the roots`, async () => {
    const result = await client.call(TOOL, { manifestPath: world.outside });
    assert.equal(result.isError, true);
    assert.match(text(result), /outside the roots/);
  });
}

async function mistakes(name, client) {
  await check(`${name}: a missing argument is named`, async () => {
    const result = await client.call(TOOL, {});
    assert.equal(result.isError, true);
    assert.match(text(result), /manifestPath/);
  });
  await check(`${name}: a path that is not absolute`, async () => {
    const result = await client.call(TOOL, { manifestPath: 'webapp/manifest.json' });
    assert.equal(result.isError, true);
    assert.match(text(result), /not absolute/);
  });
}

/** The URI of a tool's view, where clients look for it. */
const viewOf = async (client, name) => (await client.tools()).find((tool) => tool.name === name)?._meta?.ui?.resourceUri;

/** Checks of MCP Apps. */
async function views(name, client) {
  await check(`${name}: each tool has a view`, async () => {
    const dressed = (await client.tools()).filter((tool) => tool.name !== '_ui');
    assert.ok(dressed.length >= 10, `${dressed.length} tools`);
    for (const { _meta: meta } of dressed) {
      assert.match(meta.ui.resourceUri, /^ui:\/\/portcullis\/\w+\/[0-9a-f]+\.html$/);
      assert.equal(meta['ui/resourceUri'], meta.ui.resourceUri);
    }
  });
  await check(`${name}: a view is read`, async () => {
    const uri = await viewOf(client, TOOL);
    const [page, ...more] = await client.read(uri);
    assert.equal(more.length, 0);
    assert.equal(page.uri, uri);
    assert.equal(page.mimeType, 'text/html;profile=mcp-app');
    assert.deepEqual(page._meta.ui, { csp: {}, prefersBorder: true });
    assert.match(page.text, /^<!doctype html>/);
    assert.ok(page.text.includes('ui/initialize') || page.text.includes('DecompressionStream'), 'it speaks to its host');
  });
  await check(`${name}: a view that the client's model writes`, async () => {
    const words = 'What the manifest lacks';
    const spec = { version: 1, root: { component: 'Text', text: words } };
    assert.match(text(await client.call('_ui', { action: 'apply', toolName: TOOL, spec })), /^UI applied for tool/);
    const [page] = await client.read(await viewOf(client, TOOL));
    assert.ok(page.text.includes(words), 'it is shown');
    assert.match(text(await client.call('_ui', { action: 'regenerate', toolName: TOOL })), /from its schemas/);
  });
}

/** Checks one client over one transport, with the roots of the operator or of the client. */
async function session(name, connect, transport, rootsOf) {
  const args = ['--ui-tool', ...(rootsOf === 'operator' ? ['--root', world.project] : [])];
  const roots = rootsOf === 'client' ? [{ uri: pathToFileURL(world.project).href, name: 'project' }] : undefined;
  name = `${name}, ${transport}, the ${rootsOf}'s roots`;
  let server;
  let client;
  const connected = await check(`${name}: connecting`, async () => {
    if (transport !== 'stdio') server = await http(world, args);
    const place = {
      stdio: () => ({ start: stdio(world, args) }),
      HTTP: () => ({ url: server.url }),
      // The transport of 2024-11-05 has a path beside that of streamable HTTP.
      'HTTP+SSE': () => ({ sse: server.url.replace(/\/mcp$/, '/sse') }),
    };
    client = await connect({ ...place[transport](), roots });
  });
  if (connected) {
    if (client.server) await library(name, client);
    await tools(name, client);
    await validations(name, client);
    await refusals(name, client);
    if (rootsOf === 'operator') {
      await mistakes(name, client);
      await views(name, client);
    }
  }
  await check(`${name}: ending`, async () => {
    try {
      await client?.close();
    } finally {
      await server?.stop();
    }
  });
}

const both = ['stdio', 'HTTP'];
const clients = {
  'SDK v1': v1.connect,
  ...Object.fromEntries(Object.keys(v2.modes).map((mode) => [`SDK v2 ${mode}`, v2.connect(mode)])),
  ...Object.fromEntries(
    ['legacy', 'auto', 'modern'].map((era) => [`Inspector ${era}`, inspector.connect(era, world)]),
  ),
  ...Object.fromEntries(
    Object.keys(python.modes).map((mode) => [`Python SDK 2 ${mode}`, python.connect(mode)]),
  ),
};
/** The clients that support the HTTP transport of 2024-11-05. */
const older = ['SDK v1', 'Python SDK 2 legacy'];

setTimeout(() => {
  console.log(`${passed} passed, ${failed + 1} failed\n(stopped after ${ALL_TIME / 60_000} minutes)`);
  process.exit(1);
}, ALL_TIME).unref();

console.log(`against ${binary()}`);
for (const [name, connect] of Object.entries(clients)) {
  for (const transport of older.includes(name) ? [...both, 'HTTP+SSE'] : both) {
    for (const rootsOf of ['operator', 'client']) await session(name, connect, transport, rootsOf);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
