// Mastra with a scripted model.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { Agent } from '@mastra/core/agent';
import { MockMemory } from '@mastra/core/memory';
import { createMockModel } from '@mastra/core/test-utils/llm-mock';
import { createTool } from '@mastra/core/tools';
import { MockLanguageModelV4 } from 'ai/test';
import { Guard, Session } from 'midrail';
import { guard as guardAgent } from 'midrail/mastra';
import { z } from 'zod';

import { SECRET } from '../support.js';
import { DESTRUCTIVE, behaviour, behaviours, calls, makeTools } from './behaviours.js';

const WAYS = ['generated', 'streamed'];
const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that makes the calls of a script, and then answers. */
function script(turns, answer = ['done']) {
  let left = [...turns];
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
  return { model, seen, restart: () => (left = [...turns]) };
}

/** Makes a tool of the framework. */
const make = (id, inputSchema, execute) => createTool({ id, description: id, inputSchema, execute: async (args) => execute(args) });

const settings = (id, model, more) => ({ id, name: id, instructions: 'work', model, ...more });

async function start(way, agent, prompt) {
  if (way === 'generated') return (await agent.generate(prompt, { maxSteps: 10 })).text;
  const result = await agent.stream(prompt, { maxSteps: 10 });
  let shown = '';
  for await (const text of result.textStream) shown += text;
  return shown;
}

async function play(way, guard, turns, { cwd, session, prompt, answer }) {
  const { model, seen } = script(turns, answer);
  const { ran, tools } = makeTools(cwd, make);
  const agent = new Agent(guardAgent(settings('worker', model, { tools }), { guard, session }));
  const final = await start(way, agent, prompt);
  return { ran, seen, final };
}

async function converse(way, guard, prompts, session) {
  const { model, seen } = script([]);
  const messages = [];
  for (const content of prompts) {
    messages.push({ role: 'user', content });
    const agent = new Agent(guardAgent(settings('worker', model), { guard, session }));
    messages.push({ role: 'assistant', content: await start(way, agent, messages) });
  }
  return seen;
}

behaviours(WAYS, play, { converse });

const each = (name, check) => behaviour(WAYS, play, name, check);

each('a sub-agent is held to the same, and names its parent', async ({ way, cwd, store, guard }) => {
  const given = guard();
  mkdirSync(join(cwd, 'important'));
  const { ran, tools } = makeTools(cwd, make);
  const turns = [['Bash', { command: 'ls' }], ['Bash', DESTRUCTIVE]];
  const inner = new Agent(guardAgent({ ...settings('inner', script(turns).model, { tools }), description: 'x' }, { guard: given }));
  const { model } = script([['agent-inner', { prompt: 'x' }]]);
  const outer = new Agent(guardAgent(settings('outer', model, { agents: { inner } }), { guard: given, session: 'delegated' }));
  assert.equal(await start(way, outer, 'work'), 'done');
  assert.deepEqual([ran, existsSync(join(cwd, 'important'))], [['Bash'], true]);
  assert.deepEqual(calls(store), [
    ['delegated', 'agent-inner', 'outer', undefined],
    ['delegated', 'Bash', 'inner', 'outer'],
    ['delegated', 'Bash', 'inner', 'outer'],
  ]);
});

each('a start of a sub-agent can be stopped', async ({ way, guard }) => {
  const given = guard();
  given.guardrail('no-agents', { tools: ['agent-inner'] }, () => 'no agents');
  const unused = script([]);
  const inner = new Agent({ ...settings('inner', unused.model), description: 'x' });
  const { model, seen } = script([['agent-inner', { prompt: 'x' }]]);
  await start(way, new Agent(guardAgent(settings('outer', model, { agents: { inner } }), { guard: given })), 'work');
  assert.deepEqual(unused.seen, []);
  assert.match(seen.at(-1), /no agents/);
});

