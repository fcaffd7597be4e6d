// The world of the compared servers: folders, a git repository, databases and services on this machine.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startServices } from './stand-ins.mjs';

/** How long a database may take to start. */
const START_TIME = 60_000;

/** A port that nothing listens at. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function makeRepository(path) {
  mkdirSync(path);
  const git = (...args) => execFileSync('git', ['-C', path, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args]);
  git('init', '--quiet', '--initial-branch=main');
  writeFileSync(join(path, 'a.txt'), 'one\n');
  git('add', 'a.txt');
  git('commit', '--quiet', '--message=first');
  writeFileSync(join(path, 'b.txt'), 'two\n');
}

/**
 * Starts a server that speaks MongoDB's protocol and keeps its data in SQLite (`nx-27017`), and writes some documents into it. MongoDB itself is in no
 * package registry. Returns its port and a function that ends it.
 */
async function startDocuments(programs, folder) {
  const port = await freePort();
  const paths = ['--log-file', join(folder, 'log'), '--pid-file', join(folder, 'pid')];
  const child = spawn(join(programs, 'nx-27017'), ['--db', 'memory', '--port', `${port}`, ...paths], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data) => { said += data; });
  const ended = new Promise((resolve) => child.on('close', resolve));
  try {
    execFileSync(join(programs, 'python'), ['-c', `
import pymongo
client = pymongo.MongoClient("mongodb://127.0.0.1:${port}", serverSelectionTimeoutMS=${START_TIME})
client.shop.city.insert_many([{"_id": 1, "name": "Köln", "people": 1080000}, {"_id": 2, "name": "Paris"}])
# The server makes this collection when it is first asked.
client.shop.test.insert_one({"_id": 1})
`]);
  } catch (error) {
    child.kill();
    throw new Error(`the server of documents cannot be used: ${error.message} ${said}`);
  }
  return { port, end: async () => { child.kill(); await ended; } };
}

function makeDatabase(programs, path) {
  execFileSync(join(programs, 'python'), ['-c', `
import sqlite3
with sqlite3.connect(${JSON.stringify(path)}) as database:
    database.execute('create table city (id integer primary key, name text)')
    database.execute("insert into city (name) values ('Paris'), ('Köln')")
`]);
}

/** Makes the world. `programs`: the folder of the Python programs. */
export async function makeWorld(programs) {
  const path = mkdtempSync(join(tmpdir(), 'portcullis-servers-'));
  const at = (name) => join(path, name);
  const ends = [];
  const end = async () => {
    for (const one of ends.reverse()) await one();
    rmSync(path, { recursive: true, force: true });
  };
  try {
    for (const folder of ['folder', 'mongodb', 'mongodb-home']) mkdirSync(at(folder));
    writeFileSync(at('folder/a.txt'), 'one\ntwo\n');
    writeFileSync(at('folder/dot.png'), Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64'));
    makeRepository(at('repository'));
    makeDatabase(programs, at('cities.db'));
    const services = await startServices();
    ends.push(services.end);
    const documents = await startDocuments(programs, at('mongodb'));
    ends.push(documents.end);
    return { at, end, services: services.address, documents: `mongodb://127.0.0.1:${documents.port}/shop` };
  } catch (error) {
    await end();
    throw error;
  }
}
