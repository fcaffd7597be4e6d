// Compares servers by others with the same servers behind the built binary: `npm ci && npm test [-- BINARY]`. The Python
// programs are those of `requirements.txt` in `.venv`. Servers that control a browser need Chromium: `CHROMIUM`, or
// `chromium` on the path. `ONLY=git,time` compares these servers only.
//
// Each server is called directly, and through Portcullis: alone and together with the others, cold (the host does not
// know the server yet) and warm, by clients of both eras. Lists have to be equal item by item, and answers, questions to the client and progress
// field by field. A request that a server answers otherwise in the era of 2026 is made by clients of the other only. Behind `wrap`, the answers to unknown tools and wrong arguments have to be those of the server. Prints a line
// for each comparison.

import { strict as assert } from 'node:assert';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Client } from './client.mjs';
import { SERVERS, here, programs } from './servers.mjs';
import { makeWorld } from './world.mjs';

const binary = process.argv[2] ?? process.env.PORTCULLIS ?? join(here, '../../target/debug/portcullis');

const LISTS = [
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
];

/** The sessions with Portcullis. */
const ROUNDS = [['cold', 'legacy'], ['warm', 'legacy'], ['warm', 'modern'], ['cold', 'modern']];

/** How long all servers together may take to be listed. */
const LIST_TIME = 180_000;

/** Capabilities that Portcullis does not pass on, and why. */
const ABSENT = { tasks: 'Portcullis waits for the tasks of 2025-11-25 itself, so clients need none' };

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

/** An answer without the members of one era. */
function plain(reply) {
  const { resultType, ttlMs, cacheScope, _meta, ...rest } = reply.result ?? {};
  return reply.error ? { error: reply.error.message } : rest;
}

/** A value in which a function has changed each text. */
function changed(value, change) {
  return change ? JSON.parse(JSON.stringify(value), (_, one) => (typeof one === 'string' ? change(one) : one)) : value;
}

/** A list of tools as Portcullis shows it: no tool demands a task. */
function withoutTasks(tools) {
  return tools.map((tool) => {
    if (tool.execution?.taskSupport !== 'required') return tool;
    const { taskSupport, ...execution } = tool.execution;
    const { execution: _, ...rest } = tool;
    return Object.keys(execution).length > 0 ? { ...rest, execution } : rest;
  });
}

/** The reply to a request. A task is created and waited for if the server is called directly. */
async function replyTo(client, { method, params, task }, isDirect) {
  if (!task || !isDirect) return client.request(method, params);
  const created = await client.request(method, { ...params, task: {} });
  return client.request('tasks/result', { taskId: created.result.task.taskId });
}

/** What a client gets for a request: the answer, the server's questions and the progress. */
async function exchange(client, one, normalize, isDirect) {
  const [questions, notifications] = [client.questions.length, client.notifications.length];
  const reply = await replyTo(client, one, isDirect);
  if (one.varies) return { failed: reply.error !== undefined || reply.result.isError === true };
  const progress = client.notifications.slice(notifications).filter(({ method }) => method === 'notifications/progress');
  const asked = client.questions.slice(questions).filter(({ method }) => method !== 'roots/list');
  return changed({
    answer: plain(reply),
    questions: asked.map(({ method, params: { _meta, ...params } }) => ({ method, params })),
    // A task has a status instead of progress.
    progress: one.task ? [] : progress.map(({ params }) => params),
  }, normalize);
}

/** Whether this client makes the request. */
const isMade = ({ era }, client) => era === undefined || era === client.era;

/** The lists and answers of one server in a session. `undefined`: a request that the client does not make. */
async function shown(client, { requests, normalize }, isDirect) {
  const begun = await client.begin();
  const lists = {};
  for (const [method, key] of LISTS) lists[key] = await client.list(method, key);
  if (isDirect) lists.tools = withoutTasks(lists.tools);
  const answers = [];
  for (const one of requests) answers.push(isMade(one, client) ? await exchange(client, one, normalize, isDirect) : undefined);
  for (const { uri } of lists.resources.slice(0, 3)) answers.push(plain(await client.request('resources/read', { uri })));
  return { begun, lists, answers };
}

