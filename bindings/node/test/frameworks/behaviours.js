// What every adapter has to do, as tests with the real framework and a scripted model.

import assert from 'node:assert/strict';
import { execSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { Guard } from 'midrail';
import { z } from 'zod';

import { REFUNDS, SECRET, folder, midrail, reviewer, writePack } from '../support.js';

/** Deletes what is in the folder of the test, and nothing else, should it ever run. Claude Code itself refuses `rm -rf ./*`. */
export const DESTRUCTIVE = { command: 'find ./* -delete' };

/** The names of the tool: its own, and that of an MCP server in the process. */
export const REFUND = ['refund', 'mcp__shop__refund'];

/** The call that overwrites a file with `new`. */
const overwriteCall = (file_path) => ['Write', { file_path, content: 'new' }];

/** Tools with real effects, in the folder of the test. `make` makes a tool of the framework. */
export function makeTools(cwd, make) {
  const ran = [];
  const add = (name, shape, execute) => make(name, z.object(shape), (args) => (ran.push(name), execute(args)));
  const tools = {
    Bash: add('Bash', { command: z.string() }, ({ command }) => execSync(command, { cwd, encoding: 'utf8' })),
    Read: add('Read', { file_path: z.string() }, ({ file_path }) => readFileSync(file_path, 'utf8')),
    Write: add('Write', { file_path: z.string(), content: z.string() }, ({ file_path, content }) => {
      writeFileSync(file_path, content);
      return { written: true };
    }),
    refund: add('refund', { order: z.number() }, () => ({ state: 'refunded' })),
  };
  return { ran, tools };
}

/** The records of events of a kind. */
function records(store, kind) {
  const lines = midrail(['audit', 'export', '--store', store]).trim().split('\n').map((line) => JSON.parse(line));
  return lines.flatMap(({ body }) => (body?.event.kind === kind ? [body] : []));
}

/** The calls in the audit log: session, tool, agent and parent. */
export function calls(store) {
  return records(store, 'before_tool').map(({ session, event }) => [session, event.tool.name, event.agent.id, event.parent]);
}

/** Tests a behaviour in each way to run an agent. `run` runs one whose model makes calls, and then answers. */
export function behaviour(ways, run, name, check) {
  for (const way of ways) {
    test(`${way}: ${name}`, async (t) => {
      const cwd = folder(t);
      const store = join(cwd, 'midrail.db');
      const guard = (pack = 'midrail:default') => new Guard({ packs: [pack], store });
      const play = (given, script, more) => run(way, given, script, { cwd, prompt: 'work', answer: ['do', 'ne'], ...more });
      await check({ t, way, cwd, store, guard, play });
    });
  }
}

/**
 * Tests everything that every adapter has to do. `cannot` names what a framework cannot do. `converse` runs an agent once for each
 * prompt, each time with all that was said before, and returns the requests to the model.
 */
export function behaviours(ways, run, { overwrite = overwriteCall, cannot = [], converse } = {}) {
  const each = (name, check) => {
    if (!cannot.includes(name)) behaviour(ways, run, name, check);
  };

  each('a harmless call runs', async ({ guard, play }) => {
    const { ran, seen, final } = await play(guard(), [['Bash', { command: "echo hel''lo" }]]);
    assert.deepEqual(ran, ['Bash']);
    assert.match(seen.at(-1), /hello/);
    assert.equal(final, 'done');
  });

  each('a destructive call is stopped and the folder survives', async ({ cwd, guard, play }) => {
    mkdirSync(join(cwd, 'important'));
    const { ran, seen, final } = await play(guard(), [['Bash', DESTRUCTIVE]]);
    assert.deepEqual([ran, existsSync(join(cwd, 'important'))], [[], true]);
    assert.match(seen.at(-1), /Deletes everything that it finds/);
    assert.equal(final, 'done');
  });

  each('a secret does not reach the model', async ({ cwd, guard, play }) => {
    writeFileSync(join(cwd, 'settings.txt'), `KEY=${SECRET}`);
    const { ran, seen } = await play(guard(), [['Bash', { command: 'cat settings.txt' }]]);
    assert.deepEqual(ran, ['Bash']);
    assert.match(seen.at(-1), /\[redacted:aws-access-key/);
    assert.ok(!seen.join().includes(SECRET));
  });

  each('a prompt is replaced or stopped', async ({ guard, play }) => {
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

  each('a prompt without a reason is stopped', async ({ guard, play }) => {
    const given = guard();
    given.guardrail('mine', { on: ['before_model'] }, () => ({ effect: 'block', reason: '' }));
    assert.deepEqual((await play(given, [])).seen, []);
  });

  if (converse) {
    each('old prompts are replaced again and decided once', async ({ way, store, guard }) => {
      const given = guard();
      const change = { effect: 'redact', reason: 'names are replaced', replacement: 'work for (name)' };
      given.guardrail('names', { on: ['before_model'] }, ({ event }) => (event.text.includes('ann') ? change : null));
      const warning = { effect: 'warn', reason: 'mind the tone' };
      given.guardrail('tone', { on: ['before_model'] }, ({ event }) => (event.text.includes('now') ? warning : null));
      const prompts = ['work for ann', 'again', 'again', 'do it now', 'go on'];
      const seen = await converse(way, given, prompts, 'whole');
      const count = (text) => seen.map((request) => request.split(text).length - 1);
      assert.deepEqual(count('ann'), [0, 0, 0, 0, 0]);
      assert.deepEqual(count('work for (name)'), [1, 1, 1, 1, 1]);
      assert.deepEqual(count('mind the tone'), [0, 0, 0, 1, 1]);
      assert.deepEqual(records(store, 'before_model').map(({ session, event }) => [session, event.text]), prompts.map((text) => ['whole', text]));
    });
  }

  each('an unread file is not overwritten', async ({ cwd, guard, play }) => {
    const file_path = join(cwd, 'notes.txt');
    writeFileSync(file_path, 'notes');
    const write = overwrite(file_path);
    assert.deepEqual((await play(guard(), [write])).ran, []);
    assert.equal(readFileSync(file_path, 'utf8'), 'notes');
    assert.deepEqual((await play(guard(), [['Read', { file_path }], write])).ran, ['Read', write[0]]);
    assert.equal(readFileSync(file_path, 'utf8'), 'new');
  });

  each('an approval lets exactly one call pass', async ({ cwd, store, guard, play }) => {
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

  each('a throwing guardrail stops the call', async ({ guard, play }) => {
    const given = guard();
    given.guardrail('mine', { tools: REFUND }, () => {
      throw new Error('boom');
    });
    const { ran, seen } = await play(given, [['refund', { order: 7 }]]);
    assert.deepEqual(ran, []);
    assert.match(seen.at(-1), /mine/);
  });

  each('every effect lands', async ({ guard, play }) => {
    for (const [effect, runs] of Object.entries({ warn: true, contain: false, retry: false, escalate: false, block: false })) {
      const given = guard();
      given.guardrail('mine', { tools: REFUND }, () => ({ effect, reason: 'there is a limit for refunds' }));
      const { ran, seen, final } = await play(given, [['refund', { order: 7 }]]);
      assert.deepEqual(ran, runs ? ['refund'] : [], effect);
      assert.match(seen.at(-1), /there is a limit for refunds/, effect);
      assert.equal(seen.at(-1).includes('refunded'), runs, effect);
      assert.equal(final, 'done', effect);
    }
  });

  each('a halt ends the run', async ({ guard, play }) => {
    const given = guard();
    given.guardrail('mine', { tools: REFUND }, () => ({ effect: 'halt', reason: 'there is a limit' }));
    const { ran, seen, final } = await play(given, [['refund', { order: 7 }], ['Bash', { command: 'ls' }]]);
    assert.deepEqual([ran, seen.length], [[], 1]);
    assert.match(final, /there is a limit/);
  });

  each('a withheld result does not reach the model', async ({ guard, play }) => {
    const given = guard();
    given.guardrail('mine', { tools: ['Bash'], on: ['after_tool'] }, () => 'not for the model');
    const { ran, seen } = await play(given, [['Bash', { command: "echo zeb''ra" }]]);
    assert.deepEqual(ran, ['Bash']);
    assert.match(seen.at(-1), /not for the model/);
    assert.doesNotMatch(seen.join(), /zebra/);
  });

  each('a secret in the answer is not shown', async ({ guard, play }) => {
    const { final } = await play(guard(), [], { answer: ['the key is ', SECRET.slice(0, 7), SECRET.slice(7), ' for now'] });
    assert.match(final, /^the key is \[redacted:aws-access-key#\w+\] for now$/);
  });

  each('the model has another turn if it may not stop yet', async ({ guard, play }) => {
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
}
