// The conformance suite of MCP against the built binary: `npm ci && npm test`.
//
// `PORTCULLIS` is the binary, `CONFORMANCE_PLUGIN` the guest with the suite's fixtures
// (`tests/guests/conformance`). Every scenario of both requirement sets has to pass, those that the
// suite does not score as well.

import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const REQUIREMENTS = ['2025-11-25', '2026-07-28'];
const RUN_TIME = 5 * 60_000;

const require = createRequire(import.meta.url);
const suite = join(dirname(require.resolve('@modelcontextprotocol/conformance/package.json')), 'dist/index.js');

/** The suite needs Node 22 or later; where this is older, that of an npm package. */
function node() {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath;
  const name = `node-linux-${process.arch}`;
  const found = join(dirname(require.resolve(`${name}/package.json`)), 'bin/node');
  if (!existsSync(found)) throw new Error(`the suite needs Node 22 or later, and ${name} is not installed`);
  return found;
}

function needed(variable) {
  const path = process.env[variable];
  if (!path || !existsSync(path)) throw new Error(`${variable} has to name a file; it is ${path ?? 'not set'}`);
  return path;
}

/** A server in a home of its own, and where it listens. */
async function serve(home) {
  const plugins = join(home, 'plugins');
  mkdirSync(plugins);
  copyFileSync(needed('CONFORMANCE_PLUGIN'), join(plugins, 'conformance.wasm'));
  const config = join(home, 'portcullis.toml');
  const place = (name) => JSON.stringify(join(home, name));
  writeFileSync(config, `[host]
bundled = false
plugin-dirs = [${place('plugins')}]
audit-file = ${place('audit.jsonl')}
cache-dir = ${place('cache')}
store-dir = ${place('store')}

[plugins.conformance.grants.client]
features = ["elicitation", "sampling", "roots"]
`);
  const child = spawn(needed('PORTCULLIS'), ['--config', config, 'serve', '--http', '127.0.0.1:0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const url = await new Promise((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (data) => {
      said += data;
      // The whole line: it may come in pieces.
      const found = /serving MCP at (\S+)\n/.exec(said);
      if (found) resolve(found[1]);
    });
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  });
  return { child, url };
}

/** Runs one requirement set; answers how many checks passed and what failed. */
async function run(url, requirements, out) {
  const child = spawn(node(), [suite, 'server', '--url', url, '--requirements', requirements, '-o', out], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), RUN_TIME);
  const code = await new Promise((resolve) => child.on('exit', resolve));
  clearTimeout(timer);
  const scenarios = existsSync(out) ? readdirSync(out) : [];
  const failed = [];
  let passed = 0;
  for (const scenario of scenarios) {
    for (const check of JSON.parse(readFileSync(join(out, scenario, 'checks.json'), 'utf8'))) {
      if (check.status === 'SUCCESS') passed += 1;
      if (check.status === 'FAILURE' || check.status === 'WARNING') {
        failed.push(`${scenario}: ${check.id}: ${check.errorMessage ?? check.status}`);
      }
    }
  }
  return { code, scenarios: scenarios.length, passed, failed };
}

const home = mkdtempSync(join(tmpdir(), 'portcullis-conformance-'));
let bad = false;
try {
  const { child, url } = await serve(home);
  try {
    for (const requirements of REQUIREMENTS) {
      const { code, scenarios, passed, failed } = await run(url, requirements, join(home, requirements));
      console.log(`${requirements}: ${scenarios} scenarios, ${passed} checks passed, ${failed.length} failed`);
      for (const one of failed) console.log(`  FAILED ${one}`);
      bad ||= code !== 0 || failed.length > 0 || passed === 0;
    }
  } finally {
    child.removeAllListeners('exit');
    child.kill();
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
process.exitCode = bad ? 1 : 0;
