// GitHub Copilot CLI, headless (`copilot -p`), with a custom model provider.

import { KEY } from '../mcp-address.mjs';
import { serversOf } from '../world.mjs';

export const offline = (model) => ({
  COPILOT_PROVIDER_BASE_URL: `${model.url}/v1`,
  COPILOT_PROVIDER_API_KEY: 'none',
  COPILOT_MODEL: 'scripted',
  COPILOT_OFFLINE: 'true',
  COPILOT_AUTO_UPDATE: 'false',
});

export const calls = {
  run: (command) => ({ name: 'bash', input: { command, description: 'Run a command', sessionId: 'one', mode: 'sync', initial_wait: 30 } }),
  read: (path) => ({ name: 'view', input: { path } }),
  // `create` refuses an existing path, so overwriting means editing the whole text.
  write: (path, text, before) => before === undefined
    ? { name: 'create', input: { path, file_text: text } }
    : { name: 'edit', input: { path, old_str: before, new_str: text } },
  edit: (path, old_str, new_str) => ({ name: 'edit', input: { path, old_str, new_str } }),
  mcp: (tool, input, server = 'kit') => ({ name: `${server}-${tool}`, input }),
  delegate: (prompt) => ({ name: 'task', input: { description: 'Help', prompt, agent_type: 'task', name: 'helper', mode: 'sync' } }),
};

export default {
  name: 'copilot-cli',
  title: 'Copilot CLI',
  needs: [['copilot', 'copilot']],
  calls,
  servers: 'home/.copilot/mcp-config.json',
  addresses: (at) => ({ typed: { type: 'http', url: at('typed'), headers: { Authorization: KEY }, tools: ['*'] } }),
  settings: ['proj/.github/hooks/midrail.json', 'home/.copilot/hooks/midrail.json'],
  prepare(world) {
    world.write('home/.copilot/config.json', JSON.stringify({ trusted_folders: [world.proj] }));
    const servers = Object.entries(serversOf(world)).map(([name, server]) => [name, { type: 'local', tools: ['*'], ...server }]);
    const mcpServers = { ...Object.fromEntries(servers), ...world.addresses };
    if (Object.keys(mcpServers).length) world.write('home/.copilot/mcp-config.json', JSON.stringify({ mcpServers }, null, 2));
  },
  limits: {
    'proxy-once': { why: 'it gives calls of MCP tools no id', instead: 'hook and proxy both decide and record the call' },
    question: { skip: true, why: 'its hooks ask the user only in a terminal, and deny without one', instead: 'an approval in another terminal, or in the console (`approval`)' },
    'program-frozen': {
      why: 'the host allows a call if its hook exceeds the timeout',
      instead: 'Midrail itself always answers before the timeout; only a program that was replaced or suspended is late',
    },
  },
  command: (world, model, prompt) => ({
    program: world.lab.copilot,
    // A project's hooks run only in a trusted folder.
    args: ['-p', prompt, '--output-format', 'json', '--no-auto-update', ...(world.asks ? [] : ['--allow-all-tools']), '--allow-all-paths', '--trust-folder',
      ...(world.plugin ? ['--plugin-dir', world.plugin] : [])],
    env: offline(model),
  }),
};
