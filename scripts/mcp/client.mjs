// An MCP client for the conformance suite, `node client.mjs URL`: over HTTP, or with MCP_PROXY through `midrail mcp wrap`. It lists
// everything, and calls what the scenario names, or else every tool.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const url = process.argv.at(-1);
const { MCP_PROXY, MCP_REVISION, MIDRAIL, MIDRAIL_PACK, HOME, PATH, XDG_STATE_HOME } = process.env;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const args = ['mcp', 'wrap', '--server', 'suite', '--url', url, '--pack', MIDRAIL_PACK];
const transport = MCP_PROXY
  ? new StdioClientTransport({ command: MIDRAIL, args, env: { HOME, PATH, XDG_STATE_HOME } })
  : new StreamableHTTPClientTransport(new URL(url));
const isModern = MCP_REVISION >= '2026';
const client = new Client({ name: 'conformance-client', version: '1.0.0' }, {
  capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
  ...(isModern && { versionNegotiation: { mode: { pin: MCP_REVISION } } }),
});
client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }));
client.setRequestHandler('sampling/createMessage', () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'ok' } }));
client.setRequestHandler('roots/list', () => ({ roots: [] }));

/** A value that fits a schema. */
function sample(schema) {
  if (schema.default !== undefined) return schema.default;
  const { properties = {}, required = [] } = schema;
  const values = { integer: 5, number: 3, boolean: true, array: [], null: null, string: 'text' };
  if (schema.type !== 'object') return values[schema.type] ?? 'text';
  return Object.fromEntries(required.filter((name) => properties[name]).map((name) => [name, sample(properties[name])]));
}
// A server need not have what is asked for.
const attempt = async (what) => { try { return await what(); } catch (error) { console.error(error.message); return undefined; } };

await client.connect(transport);
const { tools = [] } = (await attempt(() => client.listTools())) ?? {};
const calls = context.toolCalls ?? tools.map((tool) => ({ name: tool.name, arguments: sample(tool.inputSchema) }));
for (const { name, arguments: given } of calls) await attempt(() => client.callTool({ name, arguments: given }));
const prompts = (await attempt(() => client.listPrompts()))?.prompts ?? [];
for (const { name } of prompts) await attempt(() => client.getPrompt({ name, arguments: {} }));
const resources = (await attempt(() => client.listResources()))?.resources ?? [];
for (const { uri } of resources) await attempt(() => client.readResource({ uri }));
await client.close();
process.exit(0);
