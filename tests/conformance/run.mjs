// Runs MCP's conformance suite against the built binary: `npm ci && npm test`.
//
// `PORTCULLIS` is the binary, `CONFORMANCE_PLUGIN` the guest with the suite's fixtures
// (`tests/guests/conformance`). Every scenario of both requirement sets has to pass, including those
// that the suite does not score. `CONFORMANCE_CLIENT` is the client of upstream servers
// (`host/mcp-client/examples/conformance-client.rs`). Every scenario for clients has to pass with it,
// including those about getting tokens and about servers of 2025-03-26, except those for extensions that
// it lacks (`ABSENT`). A scenario that the suite skips has failed. With arguments, only the scenarios for
// clients whose names begin with one of them are run.

import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const REQUIREMENTS = ['2025-11-25', '2026-07-28'];
const RUN_TIME = 5 * 60_000;

/** Scenarios of extensions that Portcullis lacks: ways to get a token that MCP does not require of all clients, and skills. */
const ABSENT = {
  'auth/dpop': 'tokens that are bound to a key (RFC 9449) are not asked for',
  'auth/dpop-nonce': 'the same',
  'auth/enterprise-managed-authorization': 'an identity provider of a company is not asked for assertions',
  'auth/wif-jwt-bearer': 'assertions of a workload (RFC 7523) are not exchanged for tokens',
  'sep-2640-client-no-prefetch': 'skills of other servers are not fetched at all',
  'sep-2640-client-verify-digest': 'the same',
  'sep-2640-client-verify-size': 'the same',
  'sep-2640-client-verify-frontmatter': 'the same',
};

/** Scenarios for servers, of extensions that Portcullis lacks. They are in no requirement set. */
const ABSENT_OF_SERVER = {
  'sep-2640-skills-directory': 'plugins and servers offer no skills',
  'sep-2640-skills-enumeration': 'the same',
  'sep-2640-skills-manifest': 'the same',
};

/** Scenarios in which the suite does not check anything yet. They count as not run. */
const UNCHECKED = {
  'server-tasks-status-notifications': 'the suite has to rewrite it for subscriptions/listen',
};

/** The word that the suite lists instead of revisions for a scenario of an extension. */
const EXTENSION = 'extension';

const require = createRequire(import.meta.url);
const suite = join(dirname(require.resolve('@modelcontextprotocol/conformance/package.json')), 'dist/index.js');

/** Node 22 or later, which the suite needs: this Node, or the one of an npm package if this one is older. */
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

