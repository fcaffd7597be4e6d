// The Inspector's command-line mode: a new process, and so a new session, for each request.
//
// It lists the tools before it calls one, so it never calls a tool that does not exist.

import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
const launcher = join(modules, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');

/** The Inspector needs a newer Node than many systems have. One of the packages contains it. */
function node() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return process.execPath;
  const packaged = join(modules, `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (existsSync(packaged)) return packaged;
  throw new Error('the Inspector needs Node 22.19 or newer, and `npm ci` brought none for this system');
}

export const connect = (era, world) => async ({ start, url, roots }) => {
  const target = url ? { type: 'streamable-http', url } : start;
  const config = join(world.folder, `inspector-${process.hrtime.bigint()}.json`);
  const server = { ...target, protocolEra: era, ...(roots ? { roots } : {}) };
  writeFileSync(config, JSON.stringify({ mcpServers: { portcullis: server } }));
  const run = (args) =>
    new Promise((done) => {
      const all = [launcher, '--cli', '--config', config, '--server', 'portcullis', ...args, '--format', 'json'];
      const options = {
        env: { ...world.env, MCP_INSPECTOR_SECRET_STORE: 'memory' },
        timeout: 30_000,
        maxBuffer: 16 * 1024 * 1024,
      };
      execFile(node(), all, options, (error, stdout, stderr) => done({ code: error?.code ?? 0, stdout, stderr }));
    });
  const answer = ({ code, stdout, stderr }) => {
    // With exit code 5 the tool has failed, and there is an answer.
    if (!stdout) throw new Error(`exit code ${code}: ${stderr}`);
    return JSON.parse(stdout).result;
  };
  return {
    tools: async () => answer(await run(['--method', 'tools/list'])).tools,
    call: async (name, args) => {
      const json = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
      const pairs = Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${json(value)}`]);
      return answer(await run(['--method', 'tools/call', '--tool-name', name, ...pairs]));
    },
    read: async (uri) => answer(await run(['--method', 'resources/read', '--uri', uri])).contents,
    close: async () => {},
  };
};
