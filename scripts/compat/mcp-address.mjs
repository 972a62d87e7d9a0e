// MCP servers at an address on loopback (Streamable HTTP), one per path, all with the same key. Their tool returns a secret in `content`
// and in `structuredContent`.

import http from 'node:http';
import { SECRETS } from './world.mjs';

/** The key of the servers, which a client sends in `Authorization`. */
export const TOKEN = 'key-of-the-kit';
export const KEY = `Bearer ${TOKEN}`;
export const TOOL = 'show_settings';

const tools = [{ name: TOOL, description: 'Show the settings', inputSchema: { type: 'object', properties: {} } }];

function answer({ method, params }, name) {
  switch (method) {
    case 'initialize':
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name, version: '1' } };
    case 'tools/list':
      return { tools };
    case 'tools/call': {
      const settings = `${SECRETS.mcp.text}${resultOf(name)}`;
      return { content: [{ type: 'text', text: settings }], structuredContent: { settings } };
    }
    case 'ping':
      return {};
    default:
      return undefined;
  }
}

/** A harmless text in the result of a server. */
export const resultOf = (name) => `settings of ${name}`;

/** The servers, while a world runs. Every request without the key is refused. */
export class AddressServers {
  async start() {
    this.server = http.createServer(async (request, response) => {
      const end = (status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(body && JSON.stringify(body));
      if (request.headers.authorization !== KEY) return end(401);
      if (request.method !== 'POST') return end(405);
      const parts = [];
      for await (const part of request) parts.push(part);
      const message = JSON.parse(Buffer.concat(parts).toString());
      if (message.id === undefined) return end(202);
      const result = answer(message, request.url.slice(1));
      const body = result ? { result } : { error: { code: -32601, message: `${message.method} is not supported` } };
      return end(200, { jsonrpc: '2.0', id: message.id, ...body });
    });
    await new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(0, '127.0.0.1', resolve);
    });
    return this;
  }

  at(name) { return `http://127.0.0.1:${this.server.address().port}/${name}`; }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }
}