/** Starts a server in this home. Returns the URL at which it listens. */
async function serve(home) {
  const plugins = join(home, 'plugins');
  mkdirSync(plugins);
  copyFileSync(needed('CONFORMANCE_PLUGIN'), join(plugins, 'conformance.wasm'));
  const config = join(home, 'portcullis.toml');
  const place = (name) => JSON.stringify(join(home, name));
  writeFileSync(config, `[host]
bundled = false
plugin-dirs = [${place('plugins')}]
audit-dir = ${place('audit')}
cache-dir = ${place('cache')}
store-dir = ${place('store')}
lock-file = ${place('portcullis.lock')}

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
      // Matches the whole line, since it may arrive in pieces.
      const found = /serving MCP at (\S+)\n/.exec(said);
      if (found) resolve(found[1]);
    });
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  });
  return { child, url };
}

/** Runs the suite with these arguments. Returns its exit code and its output. */
async function start(args) {
  const child = spawn(node(), [suite, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (data) => { said += data; });
  const timer = setTimeout(() => child.kill('SIGKILL'), RUN_TIME);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  return { code, said };
}

/** Runs one requirement set. Returns the number of passed checks, and the failed ones. */
async function run(url, requirements, out) {
  const { code } = await start(['server', '--url', url, '--requirements', requirements, '-o', out]);
  return { code, ...read(out) };
}

/** The scenarios of one side, `client` or `server`, each with the revisions that the suite lists for it. */
async function scenarios(side) {
  const { said } = await start(['list', `--${side}`]);
  const listed = [...said.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm)];
  if (listed.length === 0) throw new Error(`the suite lists no scenario of a ${side}: ${said}`);
  return listed.map(([, name, versions]) => ({ name, versions: versions.split(',') }));
}

/** Why scenarios of servers were not run: the suite skipped them, or no requirement set has them and `ABSENT_OF_SERVER` does not name them. */
async function notRun(ran) {
  const names = (await scenarios('server')).map(({ name }) => name);
  const gone = Object.keys(ABSENT_OF_SERVER).filter((name) => !names.includes(name));
  if (gone.length > 0) throw new Error(`the suite has no scenario ${gone.join(', ')}: remove it from ABSENT_OF_SERVER`);
  // The folder of a scenario's results is named after the scenario and the time.
  const missing = names.filter((name) => !(name in ABSENT_OF_SERVER) && !ran.some((one) => one.startsWith(`server-${name}-2`)));
  return missing.map((name) => `${name}: the suite did not run it`);
}

/** The scenarios of a client that have to pass. */
async function clientScenarios() {
  const all = await scenarios('client');
  const gone = Object.keys(ABSENT).filter((name) => !all.some((one) => one.name === name));
  if (gone.length > 0) throw new Error(`the suite has no scenario ${gone.join(', ')}: remove it from ABSENT`);
  const wanted = (name) => only.length === 0 || only.some((one) => name.startsWith(one));
  return all.filter(({ name }) => wanted(name) && !(name in ABSENT));
}

/** The options that select the revision for a scenario in the run of `version`; undefined if it is not in this run. A scenario that is only for older revisions is in the first run. */
function revisionOption(versions, version) {
  if (versions.includes(version)) return ['--spec-version', version];
  if (version !== REQUIREMENTS[0] || REQUIREMENTS.some((one) => versions.includes(one))) return undefined;
  // With a revision, the suite would skip an extension and end with exit code 0.
  return versions.includes(EXTENSION) ? [] : ['--spec-version', versions.at(-1)];
}

/** Runs the scenarios of a client in one revision. */
async function runClient(version, out) {
  const command = needed('CONFORMANCE_CLIENT');
  const whole = { code: 0, scenarios: 0, passed: 0, failed: [] };
  for (const { name, versions } of await clientScenarios()) {
    const revision = revisionOption(versions, version);
    if (!revision) continue;
    const own = join(out, name.replaceAll('/', '_'));
    const ended = await start(['client', '--command', command, '--scenario', name, ...revision, '-o', own]);
    if (ended.code !== 0) console.log(`  ${name} ended with ${ended.code}`);
    const { scenarios, passed, failed } = read(own);
    whole.code ||= ended.code;
    whole.scenarios += scenarios;
    whole.passed += passed;
    whole.failed.push(...failed);
    if (scenarios === 0) whole.failed.push(`${name}: the suite skipped it: ${ended.said.trim().split('\n').at(-1)}`);
  }
  return whole;
}

/** Reads the results that the suite has written. A scenario without checks has failed. */
function read(out) {
  // The name of a scenario may contain a slash, and is then a folder in a folder.
  const files = existsSync(out) ? readdirSync(out, { recursive: true }).filter((name) => name.endsWith('checks.json')) : [];
  const ran = files.map(dirname);
  const failed = [];
  let passed = 0;
  for (const scenario of ran) {
    const checks = JSON.parse(readFileSync(join(out, scenario, 'checks.json'), 'utf8'));
    const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
    const good = checks.filter(({ status }) => status === 'SUCCESS').length;
    passed += good;
    failed.push(...bad.map((check) => `${scenario}: ${check.id}: ${check.errorMessage ?? check.status}`));
    const isUnchecked = Object.keys(UNCHECKED).some((name) => scenario.startsWith(name));
    if (good === 0 && bad.length === 0 && !isUnchecked) failed.push(`${scenario}: nothing was checked: ${checks.map(({ status }) => status).join(', ')}`);
  }
  return { scenarios: ran.length, ran, passed, failed };
}

/** Prints the result of a run. Returns whether it is good. */
function tell(name, { code, scenarios, passed, failed }) {
  console.log(`${name}: ${scenarios} scenarios, ${passed} checks passed, ${failed.length} failed`);
  for (const one of failed) console.log(`  FAILED ${one}`);
  return code === 0 && failed.length === 0 && passed > 0;
}

const only = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), 'portcullis-conformance-'));
let bad = false;
try {
  if (only.length === 0) {
    const { child, url } = await serve(home);
    try {
      const ran = [];
      for (const requirements of REQUIREMENTS) {
        const result = await run(url, requirements, join(home, requirements));
        ran.push(...result.ran);
        bad = !tell(`server ${requirements}`, result) || bad;
      }
      for (const one of await notRun(ran)) {
        console.log(`  FAILED ${one}`);
        bad = true;
      }
    } finally {
      child.removeAllListeners('exit');
      child.kill();
    }
  }
  for (const version of REQUIREMENTS) {
    bad = !tell(`client ${version}`, await runClient(version, join(home, `client-${version}`))) || bad;
  }
  for (const [name, cause] of Object.entries({ ...ABSENT, ...ABSENT_OF_SERVER, ...UNCHECKED })) console.log(`not run: ${name}: ${cause}`);
} finally {
  rmSync(home, { recursive: true, force: true });
}
process.exitCode = bad ? 1 : 0;
