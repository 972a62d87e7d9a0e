// The Claude Agent SDK: the real Claude Code with a scripted model.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk';
import { Session } from 'midrail';
import { hooks as guardHooks } from 'midrail/claude';
import { z } from 'zod';

import { REFUNDS, SECRET, midrail, reviewer, writePack } from '../support.js';
import { startModel } from './anthropic-model.js';
import { DESTRUCTIVE, behaviour, behaviours, calls } from './behaviours.js';

const WAYS = ['prompt', 'stream of prompts'];
const SERVER = 'mcp__shop__';
const INNER = 'the-inner-agent';
const ORDER_8 = `
pack: shop
guardrails:
  - id: order-8
    tools: ${SERVER}refund
    when: tool.args.order != 8
    modify: {args.order: 8}
`;

/** Runs agents with these hooks. `scripts` has the calls of each of them. */
async function start(way, hooks, scripts, { cwd, prompts = ['work'], answer, refund = () => 'refunded' }) {
  const ran = [];
  const model = await startModel(scripts, answer?.join(''));
  const sell = tool('refund', 'Refund an order.', { order: z.number() }, async ({ order }) => {
    ran.push('refund');
    return { content: [{ type: 'text', text: refund(order) }] };
  });
  const record = async ({ tool_name: name }) => {
    // A tool of the server records its own calls, and a sub-agent is no tool of the test.
    if (!name.startsWith(SERVER) && name !== 'Agent') ran.push(name);
    return {};
  };
  const recording = { hooks: [record] };
  for (const event of ['PostToolUse', 'PostToolUseFailure']) hooks[event] = [...(hooks[event] ?? []), recording];
  const options = {
    cwd,
    hooks,
    model: 'claude-sonnet-4-5',
    settingSources: [],
    allowedTools: ['Bash', 'Read', 'Write', 'Agent', `${SERVER}refund`],
    agents: { inner: { description: 'works', prompt: INNER, tools: ['Bash'] } },
    mcpServers: { shop: createSdkMcpServer({ name: 'shop', tools: [sell] }) },
    env: {
      ...process.env,
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  };
  const texts = [];
  let results = 0;
  let answered = () => {};
  async function* stream() {
    for (const [index, content] of prompts.entries()) {
      yield { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null, session_id: '' };
      if (results <= index) await new Promise((resolve) => (answered = resolve));
    }
  }
  try {
    for await (const message of query({ prompt: way === 'prompt' ? prompts[0] : stream(), options })) {
      if (message.type === 'assistant' || message.type === 'user') {
        const { content } = message.message;
        texts.push(...(typeof content === 'string' ? [content] : content.map((part) => part.text ?? JSON.stringify(part))));
      } else if (message.type === 'result') {
        texts.push(message.result ?? message.errors.join());
        results += 1;
        answered();
      }
    }
  } finally {
    await model.stop();
  }
  return { ran, seen: model.seen, final: texts.includes('done') ? 'done' : texts.join('\n') };
}

function play(way, guard, turns, { session, prompt = 'work', ...given }) {
  const named = turns.map(([name, args]) => [name === 'refund' ? `${SERVER}refund` : name, args]);
  return start(way, guardHooks({ guard, session }), { '': named }, { ...given, prompts: [prompt] });
}

/** The same by a sub-agent. */
function delegate(way, guard, turns, given) {
  const order = ['Agent', { subagent_type: 'inner', description: 'x', prompt: 'x', run_in_background: false }];
  const hooks = guardHooks({ guard, session: 'delegated', agent: { id: 'outer' } });
  return start(way, hooks, { [INNER]: turns, '': [order] }, given);
}

behaviours(WAYS, play, {
  // Claude Code itself does not overwrite a file with `Write` that it has not read.
  overwrite: (path) => ['Bash', { command: `printf new > ${path}` }],
  cannot: ['a prompt is replaced or stopped', 'a secret in the answer is not shown'],
});

const each = (name, check) => behaviour(WAYS, play, name, check);

each('a prompt is replaced or stopped', async ({ guard, play }) => {
  // Claude Code cannot replace a prompt, so a change stops it.
  for (const answer of ['no names', { effect: 'redact', reason: 'no names', replacement: 'work for (name)' }]) {
    const given = guard();
    given.guardrail('names', { on: ['before_model'] }, () => answer);
    const { seen, final } = await play(given, [], { prompt: 'work for ann' });
    assert.deepEqual(seen, []);
    assert.match(final, /no names/);
  }
});

each('a file in a prompt is decided as a read', async ({ cwd, guard, play }) => {
  writeFileSync(join(cwd, 'plans.txt'), 'zebra');
  const given = guard();
  given.guardrail('plans', { tools: ['Read'] }, ({ args }) => (args.file_path.includes('plans') ? 'no plans' : true));
  const { seen, final } = await play(given, [], { prompt: 'work with @plans.txt' });
  assert.deepEqual(seen, []);
  assert.match(final, /no plans/);
  assert.match((await play(guard(), [], { prompt: 'work with @plans.txt' })).seen.join(), /zebra/);
});

each('a call waits for its approval', async ({ way, cwd, store, guard }) => {
  const answer = reviewer(cwd, store);
  const hooks = guardHooks({ guard: guard(writePack(cwd, REFUNDS)), waitMs: 40_000 });
  const running = start(way, hooks, { '': [[`${SERVER}refund`, { order: 7 }]] }, { cwd });
  const end = Date.now() + 30_000;
  let pending = '';
  while (!pending && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    [pending] = midrail(['approvals', 'list', '--json', '--store', store]).split('\n');
  }
  answer(JSON.parse(pending));
  const { ran, seen } = await running;
  assert.deepEqual([ran, seen.length], [['refund'], 2]);
});

each('changed arguments are those that run', async ({ cwd, guard, play }) => {
  const orders = [];
  const refund = (order) => (orders.push(order), 'refunded');
  await play(guard(writePack(cwd, ORDER_8)), [['refund', { order: 7 }]], { refund });
  assert.deepEqual(orders, [8]);
});

each('a secret in any result does not reach the model', async ({ cwd, guard, play }) => {
  const file_path = join(cwd, 'settings.txt');
  writeFileSync(file_path, `mode=x\nKEY=${SECRET}\n`);
  const refund = () => `KEY=${SECRET}`;
  for (const call of [['Read', { file_path }], ['refund', { order: 7 }]]) {
    const redacted = await play(guard(), [call], { refund });
    assert.match(redacted.seen.at(-1), /\[redacted:aws-access-key/);
    assert.ok(!redacted.seen.join().includes(SECRET));
    const given = guard();
    given.guardrail('mine', { on: ['after_tool'] }, () => 'not for the model');
    const withheld = await play(given, [call], { refund });
    assert.match(withheld.seen.at(-1), /not for the model/);
    assert.ok(!withheld.seen.join().includes('KEY='));
  }
});

each('a secret in an error ends the run', async ({ cwd, guard, play }) => {
  writeFileSync(join(cwd, 'settings.txt'), `KEY=${SECRET}`);
  const ended = await play(guard(), [['Bash', { command: 'cat settings.txt; exit 3' }], ['Bash', { command: 'ls' }]]);
  assert.deepEqual([ended.ran, ended.seen.length], [['Bash'], 1]);
  const { seen, final } = await play(guard(), [['Bash', { command: "echo hel''lo; exit 3" }]]);
  assert.match(seen.at(-1), /hello/);
  assert.equal(final, 'done');
});

behaviour(['stream of prompts'], play, 'a halted conversation does not continue', async ({ way, cwd, guard }) => {
  const given = guard();
  given.guardrail('mine', { tools: [`${SERVER}refund`] }, () => ({ effect: 'halt', reason: 'there is a limit' }));
  const scripts = { '': [[`${SERVER}refund`, { order: 7 }]] };
  const { ran, seen, final } = await start(way, guardHooks({ guard: given }), scripts, { cwd, prompts: ['work', 'continue'] });
  assert.deepEqual([ran, seen.length], [[], 1]);
  assert.match(final, /there is a limit[^]*there is a limit/);
});

each('a sub-agent is held to the same, and names its parent', async ({ way, cwd, store, guard }) => {
  mkdirSync(join(cwd, 'important'));
  const { ran } = await delegate(way, guard(), [['Bash', { command: 'ls' }], ['Bash', DESTRUCTIVE]], { cwd });
  assert.deepEqual([ran, existsSync(join(cwd, 'important'))], [['Bash'], true]);
  const [outer, ...inner] = calls(store);
  assert.deepEqual(outer, ['delegated', 'Agent', 'outer', undefined]);
  assert.deepEqual(inner.map(([session, name, , parent]) => [session, name, parent]), [
    ['delegated', 'Bash', 'outer'],
    ['delegated', 'Bash', 'outer'],
  ]);
  assert.match(midrail(['audit', 'list', '--store', store, '--effect', 'block', '--json']), /Bash/);
});

each('a secret in a result of a sub-agent does not reach the model', async ({ way, cwd, guard }) => {
  writeFileSync(join(cwd, 'settings.txt'), `KEY=${SECRET}`);
  for (const command of ['cat settings.txt', 'cat settings.txt; exit 3']) {
    const { ran, seen } = await delegate(way, guard(), [['Bash', { command }]], { cwd });
    assert.deepEqual(ran, ['Bash']);
    assert.ok(!seen.join().includes(SECRET));
  }
});

each('a start of a sub-agent can be stopped', async ({ way, cwd, guard }) => {
  const given = guard();
  given.guardrail('no-agents', { tools: ['Agent'] }, () => 'no agents');
  const { ran, seen } = await delegate(way, given, [['Bash', { command: 'ls' }]], { cwd });
  assert.deepEqual(ran, []);
  assert.match(seen.at(-1), /no agents/);
});

each('a failure of the adapter stops what it decides', async ({ t, guard, play }) => {
  const fail = async (method, turns) => {
    const broken = t.mock.method(Session.prototype, method, async () => {
      throw new Error('the adapter is broken');
    });
    const outcome = await play(guard(), turns);
    broken.mock.restore();
    return outcome;
  };
  const call = ['Bash', { command: "echo zeb''ra" }];
  const prompt = await fail('beforeModel', [call]);
  assert.deepEqual([prompt.ran, prompt.seen], [[], []]);
  const before = await fail('beforeTool', [call]);
  assert.deepEqual(before.ran, []);
  assert.match(before.seen.at(-1), /the adapter is broken/);
  const after = await fail('afterTool', [call]);
  assert.doesNotMatch(after.seen.join(), /zebra/);
  const failed = await fail('afterTool', [['Bash', { command: "echo zeb''ra; exit 3" }]]);
  assert.deepEqual([failed.ran, failed.seen.length], [['Bash'], 1]);
});

each('a failure of the connection to the adapter stops calls', async ({ way, cwd, guard }) => {
  const hooks = guardHooks({ guard: guard() });
  hooks.PreToolUse[0].hooks = [
    async () => {
      throw new Error('the connection is broken');
    },
  ];
  assert.deepEqual((await start(way, hooks, { '': [['Bash', { command: 'ls' }]] }, { cwd })).ran, []);
});
