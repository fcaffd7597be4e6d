// The built binary in a new home, with one project.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const repository = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** The binary: the first argument, or $PORTCULLIS_BINARY, or the output of `cargo build`. */
export function binary() {
  const target = process.env.CARGO_TARGET_DIR ?? join(repository, 'target');
  const path = resolve(process.argv[2] ?? process.env.PORTCULLIS_BINARY ?? join(target, 'debug', 'portcullis'));
  if (!existsSync(path)) throw new Error(`${path} is not there: build it first with \`cargo build\``);
  return path;
}

/** A temporary folder with a home, a project, and files beside the project. It is removed when the process ends. */
export function world() {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-clients-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, 'home');
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_DATA_HOME: join(home, 'data'),
    XDG_STATE_HOME: join(home, 'state'),
    XDG_CACHE_HOME: join(home, 'cache'),
  };
  const write = (name, content) => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  mkdirSync(home);
  return {
    folder,
    env,
    project: join(folder, 'project'),
    valid: write('project/webapp/manifest.json', manifest('application')),
    invalid: write('project/broken/manifest.json', manifest('aplication')),
    outside: write('elsewhere/manifest.json', manifest('application')),
  };
}

function manifest(type) {
  return {
    _version: '1.81.0',
    'sap.app': {
      id: 'clients.app',
      type,
      title: 'An app',
      applicationVersion: { version: '1.0.0' },
    },
    'sap.ui': {
      technology: 'UI5',
      deviceTypes: { desktop: true, tablet: true, phone: true },
    },
    'sap.ui5': {
      dependencies: { minUI5Version: '1.136.0', libs: { 'sap.ui.core': {} } },
      contentDensities: { compact: true, cozy: true },
    },
  };
}

/** The command with which a client starts the server over stdio. */
export function stdio(world, args) {
  return { command: binary(), args: ['serve', ...args], env: world.env };
}

const children = new Set();
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

/** Starts the server over HTTP on a free port. */
export async function http(world, args) {
  const child = spawn(binary(), ['serve', '--http', '127.0.0.1:0', ...args], {
    env: world.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  children.add(child);
  const said = [];
  const url = await new Promise((found, failed) => {
    const lines = createInterface({ input: child.stderr });
    lines.on('line', (line) => {
      said.push(line);
      const url = line.match(/http:\/\/127\.0\.0\.1:\d+\/mcp/);
      if (url) found(url[0]);
    });
    child.on('error', failed);
    child.on('exit', (code) => failed(new Error(`the server ended with ${code}: ${said.join('\n')}`)));
    setTimeout(() => failed(new Error(`the server does not say where it is: ${said.join('\n')}`)), 30_000).unref();
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await Promise.race([
      once(child, 'exit'),
      new Promise((_, failed) => {
        setTimeout(() => failed(new Error('the server does not end on SIGTERM')), 6_000).unref();
      }),
    ]).catch((error) => {
      child.kill('SIGKILL');
      throw error;
    });
  };
  return { url, stop };
}
