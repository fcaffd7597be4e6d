// The compared servers: their programs, and requests whose answers are always the same. No request needs an account or the internet.

import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = dirname(fileURLToPath(import.meta.url));

/** The folder of the Python programs. */
export const programs = join(here, '.venv/bin');

/** The path of Chromium. */
function chromium() {
  return process.env.CHROMIUM ?? execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
}

const script = (name, ...args) => [process.execPath, join(here, 'node_modules', name), ...args];
const program = (name, ...args) => [join(programs, name), ...args];
const official = (name, ...args) => script(`@modelcontextprotocol/server-${name}/dist/index.js`, ...args);
const request = (method, params, how = {}) => ({ method, params, ...how });
const call = (name, args, how) => request('tools/call', { name, arguments: args }, how);

/** A request whose answer contains times or random names. Only its success is compared. */
const varying = (one) => ({ ...one, varies: true });

/** A call that reports progress. */
const reporting = (one) => ({ ...one, params: { ...one.params, _meta: { progressToken: 'progress' } } });

/** A call of a tool that can be called only as a task. Portcullis waits for the task; without it, the client does. */
const asTask = (one) => ({ ...one, task: true });

/** A text of MongoDB's server without the random part of the names of its marks. */
const withoutRandomMarks = (text) => text.replaceAll(/untrusted-user-data-[0-9a-f-]{36}/g, 'untrusted-user-data');

const everything = () => ({
  command: official('everything'),
  requests: [
    call('echo', { message: 'پیام می\u200cرسد 👩\u200d💻' }),
    call('get-sum', { a: 0.1, b: 2 }),
    call('get-tiny-image', {}),
    call('get-annotated-message', { messageType: 'error', includeImage: true }),
    call('get-annotated-message', { messageType: 'success' }),
    call('get-structured-content', { location: 'New York' }),
    call('get-resource-links', { count: 3 }),
    call('get-resource-reference', { resourceType: 'Blob', resourceId: 2 }, { varies: true }),
    call('trigger-sampling-request', { prompt: 'hello', maxTokens: 17 }),
    call('trigger-elicitation-request', {}),
    reporting(call('trigger-long-running-operation', { duration: 0.3, steps: 3 })),
    asTask(call('simulate-research-query', { topic: 'python' })),
    asTask(call('simulate-research-query', { topic: 'python', ambiguous: true })),
    request('prompts/get', { name: 'simple-prompt' }),
    request('prompts/get', { name: 'args-prompt', arguments: { city: 'Paris' } }),
    request('prompts/get', { name: 'args-prompt', arguments: {} }),
    request('completion/complete', { ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument: { name: 'department', value: 'E' } }),
  ],
});

const filesystem = ({ at }) => ({
  command: official('filesystem', at('folder')),
  requests: [
    call('read_text_file', { path: at('folder/a.txt') }),
    call('read_text_file', { path: at('folder/a.txt'), head: 1 }),
    call('read_media_file', { path: at('folder/dot.png') }),
    call('read_multiple_files', { paths: [at('folder/a.txt'), at('folder/none.txt')] }),
    call('write_file', { path: at('folder/b.txt'), content: 'پیام' }),
    call('edit_file', { path: at('folder/b.txt'), edits: [{ oldText: 'پیام', newText: 'b' }], dryRun: true }),
    call('list_directory', { path: at('folder') }),
    call('directory_tree', { path: at('folder') }),
    call('search_files', { path: at('folder'), pattern: '*.txt' }),
    call('read_text_file', { path: '/etc/hostname' }),
    call('list_allowed_directories', {}),
  ],
});

const memory = ({ at }) => ({
  command: official('memory'),
  env: { MEMORY_FILE_PATH: at('memory.json') },
  requests: [
    call('read_graph', {}),
    call('search_nodes', { query: 'x' }),
    call('create_entities', { entities: [{ name: 'Köln', entityType: 'city', observations: ['on the Rhine'] }] }),
    call('open_nodes', { names: ['Köln'] }),
    call('add_observations', { observations: [{ entityName: 'none', contents: ['x'] }] }),
    call('delete_entities', { entityNames: ['Köln'] }),
  ],
});

const thinking = () => ({
  command: official('sequential-thinking'),
  requests: [
    call('sequentialthinking', { thought: 'a', nextThoughtNeeded: true, thoughtNumber: 1, totalThoughts: 2 }),
    call('sequentialthinking', { thought: 'b', nextThoughtNeeded: false, thoughtNumber: 2, totalThoughts: 2 }),
  ],
});

const context7 = ({ services }) => ({
  command: script('@upstash/context7-mcp/dist/index.js'),
  env: { CONTEXT7_API_URL: `${services}/api` },
  requests: [
    call('resolve-library-id', { query: 'routing', libraryName: 'express' }),
    call('resolve-library-id', { query: 'routing', libraryName: 'none' }),
    call('query-docs', { libraryId: '/expressjs/express', query: 'routing' }),
    call('query-docs', { libraryId: '/none/none', query: 'routing' }),
  ],
});