async function session(client, work) {
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Compares the servers in this world. */
class Comparison {
  constructor(world, names) {
    this.world = world;
    this.roots = [`file://${world.at('folder')}`];
    this.servers = Object.fromEntries(names.map((name) => [name, SERVERS[name](world)]));
    this.direct = {};
  }

  /** A home with a configuration of these servers. */
  home(name, servers) {
    const path = this.world.at(`home-${name}`);
    mkdirSync(path);
    const text = (value) => JSON.stringify(value);
    const sections = servers.map((server) => {
      const { command, env = {} } = this.servers[server];
      const [first, ...args] = command;
      const variables = Object.entries({ PATH: process.env.PATH, ...env }).map(([key, value]) => `${key} = ${text(value)}`);
      return `[upstreams.${server}]\ncommand = ${text(first)}\nargs = ${text(args)}\n[upstreams.${server}.env]\n${variables.join('\n')}\n`;
    });
    writeFileSync(join(path, 'portcullis.toml'), `[host]\nbundled = false\n${sections.join('')}`);
    return path;
  }

  through(path, era) {
    const env = { HOME: path, XDG_CACHE_HOME: '', XDG_CONFIG_HOME: '', XDG_DATA_HOME: '', XDG_STATE_HOME: '' };
    // Without `all`, Portcullis would offer long lists by search.
    const command = [binary, '--config', join(path, 'portcullis.toml'), 'serve', '--tools', 'all'];
    return new Client(command, { era, env, roots: this.roots });
  }

  /** A home for each cold session; warm sessions use the one of the session before. */
  homes(name, servers) {
    let path;
    return (round, era) => {
      if (round === 'cold') path = this.home(`${name}-${era}`, servers);
      return path;
    };
  }

  async alone(name) {
    const server = this.servers[name];
    const { command, env } = server;
    const direct = await session(new Client(command, { era: 'legacy', env, roots: this.roots }), (one) => shown(one, server, true));
    this.direct[name] = direct;
    const homeOf = this.homes(name, [name]);
    for (const [round, era] of ROUNDS) {
      const label = `${name}, ${round}, ${era}`;
      let seen;
      await check(`${label}: a session`, async () => {
        seen = await session(this.through(homeOf(round, era), era), (one) => shown(one, server, false));
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
        if (seen.answers[at] === undefined) continue;
        const what = server.requests[at] ? server.requests[at].params.name ?? server.requests[at].method : 'a resource';
        await check(`${label}: ${what}`, async () => assert.deepEqual(seen.answers[at], answer));
      }
    }
  }

  /** Compares the errors of one server behind `wrap`: those for unknown tools and wrong arguments are the server's own. */
  async inOwnWords(name) {
    const { command, env = {} } = this.servers[name];
    const { lists } = this.direct[name];
    const strict = lists.tools.find(({ inputSchema }) => Object.values(inputSchema.properties ?? {}).some(({ default: one }) => one === undefined)
      && inputSchema.required?.length > 0 && inputSchema.required.every((argument) => inputSchema.properties[argument]?.default === undefined));
    const call = (tool, args) => ({ name: tool, arguments: args });
    const wrong = [call('no-such-tool', {}), ...(strict ? [call(strict.name, {})] : [])];
    const answers = async (client) => {
      await client.begin();
      await client.list('tools/list', 'tools');
      const all = [];
      for (const params of wrong) all.push(plain(await client.request('tools/call', params)));
      return all;
    };
    const own = { ...env, HOME: this.world.at(`wrapped-${name}`), XDG_CACHE_HOME: '', XDG_CONFIG_HOME: '', XDG_DATA_HOME: '', XDG_STATE_HOME: '' };
    mkdirSync(own.HOME);
    const names = ['PATH', ...Object.keys(env)].flatMap((one) => ['--env', one]);
    const direct = await session(new Client(command, { era: 'legacy', env }), answers);
    for (const era of ['legacy', 'modern']) {
      await check(`${name} behind wrap, ${era}: ${wrong.length} wrong calls`, async () => {
        const through = new Client([binary, 'wrap', ...names, '--', ...command], { era, env: own });
        assert.deepEqual(await session(through, answers), direct);
      });
    }
  }

  /** Checks all servers behind one host: each tool is listed, and each request has the answer of its server. */
  async together() {
    const names = Object.keys(this.servers);
    const homeOf = this.homes('all', names);
    for (const [round, era] of ROUNDS) {
      await check(`all at once, ${round}, ${era}`, () => session(this.through(homeOf(round, era), era), async (client) => {
        await client.begin();
        const begun = Date.now();
        let missing;
        do {
          missing = this.missing(await client.list('tools/list', 'tools'));
        } while (missing.length > 0 && Date.now() - begun < LIST_TIME);
        assert.deepEqual(missing, []);
        await Promise.all(names.map((server) => this.answersOf(client, server)));
      }));
    }
  }

  /** The tools that a list lacks. A first list waits 45 seconds for the servers, and fourteen may need longer on a busy machine. */
  missing(tools) {
    const names = new Set(tools.map(({ name }) => name));
    const all = Object.keys(this.servers).flatMap((server) => this.direct[server].lists.tools.map(({ name }) => [server, name]));
    return all.filter(([server, name]) => !names.has(name) && !names.has(`${server}_${name}`));
  }

  /** Compares the answers of one server while others are asked, too. Whose question or progress is whose cannot be told then. */
  async answersOf(client, name) {
    const { requests, normalize } = this.servers[name];
    for (const [at, one] of requests.entries()) {
      if (!isMade(one, client)) continue;
      const { answer, failed } = await exchange(client, one, normalize, false);
      const expected = this.direct[name].answers[at];
      assert.deepEqual({ answer, failed }, { answer: expected.answer, failed: expected.failed }, `${name}: ${one.params.name}`);
    }
  }
}

const names = Object.keys(SERVERS).filter((name) => process.env.ONLY === undefined || process.env.ONLY.split(',').includes(name));
const world = await makeWorld(programs);
try {
  const comparison = new Comparison(world, names);
  for (const [name, { command }] of Object.entries(comparison.servers)) {
    const file = command.find((part) => part.startsWith(here));
    if (!existsSync(file)) throw new Error(`${file}, the program of ${name}, is not installed`);
  }
  for (const name of names) {
    await comparison.alone(name);
    await comparison.inOwnWords(name);
  }
  await comparison.together();
} finally {
  await world.end();
}
console.log(`${passed} passed, ${faults.length} failed`);
process.exitCode = faults.length > 0 || passed === 0 ? 1 : 0;
