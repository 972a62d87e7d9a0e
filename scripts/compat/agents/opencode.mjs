// OpenCode, headless (`opencode run`).

import { KEY } from '../mcp-address.mjs';
import { serversOf } from '../world.mjs';

/** A registry that is not there: without it the start waits for a package that it does not need. */
export const offline = {
  npm_config_registry: 'http://127.0.0.1:9/',
  npm_config_fetch_retries: '0',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
};

export function settings(world, model, permission) {
  const servers = Object.entries(serversOf(world)).map(([name, { command, args }]) => [name, { type: 'local', command: [command, ...args], enabled: true }]);
  const limit = { context: 200000, output: 8000 };
  // Not in the project, where git commands of the model would remove it.
  world.write('home/.config/opencode/opencode.json', JSON.stringify({
    autoupdate: false,
    share: 'disabled',
    model: 'loopback/scripted',
    small_model: 'loopback/scripted',
    permission,
    mcp: { ...Object.fromEntries(servers), ...world.addresses },
    provider: {
      loopback: {
        npm: '@ai-sdk/openai-compatible',
        name: 'loopback',
        options: { baseURL: `${model.url}/v1`, apiKey: 'none' },
        models: { scripted: { name: 'scripted', tool_call: true, limit } },
      },
    },
  }, null, 2));
}

const STOP = {
  why: '`opencode run` ends before a hook can keep the turn open',
  instead: 'the stop is recorded; in the terminal user interface, Midrail continues with a new message',
};

export const calls = {
  run: (command) => ({ name: 'bash', input: { command, description: 'Run a command' } }),
  read: (filePath) => ({ name: 'read', input: { filePath } }),
  write: (filePath, content) => ({ name: 'write', input: { filePath, content } }),
  edit: (filePath, oldString, newString) => ({ name: 'edit', input: { filePath, oldString, newString } }),
  mcp: (tool, input, server = 'kit') => ({ name: `${server}_${tool}`, input }),
  delegate: (prompt) => ({ name: 'task', input: { description: 'Help', prompt, subagent_type: 'general' } }),
};

export default {
  name: 'opencode',
  title: 'OpenCode',
  needs: [['opencode', 'opencode']],
  calls,
  servers: 'home/.config/opencode/opencode.json',
  addresses: (at) => ({ typed: { type: 'remote', url: at('typed'), headers: { Authorization: KEY }, enabled: true } }),
  settings: ['proj/.opencode/plugin/midrail.js', 'home/.config/opencode/plugin/midrail.js'],
  limit: 240,
  limits: {
    'proxy-once': { why: 'it gives calls of MCP tools no id', instead: 'hook and proxy both decide and record the call' },
    vouched: { skip: true, why: 'its plugins cannot answer that a call needs no question', instead: 'rules in its own format (`midrail export --policy`)' },
    question: { skip: true, why: 'its plugins cannot ask the user', instead: 'an approval in another terminal, or in the console (`approval`)' },
    'stop-held': STOP,
    'stop-released': { ...STOP, unprovable: true },
  },
  prepare: (world, model) => settings(world, model, { bash: 'allow', edit: 'allow', read: 'allow', external_directory: 'allow' }),
  activate: (world) => {
    const file = 'home/.config/opencode/opencode.json';
    const plugin = [`file://${world.plugin}/midrail.js`];
    world.write(file, JSON.stringify({ ...JSON.parse(world.read(file)), plugin }));
  },
  command: (world, model, prompt) => ({
    program: world.lab.opencode,
    args: ['run', '--format', 'json', prompt],
    env: offline,
  }),
};
