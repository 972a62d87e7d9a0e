// Claude Code, headless (`claude -p`).

import { KEY } from '../mcp-address.mjs';

export const offline = (model) => ({
  ANTHROPIC_BASE_URL: model.url,
  ANTHROPIC_API_KEY: 'sk-ant-none',
  ANTHROPIC_MODEL: 'claude-sonnet-4-5',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_TELEMETRY: '1',
});

export const calls = {
  run: (command) => ({ name: 'Bash', input: { command, description: 'Run a command' } }),
  read: (file_path) => ({ name: 'Read', input: { file_path } }),
  write: (file_path, content) => ({ name: 'Write', input: { file_path, content } }),
  edit: (file_path, old_string, new_string) => ({ name: 'Edit', input: { file_path, old_string, new_string } }),
  mcp: (tool, input, server = 'kit') => ({ name: `mcp__${server}__${tool}`, input }),
  // The agent shows the definition of an MCP tool to the model when it asks for it.
  load: (tool, server = 'kit') => ({ name: 'ToolSearch', input: { query: `select:mcp__${server}__${tool}`, max_results: 1 } }),
  delegate: (prompt) => ({ name: 'Agent', input: { description: 'Help', prompt, subagent_type: 'general-purpose' } }),
};

export default {
  name: 'claude-code',
  title: 'Claude Code',
  needs: [['claude-code', 'claude']],
  calls,
  servers: 'home/.claude.json',
  addresses: (at) => ({ typed: { type: 'http', url: at('typed'), headers: { Authorization: KEY } } }),
  settings: ['proj/.claude/settings.json', 'home/.claude/settings.json'],
  limits: {
    'unread-write': { unprovable: true, why: 'the agent refuses the call itself, before any hook', instead: 'the refusal of the agent' },
  },
  prepare(world) {
    if (world.mcp) world.write('mcp.json', JSON.stringify({ mcpServers: { kit: world.mcp } }));
    if (world.servers || world.addresses) world.write('home/.claude.json', JSON.stringify({ mcpServers: { ...world.servers, ...world.addresses } }, null, 2));
  },
  command: (world, model, prompt) => ({
    program: world.lab.claude,
    args: ['-p', prompt, '--output-format', 'stream-json', '--verbose', '--permission-mode', 'default',
      '--model', 'claude-sonnet-4-5', '--allowedTools', `${world.asks ? '' : 'Bash '}Write Read Edit Glob Grep Agent Task mcp__kit mcp__files mcp__everything mcp__typed`,
      ...(world.plugin ? ['--plugin-dir', world.plugin] : []),
      ...(world.mcp ? ['--mcp-config', world.path('mcp.json'), '--strict-mcp-config', '--permission-prompt-tool', 'mcp__kit__answer_question'] : [])],
    env: { ...offline(model), CLAUDE_CODE_TMPDIR: world.tmp },
  }),
};
