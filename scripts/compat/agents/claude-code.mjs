// Claude Code, headless (`claude -p`).

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
  delegate: (prompt) => ({ name: 'Agent', input: { description: 'Help', prompt, subagent_type: 'general-purpose' } }),
};

export default {
  name: 'claude-code',
  title: 'Claude Code',
  needs: [['claude-code', 'claude']],
  calls,
  settings: ['proj/.claude/settings.json'],
  command: (world, model, prompt) => ({
    program: world.lab.claude,
    args: ['-p', prompt, '--output-format', 'stream-json', '--verbose', '--permission-mode', 'default',
      '--model', 'claude-sonnet-4-5', '--allowedTools', 'Bash Write Read Edit Glob Grep Agent Task'],
    env: { ...offline(model), CLAUDE_CODE_TMPDIR: world.tmp },
  }),
};
