// Gemini CLI, headless (`gemini -p`).

import { KEY } from '../mcp-address.mjs';
import { run } from '../process.mjs';
import { serversOf } from '../world.mjs';

export const offline = (model) => ({
  GEMINI_API_KEY: 'none',
  GOOGLE_GEMINI_BASE_URL: model.url,
  GEMINI_CLI_TRUST_WORKSPACE: 'true',
});

/** Its user settings: authentication, no telemetry, and trust in the project. */
export function prepare(world) {
  world.write('home/.gemini/trustedFolders.json', JSON.stringify({ [world.proj]: 'TRUST_FOLDER', [world.path('plugin')]: 'TRUST_FOLDER' }));
  world.write('home/.gemini/settings.json', JSON.stringify({
    security: { auth: { selectedType: 'gemini-api-key' } },
    telemetry: { enabled: false },
    privacy: { usageStatisticsEnabled: false },
    mcpServers: { ...serversOf(world), ...world.addresses },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  }, null, 2));
}

export const calls = {
  run: (command) => ({ name: 'run_shell_command', input: { command, description: 'Run a command' } }),
  read: (file_path) => ({ name: 'read_file', input: { file_path } }),
  write: (file_path, content) => ({ name: 'write_file', input: { file_path, content } }),
  edit: (file_path, old_string, new_string) => ({ name: 'replace', input: { file_path, instruction: 'Replace it', old_string, new_string } }),
  mcp: (tool, input, server = 'kit') => ({ name: `mcp_${server}_${tool}`, input }),
  delegate: (prompt) => ({ name: 'invoke_agent', input: { agent_name: 'generalist', prompt } }),
};

export default {
  name: 'gemini-cli',
  title: 'Gemini CLI',
  needs: [['gemini', 'gemini']],
  calls,
  servers: 'home/.gemini/settings.json',
  addresses: (at) => ({
    typed: { type: 'http', url: at('typed'), headers: { Authorization: KEY } },
    untyped: { httpUrl: at('untyped'), headers: { Authorization: KEY } },
  }),
  settings: ['proj/.gemini/settings.json', 'home/.gemini/settings.json'],
  prepare,
  async activate(world) {
    const args = [world.lab.gemini, 'extensions', 'install', world.plugin, '--consent'];
    const { code, stdout, stderr } = await run(process.execPath, args, { cwd: world.proj, env: world.env });
    if (code !== 0) throw new Error(`the extension cannot be installed: ${(stderr || stdout).trim()}`);
  },
  limits: {
    'proxy-once': { why: 'it gives calls of MCP tools no id', instead: 'hook and proxy both decide and record the call' },
    vouched: { skip: true, why: 'its hooks cannot answer that a call needs no question', instead: 'rules in its own format (`midrail export --policy`)' },
    question: { skip: true, why: 'its hooks cannot ask the user', instead: 'an approval in another terminal, or in the console (`approval`)' },
    'program-frozen': {
      why: 'the host allows a call if its hook exceeds the timeout',
      instead: 'Midrail itself always answers before the timeout; only a program that was replaced or suspended is late',
    },
  },
  command: (world, model, prompt) => ({
    program: process.execPath,
    args: [world.lab.gemini, '-p', prompt, '--approval-mode', 'yolo', '--output-format', 'stream-json', '-m', 'gemini-2.5-flash'],
    env: offline(model),
  }),
};
