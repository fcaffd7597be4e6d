// An MCP client over stdio that shows the messages of the server unchanged. It supports both eras and uses no library.

import { spawn } from 'node:child_process';

const REPLY_TIME = 60_000;
const META = 'io.modelcontextprotocol/';
const CAPABILITIES = { elicitation: { form: {}, url: {} }, roots: { listChanged: true }, sampling: {} };

/** The answers to questions of servers. */
const ANSWERS = {
  'roots/list': (client) => ({ roots: client.roots.map((uri) => ({ uri })) }),
  'sampling/createMessage': () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } }),
  'elicitation/create': () => ({ action: 'decline' }),
};

/** A session with a server. `era` is `legacy` or `modern`. */
export class Client {
  constructor(command, { era, roots = [], env = {} }) {
    this.era = era;
    this.roots = roots;
    this.next = 1;
    this.waiting = new Map();
    this.notifications = [];
    this.questions = [];
    this.stderr = '';
    const [program, ...args] = command;
    this.child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    this.child.stderr.on('data', (data) => { this.stderr += data; });
    this.child.stdin.on('error', () => {});
    let rest = '';
    this.child.stdout.on('data', (data) => {
      const lines = (rest + data).split('\n');
      rest = lines.pop();
      for (const line of lines) if (line.trim()) this.receive(JSON.parse(line));
    });
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code) => {
        for (const { reject } of this.waiting.values()) reject(new Error(`it ended with ${code}: ${this.stderr}`));
        resolve(code);
      });
    });
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  receive(message) {
    if (message.method && message.id !== undefined) {
      const answer = ANSWERS[message.method];
      this.questions.push({ method: message.method, params: message.params });
      this.send(answer ? { id: message.id, result: answer(this) } : { id: message.id, error: { code: -32601, message: 'unknown' } });
    } else if (message.method) {
      this.notifications.push(message);
    } else {
      this.waiting.get(message.id)?.resolve(message);
      this.waiting.delete(message.id);
    }
  }

  /** The final answer to a request: `{ result }` or `{ error }`. Answers the server's questions on the way. */
  async request(method, params = {}) {
    let more = {};
    for (let round = 0; round < 10; round += 1) {
      const reply = await this.once(method, { ...params, ...more });
      if (reply.result?.resultType !== 'input_required') return reply;
      more = { requestState: reply.result.requestState, inputResponses: {} };
      for (const [key, question] of Object.entries(reply.result.inputRequests ?? {})) {
        this.questions.push({ method: question.method, params: question.params });
        more.inputResponses[key] = ANSWERS[question.method](this);
      }
    }
    throw new Error(`${method} asks without end`);
  }

  once(method, params) {
    const id = this.next++;
    const modern = {
      [`${META}protocolVersion`]: '2026-07-28',
      [`${META}clientCapabilities`]: CAPABILITIES,
      [`${META}clientInfo`]: { name: 'compare', version: '1' },
    };
    const _meta = { ...params._meta, ...(this.era === 'modern' ? modern : {}) };
    const sent = Object.keys(_meta).length > 0 ? { ...params, _meta } : params;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new Error(`${method} has no answer after ${REPLY_TIME / 1000} s: ${this.stderr}`));
      }, REPLY_TIME);
      const done = (settle) => (value) => { clearTimeout(timer); settle(value); };
      this.waiting.set(id, { resolve: done(resolve), reject: done(reject) });
      this.send({ id, method, params: sent });
    });
  }

  /** The answer to `initialize` or `server/discover`. */
  async begin() {
    if (this.era === 'modern') return (await this.request('server/discover')).result;
    const clientInfo = { name: 'compare', version: '1' };
    const reply = await this.request('initialize', { protocolVersion: '2025-11-25', capabilities: CAPABILITIES, clientInfo });
    this.send({ method: 'notifications/initialized' });
    return reply.result;
  }

  /** The items of all pages of a list. Empty if the server does not know the method. */
  async list(method, key) {
    const all = [];
    let cursor;
    do {
      const { result, error } = await this.request(method, cursor ? { cursor } : {});
      if (error) {
        if (error.code === -32601) return [];
        throw new Error(`${method}: ${error.message}`);
      }
      all.push(...result[key]);
      cursor = result.nextCursor;
    } while (cursor);
    return all;
  }

  async end() {
    this.child.stdin.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
    await this.ended;
    clearTimeout(timer);
  }
}
