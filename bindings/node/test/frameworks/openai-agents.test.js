// OpenAI Agents with a scripted model.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { Agent, Usage, computerTool, run, setTracingDisabled, tool } from '@openai/agents';
import { Guard } from 'midrail';
import { HandoffStopped, guard as guardAgent } from 'midrail/openai-agents';
import { z } from 'zod';

import { DESTRUCTIVE, behaviour, behaviours, calls, makeTools } from './behaviours.js';

setTracingDisabled(true);

const WAYS = ['complete', 'streamed'];

/** A model that makes the calls of a script, and then answers. */
function script(turns, answer = ['done']) {
  const left = [...turns];
  const seen = [];
  const next = ({ input }) => {
    seen.push(JSON.stringify(input));
    const [name, args] = left.shift() ?? [];
    const text = { type: 'output_text', text: answer.join('') };
    if (!name) return { type: 'message', role: 'assistant', status: 'completed', content: [text] };
    return { type: 'function_call', callId: randomUUID(), name, status: 'completed', arguments: JSON.stringify(args) };
  };
  const usage = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const model = {
    getResponse: async (request) => ({ usage: new Usage(usage), output: [next(request)] }),
    getStreamedResponse: async function* (request) {
      const item = next(request);
      for (const { text } of item.content ?? []) yield { type: 'output_text_delta', delta: text };
      yield { type: 'response_done', response: { id: randomUUID(), usage, output: [item] } };
    },
  };
  return { model, seen };
}

/** Makes a tool of the framework. */
const make = (name, parameters, execute) => tool({ name, description: name, parameters, execute });

async function start(way, agent, prompt) {
  if (way === 'complete') return (await run(agent, prompt)).finalOutput;
  const result = await run(agent, prompt, { stream: true });
  let shown = '';
  for await (const text of result.toTextStream()) shown += text;
  await result.completed;
  assert.ok(shown.endsWith(result.finalOutput));
  return result.finalOutput;
}

async function play(way, guard, turns, { cwd, session, prompt, answer }) {
  const { model, seen } = script(turns, answer);
  const { ran, tools } = makeTools(cwd, make);
  const agent = new Agent({ name: 'worker', model, tools: Object.values(tools) });
  const final = await start(way, guardAgent(agent, { guard, session }), prompt);
  return { ran, seen, final };
}

async function converse(way, guard, prompts, session) {
  const { model, seen } = script([]);
  const items = [];
  for (const [index, text] of prompts.entries()) {
    items.push({ role: 'user', content: index % 2 ? text : [{ type: 'input_text', text }] });
    const answer = await start(way, guardAgent(new Agent({ name: 'worker', model }), { guard, session }), items);
    items.push({ role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: answer }] });
  }
  return seen;
}

behaviours(WAYS, play, { converse });

behaviour(WAYS, play, 'another agent is held to the same', async ({ way, cwd, store, guard }) => {
  const { ran, tools } = makeTools(cwd, make);
  const { model } = script([['Bash', { command: 'ls' }], ['Bash', DESTRUCTIVE]]);
  const inner = new Agent({ name: 'inner', model, tools: Object.values(tools) });
  const outer = new Agent({ name: 'outer', model: script([['transfer_to_inner', {}]]).model, handoffs: [inner] });
  assert.equal(await start(way, guardAgent(outer, { guard: guard(), session: 's' }), 'work'), 'done');
  assert.deepEqual(ran, ['Bash']);
  assert.deepEqual(calls(store), [
    ['s', 'Bash', 'inner', undefined],
    ['s', 'Bash', 'inner', undefined],
  ]);
});

behaviour(WAYS, play, 'an agent as a tool is held to the same, and names its parent', async ({ way, cwd, store, guard }) => {
  const { ran, tools } = makeTools(cwd, make);
  const given = guard();
  const { model } = script([['Bash', DESTRUCTIVE]]);
  const inner = guardAgent(new Agent({ name: 'inner', model, tools: Object.values(tools) }), { guard: given });
  const ask = inner.asTool({ toolName: 'ask', toolDescription: 'Ask.' });
  const outer = new Agent({ name: 'outer', model: script([['ask', { input: 'work' }]]).model, tools: [ask] });
  assert.equal(await start(way, guardAgent(outer, { guard: given, session: 's' }), 'work'), 'done');
  assert.deepEqual(ran, []);
  assert.deepEqual(calls(store), [
    ['s', 'ask', 'outer', undefined],
    ['s', 'Bash', 'inner', 'outer'],
  ]);
});

behaviour(WAYS, play, 'a hand-off can be stopped', async ({ way, guard }) => {
  const given = guard();
  given.guardrail('no-hand-offs', { on: ['before_handoff'] }, () => 'no hand-offs');
  const { model, seen } = script([]);
  const handoffs = [new Agent({ name: 'inner', model })];
  const outer = new Agent({ name: 'outer', model: script([['transfer_to_inner', {}]]).model, handoffs });
  await assert.rejects(start(way, guardAgent(outer, { guard: given }), 'work'), HandoffStopped);
  assert.deepEqual(seen, []);
});

test('tools that cannot be guarded are refused, and the original agent stays as it was', () => {
  const guard = new Guard({ store: ':memory:', packs: ['midrail:default'] });
  const computer = { environment: 'browser', dimensions: [1, 1] };
  const agent = new Agent({ name: 'worker', tools: [computerTool({ computer })] });
  assert.throws(() => guardAgent(agent, { guard }), /cannot be guarded/);
  const { model } = script([]);
  const plain = new Agent({ name: 'worker', model, tools: [make('x', z.object({}), () => 1)] });
  const [original] = plain.tools;
  guardAgent(plain, { guard });
  assert.equal(plain.model, model);
  assert.equal(plain.tools[0], original);
});
