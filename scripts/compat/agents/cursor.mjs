// Cursor: the hook engine of its SDK. The agent itself needs Cursor's servers, so this file plays the agent: it calls the
// engine before and after each step as Cursor does, and takes the step only if the engine permits it.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../process.mjs';

const ENGINE = fileURLToPath(new URL('../cursor-engine.mjs', import.meta.url));
const call = (name) => (...args) => ({ name, input: args });

async function ask(world, step, body) {
  const ended = await run(world.lab.node24, [ENGINE, world.lab.cursor, world.proj], {
    cwd: world.proj, env: { ...world.env, SHELL: '/bin/bash' }, input: JSON.stringify({ step, body }), limit: 90,
  });
  fs.appendFileSync(world.path('stderr.txt'), ended.stderr);
  const answer = ended.stdout.split('\n').find((line) => line.startsWith('{"step"'));
  if (!answer) throw new Error(`Cursor's engine did not answer: ${ended.stderr.trim().split('\n').pop()}`);
  fs.appendFileSync(world.path('stdout.txt'), `${JSON.stringify({ asked: body })}\n${answer}\n`);
  return JSON.parse(answer);
}

const refuses = ({ out, thrown }) => Boolean(thrown) || ['deny', 'ask'].includes(out?.permission) || out?.continue === false;
const reason = ({ out, thrown }) => [thrown, out?.agent_message, out?.user_message, out?.reason].filter(Boolean).join(' ') || 'denied';

const TOOLS = {
  run: (command) => ({ tool_name: 'Shell', tool_input: { command, cwd: '' } }),
  read: (file_path) => ({ tool_name: 'Read', tool_input: { file_path } }),
  write: (file_path, content) => ({ tool_name: 'Write', tool_input: { file_path, content } }),
  edit: (file_path, old_string, new_string) => ({ tool_name: 'Write', tool_input: { file_path, old_string, new_string } }),
};

/** One call: calls the engine, executes the call, and returns what the model would receive. */
async function perform(world, kind, args, serial) {
  const tool = { ...TOOLS[kind](...args), tool_use_id: `t${serial}` };
  const before = await ask(world, 'preToolUse', tool);
  if (refuses(before)) return reason(before);
  if (kind === 'run') {
    const gate = await ask(world, 'beforeShellExecution', { command: args[0], cwd: world.proj, sandbox: false });
    if (refuses(gate)) return reason(gate);
    const { stdout, stderr, status } = spawnSync('sh', ['-c', args[0]], { cwd: world.proj, env: world.env, encoding: 'utf8' });
    await ask(world, 'afterShellExecution', { command: args[0], output: stdout + stderr, duration: 1, sandbox: false });
    await ask(world, 'postToolUse', { ...tool, tool_output: JSON.stringify({ output: stdout + stderr, exitCode: status }), duration: 1 });
    return stdout + stderr;
  }
  let content = '';
  if (kind === 'read') {
    content = fs.readFileSync(args[0], 'utf8');
    const gate = await ask(world, 'beforeReadFile', { content, file_path: args[0], attachments: [] });
    if (refuses(gate)) return reason(gate);
  } else {
    const text = kind === 'write' ? args[1] : fs.readFileSync(args[0], 'utf8').replace(args[1], args[2]);
    const old_string = fs.existsSync(args[0]) ? fs.readFileSync(args[0], 'utf8') : '';
    fs.mkdirSync(path.dirname(args[0]), { recursive: true });
    fs.writeFileSync(args[0], text);
    await ask(world, 'afterFileEdit', { file_path: args[0], edits: [{ old_string, new_string: text }] });
  }
  await ask(world, 'postToolUse', { ...tool, tool_output: JSON.stringify({ content }), duration: 1 });
  return content || 'done';
}

async function drive(world, model, prompt) {
  const history = [prompt];
  const turn = () => {
    model.requests.push(JSON.stringify(history));
    return model.next(history, true);
  };
  fs.writeFileSync(world.path('stderr.txt'), '');
  fs.writeFileSync(world.path('stdout.txt'), '');
  await ask(world, 'sessionStart', { is_background_agent: false });
  if (refuses(await ask(world, 'beforeSubmitPrompt', { prompt, attachments: [], composer_mode: 'agent' }))) return { code: 0 };
  // Cursor itself ends a turn after five follow-ups, as `loop_count` reports to the engine.
  for (let serial = 0, loops = 0; serial < 40; serial += 1) {
    const { text, calls } = await turn();
    history.push(text);
    for (const { name, input } of calls) history.push(await perform(world, name, input, serial));
    if (calls.length) continue;
    const { out } = await ask(world, 'stop', { status: 'completed', loop_count: loops });
    loops += 1;
    if (!out?.followup_message) return { code: 0 };
    history.push(out.followup_message);
  }
  return { code: 0, late: true };
}

export default {
  name: 'cursor',
  title: "Cursor's hook engine",
  needs: [['cursor', 'cursor'], ['node24', 'node24']],
  calls: { run: call('run'), read: call('read'), write: call('write'), edit: call('edit') },
  settings: ['proj/.cursor/hooks.json'],
  // Cursor starts hooks in a login shell, which sets its own PATH.
  prepare: (world) => ['.profile', '.bashrc'].forEach((file) => world.write(`home/${file}`, `PATH='${world.bin}':$PATH\n`)),
  cannot: {
    secret: "a hook can replace only the results of MCP tools, and Cursor's own agent cannot be run here",
    'sub-agent': "Cursor's own agent cannot be run here, so there is no sub-agent",
  },
  limit: 240,
  drive,
};
