// Compares servers by others with the same servers behind the built binary: `npm ci && npm test [-- BINARY]`. The Python
// servers are those of `requirements.txt` in `.venv`. Servers that control a browser need Chromium: `CHROMIUM`, or
// `chromium` on the path.
//
// Each server is called directly, and through Portcullis: alone and together with the others, cold (the host does not
// know the server yet) and warm, by clients of both eras. Lists have to be equal item by item, and answers field by
// field. Behind `wrap`, the answers to unknown tools and wrong arguments have to be those of the server. Prints a line
// for each comparison.

import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Client } from './client.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const binary = process.argv[2] ?? process.env.PORTCULLIS ?? join(here, '../../target/debug/portcullis');
const world = mkdtempSync(join(tmpdir(), 'portcullis-servers-'));
const folder = join(world, 'folder');
const repository = join(world, 'repository');
mkdirSync(folder);
mkdirSync(join(world, 'mongodb'));
writeFileSync(join(folder, 'a.txt'), 'one\ntwo\n');
mkdirSync(repository);
const git = (...args) => execFileSync('git', ['-C', repository, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args]);
git('init', '--quiet', '--initial-branch=main');
writeFileSync(join(repository, 'a.txt'), 'one\n');
git('add', 'a.txt');
git('commit', '--quiet', '--message=first');
writeFileSync(join(repository, 'b.txt'), 'two\n');

const pages = createServer((request, response) => {
  const isPage = request.url === '/page';
  response.writeHead(isPage ? 200 : 404, { 'content-type': 'text/html' });
  response.end(isPage ? '<html><body><h1>Title</h1><p>Some text.</p></body></html>' : '');
});
await new Promise((resolve) => pages.listen(0, '127.0.0.1', resolve));
const database = join(world, 'cities.db');
execFileSync(join(here, '.venv/bin/python'), ['-c', `
import sqlite3
with sqlite3.connect(${JSON.stringify(database)}) as database:
    database.execute('create table city (id integer primary key, name text)')
    database.execute("insert into city (name) values ('Paris'), ('Köln')")
`]);

/** The path of Chromium. */
function chromium() {
  return process.env.CHROMIUM ?? execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
}

const page = `http://127.0.0.1:${pages.address().port}/page`;

const script = (name, ...args) => [process.execPath, join(here, 'node_modules', name), ...args];
const program = (name, ...args) => [join(here, '.venv/bin', name), ...args];
const official = (name, ...args) => script(`@modelcontextprotocol/server-${name}/dist/index.js`, ...args);
const call = (name, args) => ['tools/call', { name, arguments: args }];

/** A request whose answer contains times or random names. Only its success is compared. */
const varying = ([method, params]) => [method, params, 'varies'];

