// OpenCode, headless (`opencode run`).

/** A registry that is not there: without it the start waits for a package that it does not need. */
export const offline = {
  npm_config_registry: 'http://127.0.0.1:9/',
  npm_config_fetch_retries: '0',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
};

export function settings(world, model, permission) {
  const limit = { context: 200000, output: 8000 };
  world.write('proj/opencode.json', JSON.stringify({
    autoupdate: false,
    share: 'disabled',
    model: 'loopback/scripted',
    small_model: 'loopback/scripted',
    permission,
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

export const calls = {
  run: (command) => ({ name: 'bash', input: { command, description: 'Run a command' } }),
  read: (filePath) => ({ name: 'read', input: { filePath } }),
  write: (filePath, content) => ({ name: 'write', input: { filePath, content } }),
  edit: (filePath, oldString, newString) => ({ name: 'edit', input: { filePath, oldString, newString } }),
  delegate: (prompt) => ({ name: 'task', input: { description: 'Help', prompt, subagent_type: 'general' } }),
};

export default {
  name: 'opencode',
  title: 'OpenCode',
  needs: [['opencode', 'opencode']],
  calls,
  settings: ['proj/.opencode/plugin/midrail.js'],
  limit: 240,
  open: {
    'early-stop': 'no hook can keep a turn open',
    'endless-stop': 'no hook can keep a turn open',
  },
  prepare: (world, model) => settings(world, model, { bash: 'allow', edit: 'allow', read: 'allow', external_directory: 'allow' }),
  command: (world, model, prompt) => ({
    program: world.lab.opencode,
    args: ['run', '--format', 'json', prompt],
    env: offline,
  }),
};
