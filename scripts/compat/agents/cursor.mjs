// Cursor: the hook engine of its SDK. The agent itself needs Cursor's servers, so this file plays the agent: it calls the
// engine before and after each step as Cursor does, and takes the step only if the engine permits it.

import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { callTool } from '../mcp-server.mjs';
import { end, start } from '../process.mjs';
import { PROXY_ROWS } from '../proxied.mjs';

const ENGINE = fileURLToPath(new URL('../cursor-engine.mjs', import.meta.url));
const NO_RESULTS = {
  why: 'a hook cannot replace the output of a command',
  instead: 'none: Midrail records the finding, and the model has the secret',
};
const call = (name) => (...args) => ({ name, input: args });

/** Cursor's engine as a process for one session. */
class Engine {
  constructor(world) {
    this.world = world;
    this.process = start(world.lab.node24, [ENGINE, world.lab.cursor, world.proj], { cwd: world.proj, env: { ...world.env, SHELL: '/bin/bash' } });
    this.process.stderr.on('data', (text) => fs.appendFileSync(world.path('stderr.txt'), text));
    this.process.stdin.on('error', () => {});
    this.answers = readline.createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
  }

  async ask(step, body) {
    fs.appendFileSync(this.world.path('stdout.txt'), `${JSON.stringify({ step, asked: body })}\n`);
    this.process.stdin.write(`${JSON.stringify({ step, body })}\n`);
    for (;;) {
      const { value: line, done } = await this.answers.next();
      if (done) throw new Error(`Cursor's engine did not answer: ${this.world.read('stderr.txt').trim().split('\n').pop()}`);
      fs.appendFileSync(this.world.path('stdout.txt'), `${line}\n`);
      if (line.startsWith('{"step"')) return JSON.parse(line);
    }
  }

  end() { end(this.process); }
}

const refuses = ({ out, thrown }) => Boolean(thrown) || ['deny', 'ask'].includes(out?.permission) || out?.continue === false;
const reason = ({ out, thrown }) => [thrown, out?.agent_message, out?.user_message, out?.reason].filter(Boolean).join(' ') || 'denied';

const TOOLS = {
  run: (command) => ({ tool_name: 'Shell', tool_input: { command, cwd: '' } }),
  read: (file_path) => ({ tool_name: 'Read', tool_input: { file_path } }),
  write: (file_path, content) => ({ tool_name: 'Write', tool_input: { file_path, content } }),
  edit: (file_path, old_string, new_string) => ({ tool_name: 'Write', tool_input: { file_path, old_string, new_string } }),
  mcp: (tool, input) => ({ tool_name: `MCP:${tool}`, tool_input: input }),
};

const withContext = (text, { out }) => [text, out?.additional_context].filter(Boolean).join('\n');

/** One call: calls the engine, executes the call, and returns what the model would receive. */
async function perform(world, engine, kind, args) {
  const tool = { ...TOOLS[kind](...args), tool_use_id: randomUUID() };
  const before = await engine.ask('preToolUse', tool);
  if (refuses(before)) return reason(before);
  // The engine returns the changed arguments; the agent around it is ours, and uses them as Cursor documents it.
  const changed = before.out?.updated_input;
  if (changed) tool.tool_input = changed;
  if (changed && kind === 'run') args = [changed.command];
  if (kind === 'run') {
    const gate = await engine.ask('beforeShellExecution', { command: args[0], cwd: world.proj, sandbox: false });
    if (refuses(gate)) return reason(gate);
    const { stdout, stderr, status } = spawnSync('sh', ['-c', args[0]], { cwd: world.proj, env: world.env, encoding: 'utf8' });
    await engine.ask('afterShellExecution', { command: args[0], output: stdout + stderr, duration: 1, sandbox: false });
    const after = await engine.ask('postToolUse', { ...tool, tool_output: JSON.stringify({ output: stdout + stderr, exitCode: status }), duration: 1 });
    return withContext(stdout + stderr, after);
  }
  if (kind === 'mcp') {
    const about = { tool_name: args[0], tool_input: JSON.stringify(args[1]), mcp_server_name: 'kit', command: 'node mcp-server.mjs' };
    const gate = await engine.ask('beforeMCPExecution', about);
    if (refuses(gate)) return reason(gate);
    const result = { content: [{ type: 'text', text: callTool({ name: args[0], arguments: args[1] }) }] };
    await engine.ask('afterMCPExecution', { ...about, result_json: JSON.stringify(result), duration: 1 });
    const after = await engine.ask('postToolUse', { ...tool, tool_output: JSON.stringify(result), duration: 1 });
    return withContext(JSON.stringify(after.out?.updated_mcp_tool_output ?? result), after);
  }
  let content = '';
  if (kind === 'read') {
    content = fs.readFileSync(args[0], 'utf8');
    const gate = await engine.ask('beforeReadFile', { content, file_path: args[0], attachments: [] });
    if (refuses(gate)) return reason(gate);
  } else {
    const text = kind === 'write' ? args[1] : fs.readFileSync(args[0], 'utf8').replace(args[1], args[2]);
    const old_string = fs.existsSync(args[0]) ? fs.readFileSync(args[0], 'utf8') : '';
    fs.mkdirSync(path.dirname(args[0]), { recursive: true });
    fs.writeFileSync(args[0], text);
    await engine.ask('afterFileEdit', { file_path: args[0], edits: [{ old_string, new_string: text }] });
  }
  const output = kind === 'read' ? { file_path: args[0], content_length: content.length } : { success: true };
  const after = await engine.ask('postToolUse', { ...tool, tool_output: JSON.stringify(output), duration: 1 });
  return withContext(content || 'done', after);
}