/** The servers, each with requests whose answers are always the same. */
const SERVERS = {
  everything: {
    command: official('everything'),
    requests: [
      call('echo', { message: 'پیام می\u200cرسد 👩\u200d💻' }),
      call('get-sum', { a: 0.1, b: 2 }),
      call('get-tiny-image', {}),
      call('get-annotated-message', { messageType: 'error', includeImage: true }),
      call('get-annotated-message', { messageType: 'success' }),
      call('get-structured-content', { location: 'New York' }),
      call('get-resource-links', { count: 3 }),
      call('trigger-sampling-request', { prompt: 'hello', maxTokens: 17 }),
      call('trigger-elicitation-request', {}),
      ['prompts/get', { name: 'simple-prompt' }],
      ['prompts/get', { name: 'args-prompt', arguments: { city: 'Paris' } }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument: { name: 'department', value: 'E' } }],
    ],
  },
  filesystem: {
    command: official('filesystem', folder),
    requests: [
      call('read_text_file', { path: join(folder, 'a.txt') }),
      call('list_directory', { path: folder }),
      call('read_text_file', { path: '/etc/hostname' }),
      call('list_allowed_directories', {}),
    ],
  },
  memory: {
    command: official('memory'),
    env: { MEMORY_FILE_PATH: join(world, 'memory.json') },
    requests: [call('read_graph', {}), call('search_nodes', { query: 'x' })],
  },
  thinking: {
    command: official('sequential-thinking'),
    requests: [call('sequentialthinking', { thought: 'a', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 })],
  },
  context7: { command: script('@upstash/context7-mcp/dist/index.js'), requests: [] },
  // The tools of this server need an account, so only its lists are compared.
  firecrawl: { command: script('firecrawl-mcp/dist/index.js'), env: { FIRECRAWL_API_KEY: 'fc-none' }, requests: [] },
  mongodb: {
    command: script('mongodb-mcp-server/dist/esm/index.js', '--telemetry', 'disabled'),
    env: { HOME: join(world, 'mongodb') },
    requests: [
      call('list-connections', {}),
      call('find', { connectionId: 'none', database: 'a', collection: 'b' }),
    ],
  },
  motherduck: {
    command: program('mcp-server-motherduck', '--db-path', ':memory:', '--read-write'),
    requests: [
      call('execute_query', { sql: "create or replace table city as select 1 as id, 'Köln' as name" }),
      call('execute_query', { sql: 'select * from city' }),
      call('execute_query', { sql: 'select * from none' }),
      call('list_columns', { table: 'city' }),
    ],
  },
  git: {
    command: program('mcp-server-git', '--repository', repository),
    requests: [
      call('git_status', { repo_path: repository }),
      call('git_log', { repo_path: repository }),
      call('git_show', { repo_path: repository, revision: 'no-such' }),
    ],
  },
  time: {
    command: program('mcp-server-time', '--local-timezone', 'UTC'),
    requests: [
      call('convert_time', { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' }),
      call('convert_time', { source_timezone: 'UTC', time: 'noon', target_timezone: 'Asia/Tokyo' }),
    ],
  },
  fetch: {
    command: program('mcp-server-fetch', '--ignore-robots-txt'),
    requests: [call('fetch', { url: page }), call('fetch', { url: page, raw: true, max_length: 10 })],
  },
  sqlite: {
    command: program('database-mcp-sqlite', '--dsn', database),
    requests: [
      call('execute_sql', { sql: 'select * from city' }),
      call('execute_sql', { sql: 'drop table city' }),
      call('search_objects', {}),
      call('search_objects', { table: 'city' }),
    ],
  },
  playwright: {
    command: script('@playwright/mcp/cli.js', '--headless', '--isolated', '--no-sandbox', '--executable-path', chromium(), '--output-dir', join(world, 'playwright')),
    requests: [
      varying(call('browser_navigate', { url: page })),
      call('browser_evaluate', { function: '() => 6 * 7' }),
      call('browser_evaluate', { function: '() => document.body.innerText' }),
      call('browser_tabs', { action: 'list' }),
      call('browser_click', { element: 'none', target: 'e999' }),
    ],
  },
  chrome: {
    command: script('chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js', '--headless', '--isolated', '--executablePath', chromium(), '--chromeArg=--no-sandbox', '--no-usage-statistics'),
    requests: [
      call('new_page', { url: page }),
      call('list_pages', {}),
      call('evaluate_script', { pageId: 2, function: '() => document.body.innerText' }),
      call('evaluate_script', { pageId: 99, function: '() => 1' }),
    ],
  },
};

const LISTS = [
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
];

let passed = 0;
const faults = [];

async function check(name, work) {
  try {
    await work();
    passed += 1;
    console.log(`ok      ${name}`);
  } catch (error) {
    faults.push(name);
    console.log(`FAILED  ${name}\n        ${String(error?.stack ?? error).slice(0, 3000).replaceAll('\n', '\n        ')}`);
  }
}

/** An answer without the members of one era, and without the time that it took. */
function plain(reply) {
  const { resultType, ttlMs, cacheScope, _meta, ...rest } = reply.result ?? {};
  return reply.error ? { error: reply.error.message } : rest;
}

/** The part of an answer that is compared. */
function compared(reply, varies) {
  return varies ? { failed: reply.error !== undefined || reply.result.isError === true } : plain(reply);
}

/** The lists and answers of one server in a session. */
async function shown(client, { requests }) {
  const begun = await client.begin();
  const lists = {};
  for (const [method, key] of LISTS) lists[key] = await client.list(method, key);
  const answers = [];
  for (const [method, params, varies] of requests) answers.push(compared(await client.request(method, params), varies));
  for (const { uri } of lists.resources.slice(0, 3)) answers.push(plain(await client.request('resources/read', { uri })));
  return { begun, lists, answers };
}

/** A home with a configuration of these servers. */
function home(name, servers) {
  const path = join(world, `home-${name}`);
  mkdirSync(path);
  const text = (value) => JSON.stringify(value);
  const sections = servers.map((server) => {
    const { command, env = {} } = SERVERS[server];
    const [first, ...args] = command;
    const variables = Object.entries({ PATH: process.env.PATH, ...env }).map(([key, value]) => `${key} = ${text(value)}`);
    return `[upstreams.${server}]\ncommand = ${text(first)}\nargs = ${text(args)}\n[upstreams.${server}.env]\n${variables.join('\n')}\n`;
  });
  writeFileSync(join(path, 'portcullis.toml'), `[host]\nbundled = false\n${sections.join('')}`);
  return path;
}

function wrapped(path, era) {
  const env = { HOME: path, XDG_CACHE_HOME: '', XDG_CONFIG_HOME: '', XDG_DATA_HOME: '', XDG_STATE_HOME: '' };
  // Without `all`, Portcullis would offer long lists by search.
  const command = [binary, '--config', join(path, 'portcullis.toml'), 'serve', '--tools', 'all'];
  return new Client(command, { era, env, roots: [`file://${folder}`] });
}

async function session(client, work) {
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function compare(name, server) {
  const { command, env } = SERVERS[server];
  const roots = [`file://${folder}`];
  const direct = await session(new Client(command, { era: 'legacy', env, roots }), (one) => shown(one, SERVERS[server]));
  const path = home(server, [server]);
  for (const [round, era] of [['cold', 'legacy'], ['warm', 'legacy'], ['warm', 'modern']]) {
    const label = `${name}, ${round}, ${era}`;
    let seen;
    await check(`${label}: a session`, async () => {
      seen = await session(wrapped(path, era), (one) => shown(one, SERVERS[server]));
    });
    if (!seen) continue;
    await check(`${label}: instructions`, async () => assert.equal(seen.begun.instructions, direct.begun.instructions));
    await check(`${label}: capabilities`, async () => {
      const ours = Object.keys(seen.begun.capabilities);
      const missing = Object.keys(direct.begun.capabilities).filter((key) => !ours.includes(key) && !(key in ABSENT));
      assert.deepEqual(missing, []);
    });
    for (const [, key] of LISTS) {
      await check(`${label}: ${key} (${direct.lists[key].length})`, async () => assert.deepEqual(seen.lists[key], direct.lists[key]));
    }
    for (const [at, answer] of direct.answers.entries()) {
      const what = SERVERS[server].requests[at]?.[1].name ?? 'a resource';
      await check(`${label}: ${what}`, async () => assert.deepEqual(seen.answers[at], answer));
    }
  }
  return direct;
}

/** Capabilities that Portcullis does not pass on, and why. */
const ABSENT = { tasks: 'tasks of 2025-11-25 are not those of 2026-07-28' };

/** Compares the errors of one server behind `wrap`: those for unknown tools and wrong arguments are the server's own. */
async function inOwnWords(server, { lists }) {
  const { command, env = {} } = SERVERS[server];
  const strict = lists.tools.find(({ inputSchema }) => Object.values(inputSchema.properties ?? {}).some(({ default: one }) => one === undefined)
    && inputSchema.required?.length > 0 && inputSchema.required.every((name) => inputSchema.properties[name]?.default === undefined));
  const wrong = [call('no-such-tool', {}), ...(strict ? [call(strict.name, {})] : [])];
  const answers = async (client) => {
    await client.begin();
    await client.list('tools/list', 'tools');
    const all = [];
    for (const [method, params] of wrong) all.push(plain(await client.request(method, params)));
    return all;
  };
  const own = { ...env, HOME: join(world, `wrapped-${server}`), XDG_CACHE_HOME: '', XDG_CONFIG_HOME: '', XDG_DATA_HOME: '', XDG_STATE_HOME: '' };
  mkdirSync(own.HOME);
  const names = ['PATH', ...Object.keys(env)].flatMap((name) => ['--env', name]);
  const direct = await session(new Client(command, { era: 'legacy', env }), answers);
  for (const era of ['legacy', 'modern']) {
    await check(`${server} behind wrap, ${era}: ${wrong.length} wrong calls`, async () => {
      const through = new Client([binary, 'wrap', ...names, '--', ...command], { era, env: own });
      assert.deepEqual(await session(through, answers), direct);
    });
  }
}

/** Checks all servers behind one host: each tool is listed, and each request has the answer of its server. */
async function together(servers, direct) {
  const path = home('all', servers);
  for (const [round, era] of [['cold', 'legacy'], ['warm', 'legacy'], ['warm', 'modern']]) {
    await check(`all at once, ${round}, ${era}`, () => session(wrapped(path, era), async (client) => {
      await client.begin();
      const tools = (await client.list('tools/list', 'tools')).map(({ name }) => name);
      for (const server of servers) {
        for (const { name } of direct[server].lists.tools) {
          assert.ok(tools.includes(name) || tools.includes(`${server}_${name}`), `${name} of ${server}`);
        }
      }
      await Promise.all(servers.map(async (server) => {
        for (const [at, [method, params, varies]] of SERVERS[server].requests.entries()) {
          const answer = compared(await client.request(method, params), varies);
          assert.deepEqual(answer, direct[server].answers[at], `${server}: ${params.name}`);
        }
      }));
    }));
  }
}

try {
  const servers = Object.keys(SERVERS).filter((name) => process.env.ONLY === undefined || process.env.ONLY.split(',').includes(name));
  for (const name of servers) {
    const file = SERVERS[name].command.find((part) => part.startsWith(here));
    if (!existsSync(file)) throw new Error(`${file} is not installed`);
  }
  const direct = {};
  for (const name of servers) {
    direct[name] = await compare(name, name);
    await inOwnWords(name, direct[name]);
  }
  await together(servers, direct);
} finally {
  pages.close();
  rmSync(world, { recursive: true, force: true });
}
console.log(`${passed} passed, ${faults.length} failed`);
process.exitCode = faults.length > 0 || passed === 0 ? 1 : 0;
