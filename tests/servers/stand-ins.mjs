// Services on this machine in the place of those that servers reach over the network: a page of the web, and the APIs of
// Context7 and Firecrawl.

import { createServer } from 'node:http';

const PAGE = '<html><body><h1>Title</h1><p>Some text.</p></body></html>';

/** A document, as `Document` in `dist/index.d.ts` of the package `firecrawl`. */
const document = (url) => ({
  markdown: '# Title\n\nSome text.',
  links: [`${url}more`],
  metadata: { title: 'Title', language: 'en', sourceURL: url, url, statusCode: 200, scrapeId: '3fa85f64-5717-4562-b3fc-2c963f66afa6' },
});

/**
 * The answers of Firecrawl's API, version 2, by method and path. They have the members that the package `firecrawl` (types in `dist/index.d.ts`) and the
 * server (`dist/index.js` of `firecrawl-mcp`) read. A host that ends in `.invalid` cannot be scraped.
 */
const FIRECRAWL = {
  'POST /v2/scrape': ({ url }) => {
    if (url.includes('.invalid')) return { httpStatus: 500, success: false, error: 'The URL failed to load: DNS resolution failed' };
    return { success: true, data: document(url) };
  },
  'POST /v2/map': ({ url }) => ({ success: true, links: [{ url, title: 'Title', description: 'Some text.' }, { url: `${url}more` }] }),
  'POST /v2/search': () => ({
    success: true,
    data: { web: [{ url: 'https://a.example/', title: 'Title', description: 'پیام می\u200cرسد', position: 1 }] },
    creditsUsed: 2,
    id: '3fa85f64-5717-4562-b3fc-2c963f66afa6',
  }),
  'POST /v2/crawl': () => ({ success: true, id: '3fa85f64-5717-4562-b3fc-2c963f66afa6', url: 'https://api.example/v2/crawl/3fa85f64-5717-4562-b3fc-2c963f66afa6' }),
  'GET /v2/crawl/3fa85f64-5717-4562-b3fc-2c963f66afa6': () => ({
    success: true, status: 'completed', total: 1, completed: 1, creditsUsed: 1, expiresAt: '2026-01-02T00:00:00.000Z', data: [document('https://a.example/')],
  }),
  'GET /v2/team/credit-usage': () => ({ success: true, data: { remainingCredits: 1000.5, planCredits: 500000, billingPeriodStart: '2026-01-01T00:00:00Z', billingPeriodEnd: null } }),
  'GET /v2/monitor': () => ({ success: true, data: [] }),
};

/**
 * The answers of Context7's API, by path. They have the members that the server reads (`dist/lib/api.js` and `dist/lib/utils.js` of
 * `@upstash/context7-mcp`).
 */
const CONTEXT7 = {
  '/api/v2/libs/search': (query) => {
    if (query.get('libraryName') === 'none') return { results: [] };
    return {
      results: [{
        id: '/expressjs/express', title: 'Express', description: 'Fast, unopinionated, minimalist web framework', totalSnippets: 812, trustScore: 9.1,
        benchmarkScore: 88.2, versions: ['v5.1.0', 'v4.21.2'],
      }],
      searchFilterApplied: true,
    };
  },
  '/api/v2/context': (query) => {
    if (query.get('libraryId') === '/none/none') return { httpStatus: 404, message: 'Library not found.' };
    return '### Routing\n\n```js\napp.get("/", (request, response) => response.send("پیام 👩\u200d💻"));\n```\n';
  },
};

/** Answers a request. `undefined`: nothing here has this path. */
function answer(request, body) {
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname === '/page') return PAGE;
  const firecrawl = FIRECRAWL[`${request.method} ${url.pathname}`];
  if (firecrawl) {
    if (request.headers.authorization !== 'Bearer fc-none') return { httpStatus: 401, success: false, error: 'Unauthorized: Invalid token' };
    return firecrawl(body ? JSON.parse(body) : {});
  }
  return CONTEXT7[url.pathname]?.(url.searchParams);
}

/** Starts the services. Returns their address, such as `http://127.0.0.1:8080`, and a function that ends them. */
export async function startServices() {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (data) => { body += data; });
    request.on('end', () => {
      const found = answer(request, body);
      if (typeof found === 'string') {
        response.writeHead(200, { 'content-type': request.url === '/page' ? 'text/html' : 'text/plain' });
        response.end(found);
        return;
      }
      const { httpStatus = found ? 200 : 404, ...json } = found ?? { success: false, error: 'no such page' };
      response.writeHead(httpStatus, { 'content-type': 'application/json' });
      response.end(JSON.stringify(json));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { address: `http://127.0.0.1:${server.address().port}`, end: () => server.close() };
}