const firecrawl = ({ services }) => ({
  command: script('firecrawl-mcp/dist/index.js'),
  env: { FIRECRAWL_API_KEY: 'fc-none', FIRECRAWL_API_URL: services },
  requests: [
    call('firecrawl_scrape', { url: 'https://a.example/', formats: ['markdown', 'links'] }),
    call('firecrawl_scrape', { url: 'https://a.invalid/' }),
    call('firecrawl_map', { url: 'https://a.example/', limit: 2 }),
    call('firecrawl_search', { query: 'title', limit: 1 }),
    call('firecrawl_crawl', { url: 'https://a.example/', limit: 1 }),
    call('firecrawl_check_crawl_status', { id: '3fa85f64-5717-4562-b3fc-2c963f66afa6' }),
    call('firecrawl_check_crawl_status', { id: '00000000-0000-4000-8000-000000000000' }),
    call('firecrawl_extract', { urls: ['https://a.example/'], prompt: 'the title' }),
    call('firecrawl_credit_usage', {}),
    call('firecrawl_monitor_list', {}),
  ],
});

const mongodb = ({ at, documents }) => {
  const city = { connectionId: 'preconfigured', database: 'shop', collection: 'city' };
  return {
    command: script('mongodb-mcp-server/dist/esm/index.js', '--telemetry', 'disabled', '--connectionString', documents),
    env: { HOME: at('mongodb-home') },
    normalize: withoutRandomMarks,
    requests: [
      varying(call('list-connections', {})),
      call('list-databases', { connectionId: 'preconfigured' }),
      call('list-collections', { connectionId: 'preconfigured', database: 'shop' }),
      call('find', { ...city, filter: { people: { $gt: 1 } }, projection: { name: 1 } }),
      call('find', { ...city, sort: { _id: -1 }, limit: 1 }),
      call('aggregate', { ...city, pipeline: [{ $match: { name: 'Paris' } }, { $count: 'n' }] }),
      call('aggregate', { ...city, pipeline: [{ $no: 1 }] }),
      call('count', city),
      call('collection-schema', city),
      call('collection-indexes', city),
      call('insert-many', { ...city, documents: [{ _id: 1 }] }),
      call('update-many', { ...city, filter: { _id: 99 }, update: { $set: { name: 'none' } } }),
      // In revision 2026-07-28, version 3.0.4 does not read the client's capabilities, and deletes without a question.
      { ...call('delete-many', { ...city, filter: { _id: 1 } }), era: 'legacy' },
      call('find', { ...city, connectionId: 'none' }),
    ],
  };
};

const motherduck = () => ({
  command: program('mcp-server-motherduck', '--db-path', ':memory:', '--read-write'),
  requests: [
    call('execute_query', { sql: "create or replace table city as select 1 as id, 'Köln' as name" }),
    call('execute_query', { sql: 'select * from city' }),
    call('execute_query', { sql: 'select * from none' }),
    call('list_columns', { table: 'city' }),
  ],
});

const git = ({ at }) => ({
  command: program('mcp-server-git', '--repository', at('repository')),
  requests: [
    call('git_status', { repo_path: at('repository') }),
    call('git_log', { repo_path: at('repository') }),
    call('git_diff_unstaged', { repo_path: at('repository') }),
    call('git_branch', { repo_path: at('repository'), branch_type: 'local' }),
    call('git_show', { repo_path: at('repository'), revision: 'no-such' }),
    call('git_status', { repo_path: '/' }),
  ],
});

const time = () => ({
  command: program('mcp-server-time', '--local-timezone', 'UTC'),
  requests: [
    call('convert_time', { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' }),
    call('convert_time', { source_timezone: 'UTC', time: 'noon', target_timezone: 'Asia/Tokyo' }),
  ],
});

const fetch = ({ services }) => ({
  command: program('mcp-server-fetch', '--ignore-robots-txt'),
  requests: [
    call('fetch', { url: `${services}/page` }),
    call('fetch', { url: `${services}/page`, raw: true, max_length: 10 }),
    call('fetch', { url: `${services}/none` }),
    request('prompts/get', { name: 'fetch', arguments: { url: `${services}/page` } }),
  ],
});

const sqlite = ({ at }) => ({
  command: program('database-mcp-sqlite', '--dsn', at('cities.db')),
  requests: [
    call('execute_sql', { sql: 'select * from city' }),
    call('execute_sql', { sql: 'drop table city' }),
    call('search_objects', {}),
    call('search_objects', { table: 'city' }),
  ],
});

const playwright = ({ at, services }) => ({
  command: script('@playwright/mcp/cli.js', '--headless', '--isolated', '--no-sandbox', '--executable-path', chromium(), '--output-dir', at('playwright')),
  requests: [
    varying(call('browser_navigate', { url: `${services}/page` })),
    call('browser_evaluate', { function: '() => 6 * 7' }),
    call('browser_evaluate', { function: '() => document.body.innerText' }),
    call('browser_tabs', { action: 'list' }),
    call('browser_click', { element: 'none', target: 'e999' }),
  ],
});

const chrome = ({ services }) => ({
  command: script('chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js', '--headless', '--isolated', '--executablePath', chromium(), '--chromeArg=--no-sandbox', '--no-usage-statistics'),
  requests: [
    call('new_page', { url: `${services}/page` }),
    call('list_pages', {}),
    call('evaluate_script', { pageId: 2, function: '() => document.body.innerText' }),
    call('evaluate_script', { pageId: 99, function: '() => 1' }),
  ],
});

/** The servers by name, each as a function of the world (`world.mjs`). */
export const SERVERS = { everything, filesystem, memory, thinking, context7, firecrawl, mongodb, motherduck, git, time, fetch, sqlite, playwright, chrome };
