// The TypeScript SDK, version 1: MCP up to 2025-11-25.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

export async function connect({ start, url, sse, roots }) {
  const client = new Client(
    { name: 'sdk-v1', version: '1' },
    { capabilities: roots ? { roots: { listChanged: true } } : {} },
  );
  if (roots) client.setRequestHandler(ListRootsRequestSchema, () => ({ roots }));
  const transport = sse
    ? new SSEClientTransport(new URL(sse))
    : url
      ? new StreamableHTTPClientTransport(new URL(url))
      : new StdioClientTransport({ ...start, stderr: 'ignore' });
  await client.connect(transport);
  return {
    server: async () => client.getServerVersion(),
    tools: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    read: async (uri) => (await client.readResource({ uri })).contents,
    close: () => client.close(),
  };
}
