// Agents that speak the Agent Client Protocol, each behind `midrail acp`; the editor is ours (editor.mjs).

import { converse } from '../editor.mjs';
import { calls as claudeCalls, offline as claudeOffline } from './claude-code.mjs';
import copilot, { calls as copilotCalls, offline as copilotOffline } from './copilot-cli.mjs';
import { calls as geminiCalls, offline as geminiOffline, prepare as prepareGemini } from './gemini-cli.mjs';
import { calls as opencodeCalls, offline as opencodeOffline, settings as opencodeSettings } from './opencode.mjs';
import { PROXY_ROWS } from '../proxied.mjs';

const NO_PROCESS = {
  skip: true,
  why: 'the protocol has no hook process: Midrail is part of the connection',
  instead: 'without Midrail there is no connection, so the session ends',
};
const NO_SETTINGS = {
  skip: true,
  why: 'the project and the home contain no registration that could be removed: the editor starts Midrail',
  instead: 'Midrail decides every permission request of every session that the editor starts',
};
const NO_NOTES = {
  why: 'the protocol cannot add a text to a result or a rejection',
  instead: 'the user sees the reason of a block at once, and the model receives texts with the next prompt',
};
const NO_RESULTS = {
  why: 'the model receives the results of tools inside the agent before they cross the connection',
  instead: 'none: Midrail records the finding, and redacts only what passes through the editor',
};

function acp(name, about) {
  return {
    name: `acp-${name}`,
    limit: 240,
    proxied: true,
    ...about,
    limits: {
      ...PROXY_ROWS('the agent has a column of its own, in which it starts the servers'),
      protected: {
        why: 'the agent reads without a permission request',
        instead: 'Midrail sees the read and ends the turn, which may be too late',
      },
      secret: NO_RESULTS,
      'secret-failing': NO_RESULTS,
      'mcp-secret': NO_RESULTS,
      'injection-file': NO_NOTES,
      question: {
        skip: true,
        why: 'the protocol leaves questions to the agent',
        instead: 'Midrail holds the request until it is approved in another terminal, or in the console (`approval`)',
      },
      modify: { why: 'the protocol cannot change a call', instead: 'the call is blocked' },
      contained: { why: 'the protocol cannot change a call', instead: '`unknown: require_box`, which sends the call back' },
      vouched: { skip: true, why: 'the editor of the kit permits what is asked', instead: 'tests of `midrail acp`' },
      reason: NO_NOTES,
      feedback: NO_NOTES,
      ...Object.fromEntries(['missing', 'crashing', 'silent', 'garbage', 'hanging', 'frozen'].map((each) => [`program-${each}`, NO_PROCESS])),
      ...Object.fromEntries(['git-checkout', 'git-checkout-project', 'git-stash', 'git-apply', 'find-exec', 'plugin'].map((each) => [each, NO_SETTINGS])),
      ...about.limits,
    },
    drive: (world, model, prompt, { guarded, limit, hostLimit }) => converse({
      world, model, prompt, limit, guarded, wait: hostLimit, authenticate: about.authenticate, reads: about.reads, ...about.command(world, model),
    }),
  };
}

export const acpAgents = [
  acp('claude', {
    title: 'Claude Code (ACP)',
    needs: [['acp', 'claudeAcp']],
    calls: claudeCalls,
    limits: { 'unread-write': { unprovable: true, why: 'the agent refuses the call itself, before a permission request', instead: 'the refusal of the agent' } },
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
    limits: { 'sub-agent': { skip: true, why: 'its sub-agents are not available in this mode', instead: 'there is no sub-agent that could act' } },
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
    // It rejects an editor's MCP servers that are programs, and uses those of its user.
    prepare: copilot.prepare,
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
    limits: {
      'sub-agent': { skip: true, why: 'its sub-agents wait for answers to questions that it does not forward', instead: 'a sub-agent cannot act' },
      mcp: {
        why: 'the agent calls MCP tools without a permission request',
        instead: 'Midrail sees the call and ends the turn, which may be too late',
      },
    },
    prepare: (world, model) => opencodeSettings(world, model, { bash: 'ask', edit: 'ask', external_directory: 'ask' }),
    command: (world) => ({ program: world.lab.opencode, args: ['acp'], env: opencodeOffline }),
  }),
];
