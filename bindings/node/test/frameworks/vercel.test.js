// Vercel AI SDK with a scripted model.

import assert from 'node:assert/strict';
import { execSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { generateText, isStepCount, streamText, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { Guard } from 'midrail';
import { vercel } from 'midrail/vercel';
import { z } from 'zod';

import { REFUNDS, SECRET, folder, midrail, reviewer, writePack } from '../support.js';

const WAYS = ['generated', 'streamed'];
/** Deletes the folder of the test, and nothing else, should it ever run. */
const DESTRUCTIVE = { command: 'rm -rf ./*' };
const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that makes the calls of a script, and then answers. */
function script(calls, answer = ['do', 'ne']) {
  const left = [...calls];
  const seen = [];
  const next = ({ prompt }) => {
    seen.push(JSON.stringify(prompt));
    const [name, args] = left.shift() ?? [];
    return name && { type: 'tool-call', toolCallId: `call-${seen.length}`, toolName: name, input: JSON.stringify(args) };
  };
  const finish = (call) => ({ finishReason: { unified: call ? 'tool-calls' : 'stop', raw: undefined }, usage: USAGE });
  const model = new MockLanguageModelV4({
    doGenerate: async (request) => {
      const call = next(request);
      return { content: [call ?? { type: 'text', text: answer.join('') }], ...finish(call), warnings: [] };
    },
    doStream: async (request) => {
      const call = next(request);
      const deltas = answer.map((delta) => ({ type: 'text-delta', id: 't', delta }));
      const parts = call ? [call] : [{ type: 'text-start', id: 't' }, ...deltas, { type: 'text-end', id: 't' }];
      return { stream: ReadableStream.from([{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', ...finish(call) }]) };
    },
  });
  return { model, seen };
}

/** Tools with real effects, in the folder of the test. */
function makeTools(cwd) {
  const ran = [];
  const make = (name, shape, execute) =>
    tool({ description: name, inputSchema: z.object(shape), execute: (args) => (ran.push(name), execute(args)) });
  const tools = {
    Bash: make('Bash', { command: z.string() }, ({ command }) => execSync(command, { cwd, encoding: 'utf8' })),
    Read: make('Read', { file_path: z.string() }, ({ file_path }) => readFileSync(file_path, 'utf8')),
    Write: make('Write', { file_path: z.string(), content: z.string() }, ({ file_path, content }) => {
      writeFileSync(file_path, content);
      return { written: true };
    }),
    refund: make('refund', { order: z.number() }, () => ({ state: 'refunded' })),
  };
  return { ran, tools };
}

async function start(way, model, tools, prompt) {
  const options = { model, tools, prompt, stopWhen: isStepCount(10) };
  if (way === 'generated') return (await generateText(options)).text;
  const result = streamText({ ...options, onError: () => {} });
  let shown = '';
  for await (const text of result.textStream) shown += text;
  return shown;
}

async function play(way, guard, calls, { cwd, session, prompt = 'work', answer }) {
  const { model, seen } = script(calls, answer);
  const { ran, tools } = makeTools(cwd);
  const guarded = vercel({ guard, session });
  const final = await start(way, guarded.model(model), guarded.tools(tools), prompt);
  return { ran, seen, final };
}

/** Tests a behaviour in each way to run an agent. */
function behaviour(name, check) {
  for (const way of WAYS) {
    test(`${way}: ${name}`, async (t) => {
      const cwd = folder(t);
      const store = join(cwd, 'midrail.db');
      const guard = (pack = 'midrail:default') => new Guard({ packs: [pack], store });
      await check({ t, way, cwd, store, guard, play: (given, calls, more) => play(way, given, calls, { cwd, ...more }) });
    });
  }
}

behaviour('a harmless call runs', async ({ guard, play }) => {
  const { ran, seen, final } = await play(guard(), [['Bash', { command: "echo hel''lo" }]]);
  assert.deepEqual(ran, ['Bash']);
  assert.match(seen.at(-1), /hello/);
  assert.equal(final, 'done');
});

behaviour('a destructive call is stopped and the folder survives', async ({ cwd, guard, play }) => {
  mkdirSync(join(cwd, 'important'));
  const { ran, seen, final } = await play(guard(), [['Bash', DESTRUCTIVE]]);
  assert.deepEqual([ran, existsSync(join(cwd, 'important'))], [[], true]);
  assert.match(seen.at(-1), /Deletes folders/);
  assert.equal(final, 'done');
});

behaviour('a secret does not reach the model', async ({ cwd, guard, play }) => {
  writeFileSync(join(cwd, 'settings.txt'), `KEY=${SECRET}`);
  const { ran, seen } = await play(guard(), [['Bash', { command: 'cat settings.txt' }]]);
  assert.deepEqual(ran, ['Bash']);
  assert.match(seen.at(-1), /\[redacted:aws-access-key/);
  assert.ok(!seen.join().includes(SECRET));
});

behaviour('a prompt is replaced or stopped', async ({ guard, play }) => {
  const given = guard();
  given.guardrail('names', { on: ['before_model'] }, () => ({ effect: 'redact', replacement: 'work for (name)' }));
  const { seen } = await play(given, [], { prompt: 'work for ann' });
  assert.match(seen.join(), /work for \(name\)/);
  assert.doesNotMatch(seen.join(), /ann/);
  given.guardrail('names', { on: ['before_model'] }, () => 'no names');
  const stopped = await play(given, [], { prompt: 'work for ann' });
  assert.deepEqual(stopped.seen, []);
  assert.match(stopped.final, /no names/);
});

behaviour('an unread file is not overwritten', async ({ cwd, guard, play }) => {
  const file_path = join(cwd, 'notes.txt');
  writeFileSync(file_path, 'notes');
  const write = ['Write', { file_path, content: 'new' }];
  assert.deepEqual((await play(guard(), [write])).ran, []);
  assert.equal(readFileSync(file_path, 'utf8'), 'notes');
  assert.deepEqual((await play(guard(), [['Read', { file_path }], write])).ran, ['Read', 'Write']);
  assert.equal(readFileSync(file_path, 'utf8'), 'new');
});

behaviour('an approval lets exactly one call pass', async ({ cwd, store, guard, play }) => {
  const answer = reviewer(cwd, store);
  const given = guard(writePack(cwd, REFUNDS));
  const refund = async (order) => (await play(given, [['refund', { order }]], { session: 'chat-7' })).ran;
  assert.deepEqual(await refund(7), []);
  const [pending] = midrail(['approvals', 'list', '--json', '--store', store]).split('\n');
  answer(JSON.parse(pending));
  assert.deepEqual(await refund(8), []);
  assert.deepEqual(await refund(7), ['refund']);
  assert.deepEqual(await refund(7), []);
});

behaviour('a throwing guardrail stops the call', async ({ guard, play }) => {
  const given = guard();
  given.guardrail('mine', { tools: ['refund'] }, () => {
    throw new Error('boom');
  });
  const { ran, seen } = await play(given, [['refund', { order: 7 }]]);
  assert.deepEqual(ran, []);
  assert.match(seen.at(-1), /mine/);
});

behaviour('a sub-agent is held to the same, and names its parent', async ({ way, cwd, store, guard }) => {
  const given = guard();
  const { ran, tools } = makeTools(cwd);
  const inner = vercel({ guard: given, agent: { id: 'inner' } });
  const execute = () => {
    const { model } = script([['Bash', { command: 'ls' }], ['Bash', DESTRUCTIVE]]);
    return start(way, inner.model(model), inner.tools(tools), 'work');
  };
  const delegate = tool({ description: 'delegate', inputSchema: z.object({}), execute });
  const outer = vercel({ guard: given, session: 'delegated', agent: { id: 'outer' } });
  assert.equal(await start(way, outer.model(script([['delegate', {}]]).model), outer.tools({ delegate }), 'work'), 'done');
  assert.deepEqual(ran, ['Bash']);
  const lines = midrail(['audit', 'export', '--store', store]).trim().split('\n').map((line) => JSON.parse(line));
  const calls = lines.flatMap(({ body }) => (body?.event.kind === 'before_tool' ? [body] : []));
  const names = calls.map(({ session, event }) => [session, event.tool.name, event.agent.id, event.parent]);
  assert.deepEqual(names, [
    ['delegated', 'delegate', 'outer', undefined],
    ['delegated', 'Bash', 'inner', 'outer'],
    ['delegated', 'Bash', 'inner', 'outer'],
  ]);
});

behaviour('every effect lands', async ({ guard, play }) => {
  for (const [effect, runs] of Object.entries({ warn: true, retry: false, escalate: false, block: false })) {
    const given = guard();
    given.guardrail('mine', { tools: ['refund'] }, () => ({ effect, reason: 'there is a limit for refunds' }));
    const { ran, seen, final } = await play(given, [['refund', { order: 7 }]]);
    assert.deepEqual(ran, runs ? ['refund'] : [], effect);
    assert.match(seen.at(-1), /there is a limit for refunds/, effect);
    assert.equal(seen.at(-1).includes('refunded'), runs, effect);
    assert.equal(final, 'done', effect);
  }
});

behaviour('a halt ends the run', async ({ guard, play }) => {
  const given = guard();
  given.guardrail('mine', { tools: ['refund'] }, () => ({ effect: 'halt', reason: 'there is a limit' }));
  const { ran, seen, final } = await play(given, [['refund', { order: 7 }], ['Bash', { command: 'ls' }]]);
  assert.deepEqual([ran, seen.length], [[], 1]);
  assert.match(final, /there is a limit/);
});

behaviour('a withheld result does not reach the model', async ({ guard, play }) => {
  const given = guard();
  given.guardrail('mine', { tools: ['Bash'], on: ['after_tool'] }, () => 'not for the model');
  const { ran, seen } = await play(given, [['Bash', { command: "echo zeb''ra" }]]);
  assert.deepEqual(ran, ['Bash']);
  assert.match(seen.at(-1), /not for the model/);
  assert.doesNotMatch(seen.join(), /zebra/);
});

behaviour('a secret in the answer is not shown', async ({ guard, play }) => {
  const { final } = await play(guard(), [], { answer: ['the key is ', SECRET.slice(0, 7), SECRET.slice(7), ' for now'] });
  assert.match(final, /^the key is \[redacted:aws-access-key#\w+\] for now$/);
});

behaviour('the model has another turn if it may not stop yet', async ({ guard, play }) => {
  const given = guard();
  let turns = 0;
  given.guardrail('mine', { on: ['before_stop'] }, () => {
    turns += 1;
    return turns > 1 || { effect: 'retry', reason: 'write the report first' };
  });
  const { seen, final } = await play(given, []);
  assert.equal(seen.length, 2);
  assert.match(seen.at(-1), /write the report first/);
  assert.match(final, /done$/);
});

test('tools that run elsewhere are refused', () => {
  const client = tool({ description: 'x', inputSchema: z.object({}) });
  const guard = new Guard({ store: ':memory:', packs: ['midrail:default'] });
  assert.throws(() => vercel({ guard }).tools({ client }), /cannot be guarded/);
  assert.deepEqual(Object.keys(vercel({ guard, unguarded: ['client'] }).tools({ client })), ['client']);
});
