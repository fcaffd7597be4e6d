// The TypeScript SDK, version 2: both eras of MCP, and the detection of the era.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export const modes = {
  legacy: { mode: 'legacy', version: '2025-11-25' },
  auto: { mode: 'auto', version: '2026-07-28' },
  '2026-07-28': { mode: { pin: '2026-07-28' }, version: '2026-07-28' },
};

export const connect = (name) => async ({ start, url, roots }) => {
  const { mode, version } = modes[name];
  const client = new Client(
    { name: 'sdk-v2', version: '1' },
    { capabilities: roots ? { roots: {} } : {}, versionNegotiation: { mode } },
  );
  if (roots) client.setRequestHandler('roots/list', () => ({ roots }));
  const transport = url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ ...start, stderr: 'ignore' });
  await client.connect(transport);
  const spoken = client.getNegotiatedProtocolVersion();
  if (spoken !== version) throw new Error(`${spoken} is spoken instead of ${version}`);
  return {
    server: async () => client.getServerVersion(),
    tools: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    read: async (uri) => (await client.readResource({ uri })).contents,
    close: () => client.close(),
  };
};