each('models of an older version are held to the same', async ({ way, guard }) => {
  const model = createMockModel({ mockText: `the key is ${SECRET} for now`, version: 'v2' });
  const given = guard();
  const agent = new Agent(guardAgent(settings('worker', model), { guard: given }));
  assert.match(await start(way, agent, 'work'), /^the key is \[redacted:aws-access-key#\w+\] for now$/);
  given.guardrail('names', { on: ['before_model'] }, () => 'no names');
  assert.match(await start(way, agent, 'work'), /no names/);
});

each('runs without a thread are sessions of their own', async ({ way, cwd, store, guard }) => {
  const { tools } = makeTools(cwd, make);
  const { model, restart } = script([['Bash', { command: 'ls' }], ['Bash', { command: 'pwd' }]]);
  const agent = new Agent(guardAgent(settings('worker', model, { tools }), { guard: guard() }));
  await start(way, agent, 'work');
  restart();
  await start(way, agent, 'work');
  const [first, second, third, fourth] = calls(store).map(([session]) => session);
  assert.deepEqual([second, fourth], [first, third]);
  assert.notEqual(third, first);
});

each('the thread of the memory is the session', async ({ way, cwd, store, guard }) => {
  const { tools } = makeTools(cwd, make);
  const { model } = script([['Bash', { command: 'ls' }]]);
  const agent = new Agent(guardAgent(settings('worker', model, { tools, memory: new MockMemory() }), { guard: guard() }));
  const options = { memory: { thread: 'thread-7', resource: 'ann' } };
  const result = await agent[way === 'generated' ? 'generate' : 'stream']('work', options);
  assert.equal(await result.text, 'done');
  assert.deepEqual(calls(store), [['thread-7', 'Bash', 'worker', undefined]]);
});

each('a warning is added to what a tool shows the model', async ({ way, guard }) => {
  const given = guard();
  given.guardrail('mine', { tools: ['report'] }, () => ({ effect: 'warn', reason: 'reports are slow' }));
  const { model, seen } = script([['report', {}]]);
  const toModelOutput = ({ pages }) => ({ type: 'text', value: `${pages} pages` });
  const inputSchema = z.object({});
  const report = createTool({ id: 'report', description: 'x', inputSchema, execute: async () => ({ pages: 7 }), toModelOutput });
  const agent = new Agent(guardAgent(settings('worker', model, { tools: { report } }), { guard: given }));
  assert.equal(await start(way, agent, 'work'), 'done');
  assert.match(seen.at(-1), /7 pages/);
  assert.match(seen.at(-1), /reports are slow/);
});

each('other processors of the agent run before the decision', async ({ way, cwd, guard }) => {
  const { ran, tools } = makeTools(cwd, make);
  const add = { id: 'add', processInputStep: () => ({ tools }) };
  for (const inputProcessors of [[add], async () => [add]]) {
    const { model, seen } = script([['Bash', DESTRUCTIVE]]);
    const agent = new Agent(guardAgent(settings('worker', model, { inputProcessors }), { guard: guard() }));
    await start(way, agent, 'work');
    assert.deepEqual(ran, []);
    assert.match(seen.at(-1), /Deletes everything that it finds/);
  }
});

each('tools do not run if a call replaces the processors', async ({ way, cwd, guard }) => {
  const { ran, tools } = makeTools(cwd, make);
  for (const given of [tools, () => tools]) {
    const { model, seen } = script([['Bash', { command: 'ls' }]]);
    const agent = new Agent(guardAgent(settings('worker', model, { tools: given }), { guard: guard() }));
    await (await agent[way === 'generated' ? 'generate' : 'stream']('work', { inputProcessors: [] })).text;
    assert.deepEqual([ran, seen.length], [[], 2]);
    assert.match(seen.at(-1), /the processors of the agent were replaced/);
    assert.equal(await start(way, agent, 'work'), 'done');
  }
});

each('a failure of the adapter stops what it decides', async ({ t, guard, play }) => {
  const fail = async (method) => {
    const broken = t.mock.method(Session.prototype, method, async () => {
      throw new Error('the adapter is broken');
    });
    const outcome = await play(guard(), [['Bash', { command: "echo zeb''ra" }]]).catch((error) => ({ ran: [], seen: [], error }));
    broken.mock.restore();
    return outcome;
  };
  assert.deepEqual((await fail('conversation')).seen, []);
  assert.deepEqual((await fail('beforeTool')).ran, []);
  assert.doesNotMatch((await fail('afterTool')).seen.join(), /zebra/);
});

test('methods that do not use processors for each step are refused', async () => {
  const guard = new Guard({ store: ':memory:', packs: ['midrail:default'] });
  let requests = 0;
  const count = () => (requests += 1);
  const model = createMockModel({ mockText: 'done', version: 'v1', spyGenerate: count, spyStream: count });
  const agent = new Agent(guardAgent(settings('worker', model), { guard }));
  await assert.rejects(agent.generateLegacy('work'), /cannot be guarded/);
  await assert.rejects(agent.streamLegacy('work'), /cannot be guarded/);
  assert.equal(requests, 0);
});

test('tools that run elsewhere are refused', async () => {
  const guard = new Guard({ store: ':memory:', packs: ['midrail:default'] });
  const client = createTool({ id: 'client', description: 'x', inputSchema: z.object({}) });
  const run = async (unguarded) => {
    const { model, seen } = script([]);
    await new Agent(guardAgent(settings('worker', model, { tools: { client } }), { guard, unguarded })).generate('work');
    return seen.length;
  };
  await assert.rejects(run([]), /cannot be guarded/);
  assert.equal(await run(['client']), 1);
});
