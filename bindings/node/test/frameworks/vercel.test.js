// Vercel AI SDK with a scripted model.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { generateText, isStepCount, streamText, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { Guard } from 'midrail';
import { vercel } from 'midrail/vercel';
import { z } from 'zod';

import { DESTRUCTIVE, behaviour, behaviours, calls, makeTools } from './behaviours.js';

const WAYS = ['generated', 'streamed'];
const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that makes the calls of a script, and then answers. */
function script(calls, answer = ['done']) {
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

/** Makes a tool of the framework. */
const make = (description, inputSchema, execute) => tool({ description, inputSchema, execute });

async function start(way, model, tools, prompt) {
  const given = typeof prompt === 'string' ? { prompt } : { messages: prompt };
  const options = { model, tools, ...given, stopWhen: isStepCount(10) };
  if (way === 'generated') return (await generateText(options)).text;
  const result = streamText({ ...options, onError: () => {} });
  let shown = '';
  for await (const text of result.textStream) shown += text;
  return shown;
}

async function play(way, guard, turns, { cwd, session, prompt, answer }) {
  const { model, seen } = script(turns, answer);
  const { ran, tools } = makeTools(cwd, make);
  const guarded = vercel({ guard, session });
  const final = await start(way, guarded.model(model), guarded.tools(tools), prompt);
  return { ran, seen, final };
}

async function converse(way, guard, prompts, session) {
  const { model, seen } = script([]);
  const messages = [];
  for (const content of prompts) {
    messages.push({ role: 'user', content });
    const guarded = vercel({ guard, session });
    messages.push({ role: 'assistant', content: await start(way, guarded.model(model), {}, messages) });
  }
  return seen;
}

behaviours(WAYS, play, { converse });

behaviour(WAYS, play, 'a sub-agent is held to the same, and names its parent', async ({ way, cwd, store, guard }) => {
  const given = guard();
  const { ran, tools } = makeTools(cwd, make);
  const inner = vercel({ guard: given, agent: { id: 'inner' } });
  const execute = () => {
    const { model } = script([['Bash', { command: 'ls' }], ['Bash', DESTRUCTIVE]]);
    return start(way, inner.model(model), inner.tools(tools), 'work');
  };
  const delegate = tool({ description: 'delegate', inputSchema: z.object({}), execute });
  const outer = vercel({ guard: given, session: 'delegated', agent: { id: 'outer' } });
  assert.equal(await start(way, outer.model(script([['delegate', {}]]).model), outer.tools({ delegate }), 'work'), 'done');
  assert.deepEqual(ran, ['Bash']);
  assert.deepEqual(calls(store), [
    ['delegated', 'delegate', 'outer', undefined],
    ['delegated', 'Bash', 'inner', 'outer'],
    ['delegated', 'Bash', 'inner', 'outer'],
  ]);
});

test('tools that run elsewhere are refused', () => {
  const client = tool({ description: 'x', inputSchema: z.object({}) });
  const guard = new Guard({ store: ':memory:', packs: ['midrail:default'] });
  assert.throws(() => vercel({ guard }).tools({ client }), /cannot be guarded/);
  assert.deepEqual(Object.keys(vercel({ guard, unguarded: ['client'] }).tools({ client })), ['client']);
});
