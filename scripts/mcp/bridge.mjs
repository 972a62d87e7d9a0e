// Streamable HTTP in front of a program that speaks over pipes, so that the conformance suite reaches it: `node bridge.mjs COMMAND…`.
// Each session has a program of its own, and the requests without a session share one.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const MODERN = '2026-07-28';
const [command, ...args] = process.argv.slice(2);
const sessions = new Map();
process.on('exit', () => sessions.forEach(({ child }) => child.kill()));
process.on('SIGTERM', () => process.exit(0));

function open(id) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const session = { id, child, open: new Map() };
  sessions.set(id, session);
  const end = (post, message) => {
    if (post.isStream) return post.response.end(`data: ${JSON.stringify(message)}\n\n`);
    const status = !post.isModern || !message.error ? 200 : message.error.code === -32601 ? 404 : [-32602, -32020, -32021, -32022].includes(message.error.code) ? 400 : 200;
    post.response.writeHead(status, { 'content-type': 'application/json', ...(post.isNew && { 'mcp-session-id': id }) });
    return post.response.end(JSON.stringify(message));
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    if (message.method === undefined) {
      const post = session.open.get(message.id);
      session.open.delete(message.id);
      return post && end(post, { ...message, id: post.id });
    }
    // What the server sends on its own goes to the newest request.
    const post = [...session.open.values()].at(-1);
    if (!post) return undefined;
    if (!post.isStream) post.response.writeHead(200, { 'content-type': 'text/event-stream' });
    post.isStream = true;
    return post.response.write(`data: ${line}\n\n`);
  });
  return session;
}

createServer(async (incoming, response) => {
  if (incoming.method !== 'POST') return response.writeHead(405).end();
  const parts = [];
  for await (const part of incoming) parts.push(part);
  const message = JSON.parse(Buffer.concat(parts));
  const isModern = incoming.headers['mcp-protocol-version'] >= MODERN || message.params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined;
  const isNew = !isModern && message.method === 'initialize';
  const id = isModern ? 'modern' : isNew ? randomUUID() : incoming.headers['mcp-session-id'];
  const session = sessions.get(id) ?? (isModern || isNew ? open(id) : undefined);
  if (!session) return response.writeHead(404).end();
  if (message.method === undefined || message.id === undefined) {
    session.child.stdin.write(`${JSON.stringify(message)}\n`);
    return response.writeHead(202).end();
  }
  const own = randomUUID();
  session.open.set(own, { id: message.id, response, isNew, isModern, isStream: false });
  // Over pipes, a request is cancelled by a message.
  response.on('close', () => session.open.delete(own) &&
    session.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: own } })}\n`));
  return session.child.stdin.write(`${JSON.stringify({ ...message, id: own })}\n`);
}).listen(0, '127.0.0.1', function () { console.log(`http://127.0.0.1:${this.address().port}/mcp`); });
