// Agents that speak the Agent Client Protocol, each behind `midrail acp`; the editor is ours (editor.mjs).

import { converse } from '../editor.mjs';
import { calls as claudeCalls, offline as claudeOffline } from './claude-code.mjs';
import { calls as copilotCalls, offline as copilotOffline } from './copilot-cli.mjs';
import { calls as geminiCalls, offline as geminiOffline, prepare as prepareGemini } from './gemini-cli.mjs';
import { calls as opencodeCalls, offline as opencodeOffline, settings as opencodeSettings } from './opencode.mjs';

const endsItsTurn = 'it ends its turn when a call is refused, so the model cannot repeat it';
const outside = 'the protocol has no hook process: Midrail is part of the connection';

function acp(name, about) {
  return {
    name: `acp-${name}`,
    limit: 240,
    proxied: true,
    ...about,
    cannot: {
      ...about.cannot,
      protected: 'it reads without a permission request; Midrail sees the read and ends the turn, which may be too late',
      secret: 'the model has the results of tools that run inside the agent before they cross the connection',
      'hook-killed': outside,
      'hook-missing': outside,
      'hook-hangs': outside,
      'hook-frozen': outside,
    },
    drive: (world, model, prompt, { guarded, limit, hostLimit }) => converse({
      world, prompt, limit, guarded, wait: hostLimit, authenticate: about.authenticate, reads: about.reads, ...about.command(world, model),
    }),
  };
}

export const acpAgents = [
  acp('claude', {
    title: 'Claude Code (ACP)',
    needs: [['acp', 'claudeAcp']],
    calls: claudeCalls,
    command: (world, model) => ({
      program: process.execPath,
      args: [world.lab.claudeAcp],
      env: { ...claudeOffline(model), CLAUDE_CODE_TMPDIR: world.tmp },
    }),
  }),
  acp('gemini', {
    title: 'Gemini CLI (ACP)',
    needs: [['gemini', 'gemini']],
    calls: { ...geminiCalls, delegate: undefined },
    cannot: { 'sub-agent': 'its sub-agents are not available in this mode' },
    prepare: prepareGemini,
    authenticate: 'gemini-api-key',
    // It treats every error of such a read as a failure, and could not write a new file.
    reads: false,
    command: (world, model) => ({
      program: process.execPath,
      args: [world.lab.gemini, '--acp', '-m', 'gemini-2.5-flash'],
      env: geminiOffline(model),
    }),
  }),
  acp('copilot', {
    title: 'Copilot CLI (ACP)',
    needs: [['copilot', 'copilot']],
    calls: copilotCalls,
    open: { approval: endsItsTurn },
    command: (world, model) => ({
      program: world.lab.copilot,
      args: ['--acp', '--no-auto-update'],
      env: copilotOffline(model),
    }),
  }),
  acp('opencode', {
    title: 'OpenCode (ACP)',
    needs: [['opencode', 'opencode']],
    calls: { ...opencodeCalls, delegate: undefined },
    cannot: { 'sub-agent': 'its sub-agents wait for answers to questions that it does not forward' },
    open: { approval: endsItsTurn },
    prepare: (world, model) => opencodeSettings(world, model, { bash: 'ask', edit: 'ask', external_directory: 'ask' }),
    command: (world) => ({ program: world.lab.opencode, args: ['acp'], env: opencodeOffline }),
  }),
];
