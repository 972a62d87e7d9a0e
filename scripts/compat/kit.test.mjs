// Tests of the kit that need no client: `node --test scripts/compat/`.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { mark, Model } from './model.mjs';
import { run } from './process.mjs';
import { legend, markdown, notes, table } from './report.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const scratch = () => fs.mkdtempSync(path.join(os.tmpdir(), 'compat-'));

async function withModel(scripts, work) {
  const folder = scratch();
  const model = await new Model(scripts, folder).start();
  try {
    return await work(model);
  } finally {
    await model.stop();
    fs.rmSync(folder, { recursive: true });
  }
}

const post = async (url, body) => (await fetch(url, { method: 'POST', body: JSON.stringify(body) })).text();
const tools = [{ name: 'run' }];
const call = { name: 'run', input: { command: 'true' } };

test('every wire plays the same turn', async () => {
  const asked = mark('main');
  const wires = [
    ['/v1/messages', { messages: [{ role: 'user', content: asked }], tools }],
    ['/v1/responses', { input: [{ role: 'user', content: asked }], tools }],
    ['/v1/chat/completions', { messages: [{ role: 'user', content: asked }], tools }],
    ['/v1beta/models/m:generateContent', { contents: [{ parts: [{ text: asked }] }], tools }],
    ['/v1beta/models/m:streamGenerateContent', { contents: [{ parts: [{ text: asked }] }], tools }],
  ];
  for (const [where, body] of wires) {
    for (const stream of [false, true]) {
      await withModel({ main: [{ text: 'Now.', calls: [call] }] }, async (model) => {
        const answer = await post(model.url + where, { ...body, stream });
        assert.match(answer, /<main turn 0> Now\./, where);
        assert.match(answer, /"name":"run"/, where);
        assert.match(answer, /true/, where);
      });
    }
  }
});

test('the next turn is read from the history, and each is made once', async () => {
  let made = 0;
  const scripts = { main: [{ calls: [call] }, async () => { made += 1; return { text: `made ${made}` }; }], sub: [{ text: 'helped' }] };
  await withModel(scripts, async (model) => {
    const ask = (...texts) => post(`${model.url}/v1/chat/completions`, { messages: texts.map((content) => ({ content })), tools });
    assert.match(await ask(mark('main')), /main turn 0/);
    for (let again = 0; again < 2; again += 1) {
      assert.match(await ask(mark('main'), '<main turn 0> Working.', '<sub turn 5> helped'), /<main turn 1> made 1/);
    }
    assert.match(await ask(mark('sub')), /<sub turn 0> helped/);
    assert.match(await ask(mark('main'), '<main turn 8>'), /<main turn 9> Done/);
    assert.equal(model.turnsOf('main'), 3);
    assert.ok(model.saw('<sub turn 5>') && !model.saw('<sub turn 6>'));
  });
});

test('titles and unknown scripts get a plain answer', async () => {
  await withModel({ main: [{ calls: [call] }] }, async (model) => {
    const answer = await post(`${model.url}/v1/messages`, { messages: [{ content: mark('main') }] });
    assert.match(answer, /"text":"ok"/);
    assert.equal(model.turnsOf('main'), 0);
  });
});

test('a program that takes too long is ended with what it started', async () => {
  const folder = scratch();
  const file = path.join(folder, 'pid');
  // A grandchild in its own session, outside the process group.
  const program = `setsid sh -c 'echo $$ > ${file}; exec sleep 300' & wait`;
  const { late } = await run('sh', ['-c', program], { cwd: folder, env: process.env, limit: 2 });
  assert.ok(late);
  const pid = fs.readFileSync(file, 'utf8').trim();
  const state = fs.existsSync(`/proc/${pid}/stat`) ? fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1][0] : 'gone';
  assert.ok(['gone', 'Z', 'X'].includes(state), state);
  fs.rmSync(folder, { recursive: true });
});

test('an outcome is shown with its reasons', () => {
  const outcome = {
    midrail: 'midrail 0', date: '2026-01-01', loopback_only: true,
    agents: [{ name: 'one', title: 'One', version: '1' }, { name: 'two', title: 'Two', version: '2' }],
    behaviours: [{ name: 'secret', title: 'a secret | stays' }],
    cells: [
      { agent: 'one', behaviour: 'secret', value: '✓', why: '' },
      { agent: 'two', behaviour: 'secret', value: '✗', why: 'it | leaked' },
    ],
  };
  assert.equal(table(outcome), '        one  two\nsecret  ✓    ✗');
  assert.equal(notes(outcome), '✗ secret, two: it | leaked');
  assert.match(markdown(outcome), /\| One \| Two \|/);
  assert.match(markdown(outcome), /- ✗ `secret`, two: it \\\| leaked/);
  assert.match(legend, /✗ failed/);
});

test('the list needs no client, and a wrong name is reported', () => {
  const kit = (...args) => spawnSync(process.execPath, [path.join(HERE, 'run.mjs'), ...args], { encoding: 'utf8' });
  const listed = kit('--list');
  assert.equal(listed.status, 0, listed.stderr);
  assert.match(listed.stdout, /claude-code[\s\S]*destructive/);
  const wrong = kit('--agent', 'unknown');
  assert.equal(wrong.status, 2);
  assert.match(wrong.stderr, /unknown agent `unknown`/);
  const temporary = kit('--lab', '/tmp/somewhere', '--midrail', process.execPath);
  assert.equal(temporary.status, 2);
  assert.match(temporary.stderr, /cannot be below \/tmp/);
});