async function drive(world, model, prompt, { limit }) {
  const engine = new Engine(world);
  let late = false;
  const timer = setTimeout(() => { late = true; engine.end(); }, limit * 1000);
  try {
    await converse(world, engine, model, prompt);
    return { code: 0, late };
  } catch (error) {
    return { code: 1, late, failed: error.message };
  } finally {
    clearTimeout(timer);
    engine.end();
  }
}

async function converse(world, engine, model, prompt) {
  await engine.ask('sessionStart', { is_background_agent: false });
  if (refuses(await engine.ask('beforeSubmitPrompt', { prompt, attachments: [], composer_mode: 'agent' }))) return;
  const history = [prompt];
  // Cursor itself ends a turn after five follow-ups, as `loop_count` reports to the engine.
  for (let loops = 0; loops <= 5; loops += 1) {
    await work(world, engine, model, history);
    const { out } = await engine.ask('stop', { status: 'completed', loop_count: loops });
    if (!out?.followup_message) return;
    history.push(out.followup_message);
  }
}

/** Plays turns of the model until one has no calls. */
async function work(world, engine, model, history) {
  for (;;) {
    model.requests.push(JSON.stringify(history));
    const { text, calls } = await model.next(history, true);
    history.push(text);
    if (calls.length === 0) return;
    for (const { name, input } of calls) {
      history.push(name === 'delegate' ? await delegate(world, engine, model, ...input) : await perform(world, engine, name, input));
    }
  }
}

/** A sub-agent works in a conversation of its own, with the same hooks. */
async function delegate(world, engine, model, task) {
  const about = { subagent_id: 'sub-1', subagent_type: 'generalPurpose', task, parent_conversation_id: 'conversation-1' };
  const gate = await engine.ask('subagentStart', { ...about, tool_call_id: 'call-1', is_parallel_worker: false });
  if (refuses(gate)) return reason(gate);
  await work(world, engine, model, [task]);
  await engine.ask('subagentStop', { ...about, status: 'completed', loop_count: 0, summary: 'done' });
  return 'done';
}

export default {
  name: 'cursor',
  title: "Cursor's hook engine",
  needs: [['cursor', 'cursor'], ['node24', 'node24']],
  calls: { run: call('run'), read: call('read'), write: call('write'), edit: call('edit'), mcp: call('mcp'), delegate: call('delegate') },
  settings: ['proj/.cursor/hooks.json', 'home/.cursor/hooks.json'],
  // Cursor starts hooks in a login shell, which sets its own PATH.
  prepare: (world) => ['.profile', '.bashrc'].forEach((file) => world.write(`home/${file}`, `PATH='${world.bin}':$PATH\n`)),
  activate: (world) => world.write('home/.cursor/hooks.json', world.read('plugin/hooks.json')),
  limits: {
    ...PROXY_ROWS('the kit drives only its hook engine, which starts no servers'),
    vouched: { skip: true, why: 'the kit drives only its hook engine, which asks no user', instead: 'none' },
    question: { skip: true, why: 'it ignores the question of a hook in one of its modes', instead: 'an approval in another terminal, or in the console (`approval`)' },
    secret: NO_RESULTS,
    'secret-failing': NO_RESULTS,
  },
  limit: 240,
  drive,
};
