// Approvals by people, through the program and through the service.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { Guard, Stopped } from 'midrail';

import { REFUNDS, SECRET, folder, reviewer, serve, writePack } from './support.js';

function shop(t) {
  const home = folder(t);
  const store = join(home, 'midrail.db');
  const answer = reviewer(home, store);
  const pack = writePack(home, REFUNDS);
  return { store, answer, run: new Guard({ packs: [pack], store }).session('chat-7', { agent: { id: 'desk-2' } }) };
}

test('an approval lets exactly one call pass', async (t) => {
  const { run, answer } = shop(t);
  const refund = (order) => run.beforeTool('refund', { order, amount: 250 });
  const { effect, approval } = await refund(7);
  assert.deepEqual([effect, approval.approver, await approval.wait(300)], ['escalate', 'reviewer', 'pending']);
  answer(approval);
  assert.equal(await approval.wait(30_000), 'approved');
  assert.equal((await refund(8)).effect, 'escalate');
  assert.equal((await refund(7)).effect, 'allow');
  assert.equal(await approval.status(), 'used');
  assert.equal((await refund(7)).effect, 'escalate');
});

test('a denial blocks', async (t) => {
  const { run, answer } = shop(t);
  const { approval } = await run.beforeTool('refund', { order: 7 });
  answer(approval, 'deny');
  assert.equal(await approval.wait(30_000), 'denied');
  assert.equal((await run.beforeTool('refund', { order: 7 })).allowed, false);
});

test('a call waits for its approval, or is stopped', async (t) => {
  const { run, answer } = shop(t);
  const refund = (waitMs) => run.call('refund', { order: 7 }, () => 'refunded', { waitMs });
  await assert.rejects(refund(300), (error) => error instanceof Stopped && error.decision.effect === 'escalate');
  const waiting = refund(60_000);
  answer((await run.beforeTool('refund', { order: 7 })).approval);
  assert.equal(await waiting, 'refunded');
});

test('a service decides as an engine in the process', async (t) => {
  const home = folder(t);
  writePack(home, `${REFUNDS}  - {use: secret-redaction, id: prompts, on: before_model}\n`);
  const store = join(home, 'midrail.db');
  const answer = reviewer(home, store);
  const run = new Guard({ url: await serve(t, ['--store', store]) }).session('chat-7');
  assert.equal((await run.beforeTool('Bash', { command: 'rm -rf /etc' })).effect, 'block');
  assert.doesNotMatch(await run.call('Bash', { command: 'env' }, () => `KEY=${SECRET}`), new RegExp(SECRET));
  const { approval } = await run.beforeTool('refund', { order: 7 });
  answer(approval);
  assert.equal(await approval.wait(30_000), 'approved');
  assert.equal(await run.call('refund', { order: 7 }, () => 'refunded'), 'refunded');
  assert.equal((await run.beforeTool('refund', { order: 7 })).effect, 'escalate');
  for (const fresh of [1, 0]) {
    const [first, second] = await run.conversation(['hello', `my key is ${SECRET}`], { new: fresh });
    assert.match(second.content, /my key is \[redacted:aws-access-key/);
    assert.deepEqual([first.allowed, 'audit' in second.toJSON()], [true, fresh === 1]);
  }
  const [unknown] = await run.conversation([{ kind: 'before_model', txt: 'hello' }]);
  assert.deepEqual([unknown.effect, unknown.by], ['block', 'midrail']);
  const wrong = await run.decide({ kind: 'before_tool', tol: {} });
  assert.deepEqual([wrong.effect, wrong.by], ['block', 'midrail']);
  assert.match(wrong.reason, /tol/);
});

test('no service is no permission', async () => {
  const guard = new Guard({ url: 'http://127.0.0.1:9', timeoutMs: 2_000 });
  const decision = await guard.session().beforeTool('Bash', { command: 'ls' });
  assert.deepEqual([decision.effect, decision.by], ['block', 'midrail']);
  assert.match(decision.reason, /cannot be reached/);
  const [first, ...others] = await guard.session().conversation(['hello', 'again']);
  assert.deepEqual([first.effect, first.by, others], ['block', 'midrail', []]);
  assert.throws(() => guard.guardrail('mine', {}, () => true));
});
