// Codex, headless (`codex exec`).

import { KEY, TOKEN } from '../mcp-address.mjs';
import { serversOf } from '../world.mjs';

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const toml = (value) => (typeof value === 'object' && !Array.isArray(value)
  ? `{ ${Object.entries(value).map(([name, each]) => `${name} = ${toml(each)}`).join(', ')} }`
  : JSON.stringify(value));
const table = ([name, server]) => `[mcp_servers.${name}]\n${Object.entries(server).map(([field, value]) => `${field} = ${toml(value)}\n`).join('')}required = true\n`;
const shell = (cmd) => ({ name: 'exec_command', input: { cmd } });

export default {
  name: 'codex',
  title: 'Codex',
  needs: [['codex', 'codex']],
  calls: {
    run: shell,
    read: (file) => shell(`cat ${quote(file)}`),
    write: (file, text) => ({
      name: 'apply_patch',
      input: ['*** Begin Patch', `*** Add File: ${file}`, ...text.trimEnd().split('\n').map((line) => `+${line}`), '*** End Patch', ''].join('\n'),
    }),
    edit: (file, before, after) => ({
      name: 'apply_patch',
      input: ['*** Begin Patch', `*** Update File: ${file}`, '@@', `-${before}`, `+${after}`, '*** End Patch', ''].join('\n'),
    }),
    mcp: (tool, input, server = 'kit') => ({ name: tool, namespace: `mcp__${server}`, input }),
    // The agent shows the definitions of MCP tools to the model when it searches for them.
    load: (tool) => ({ name: 'tool_search', search: true, input: { query: tool.replaceAll('_', ' '), limit: 8 } }),
    delegate: (message) => ({ name: 'spawn_agent', namespace: 'multi_agent_v1', input: { message } }),
    // A sub-agent works in parallel to its parent.
    waiting: shell('sleep 6'),
  },
  servers: 'home/.codex/config.toml',
  addresses: (at) => ({
    headers: { url: at('headers'), http_headers: { Authorization: KEY } },
    variables: { url: at('variables'), env_http_headers: { Authorization: 'ADDRESS_KEY' } },
    bearer: { url: at('bearer'), bearer_token_env_var: 'ADDRESS_TOKEN' },
  }),
  settings: ['proj/.codex/hooks.json', 'home/.codex/hooks.json'],
  // Hooks of a project run once they are trusted, and only Codex can compute the hash to trust.
  initialise: ['--trust'],
  prepare(world, model) {
    world.offer('codex', world.lab.codex);
    world.write('home/.codex/config.toml', `model = "gpt-5.5"
model_provider = "loopback"
check_for_update_on_startup = false
[model_providers.loopback]
name = "loopback"
base_url = "${model.url}/v1"
env_key = "LOOPBACK_KEY"
wire_api = "responses"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[projects."${world.proj}"]
trust_level = "trusted"
${Object.entries({ ...serversOf(world), ...world.addresses }).map(table).join('')}`);
  },
  limits: {
    contained: { why: 'its hooks can change a call only by permitting it', instead: '`unknown: require_box`, which sends the call back, or `midrail run -- codex`' },
    vouched: { skip: true, why: 'the kit runs it without its own questions', instead: 'rules in its own format (`midrail export --policy`)' },
    modify: { why: 'its hooks can change a call only by permitting it', instead: 'the call is blocked, and the reason says how to make it' },
    question: { skip: true, why: 'its hooks cannot ask the user', instead: 'an approval in another terminal, or in the console (`approval`)' },
    plugin: { skip: true, why: 'the host has no plugins with hooks', instead: 'hooks of the user, or settings of the machine (`init --managed`)' },
    'program-frozen': {
      why: 'the host allows a call if its hook exceeds the timeout',
      instead: 'Midrail itself always answers before the timeout; only a program that was replaced or suspended is late',
    },
  },
  command: (world, model, prompt) => ({
    program: world.lab.codex,
    args: ['exec', '--json', '--skip-git-repo-check', '-s', 'danger-full-access',
      // Trust covers hooks as written, not hooks whose timeouts the kit lowered.
      ...(world.isShortened ? ['--dangerously-bypass-hook-trust'] : []), prompt],
    env: { LOOPBACK_KEY: 'none', ADDRESS_KEY: KEY, ADDRESS_TOKEN: TOKEN },
  }),
};
