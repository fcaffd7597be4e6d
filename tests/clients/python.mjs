// The Python SDK, version 2, in a process of its own: both eras of MCP.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const python = join(here, '.venv/bin/python');

export const modes = { legacy: '2025-11-25', auto: '2026-07-28', '2026-07-28': '2026-07-28' };

export const connect = (mode) => async ({ start, url, sse, roots }) => {
  if (!existsSync(python)) throw new Error(`${python} is missing: \`just clients\` makes it`);
  const target = sse ? { sse } : url ? { url } : start;
  const args = [join(here, 'client.py'), mode, JSON.stringify(target)];
  if (roots) args.push(JSON.stringify(roots));
  const child = spawn(python, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data) => { said += data; });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the client ended: ${said}`);
    return JSON.parse(value);
  };
  const ask = async (order) => {
    child.stdin.write(`${JSON.stringify(order)}\n`);
    const { result, error } = await next();
    if (error) throw Object.assign(new Error(error.message), { code: error.code });
    return result;
  };
  await next();
  const { version } = await ask({ op: 'server' });
  if (version !== modes[mode]) throw new Error(`${version} is spoken instead of ${modes[mode]}`);
  return {
    // A client with a fixed revision does not send `server/discover` first.
    doesNotAsk: mode === '2026-07-28',
    server: async () => (await ask({ op: 'server' })).info,
    tools: async () => (await ask({ op: 'tools' })).tools,
    call: (name, args) => ask({ op: 'call', name, args }),
    read: async (uri) => (await ask({ op: 'read', uri })).contents,
    close: async () => {
      const ended = once(child, 'exit');
      child.stdin.end();
      const [code] = await ended;
      if (code !== 0) throw new Error(`the client ended with ${code}: ${said}`);
    },
  };
};
