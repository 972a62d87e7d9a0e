// Tests of the kit that need no client: `node --test scripts/compat/`.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { AGENTS } from './agents/index.mjs';
import { behaviours, combine } from './behaviours.mjs';
import { actions, spellings } from './catalogue.mjs';
import { agrees, parse, read, versionIn } from './entries.mjs';
import { mark, Model } from './model.mjs';
import { run } from './process.mjs';
import { complete, legend, markdown, merge, notes, table, writePage } from './report.mjs';
import { exitCode, FAILED, HOLDS, HOST, NOT_RUN, proof, UNPROVED, verdict } from './verdict.mjs';

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

const observed = (about = {}) => ({ reached: true, bad: [], lacks: [], late: false, output: 'nothing', ...about });

test('a protecting row is proved only if everything happens without a guard and with one that allows everything', () => {
  const row = { items: ['a', 'b'] };
  const [all, some] = [observed({ bad: ['a', 'b'] }), observed({ bad: ['a'] })];
  assert.equal(proof(row, all, all), '');
  assert.match(proof(row, some, all), /without Midrail, this does not happen: b/);
  assert.match(proof(row, all, some), /with a guard that allows everything, this does not happen: b/);
  assert.match(proof(row, observed({ reached: false }), all), /without Midrail, the agent does not reach the model: nothing/);
  assert.match(proof(row, all, observed({ reached: false, bad: ['a', 'b'] })), /allows everything, the agent does not reach the model/);
});

test('a permitting row is proved only if nothing is amiss without a guard and something is with a strict one', () => {
  const row = { items: ['a', 'b'], permits: true };
  assert.equal(proof(row, observed(), observed({ bad: ['a'] })), '');
  assert.match(proof(row, observed({ bad: ['b'] }), observed({ bad: ['a'] })), /without Midrail: b/);
  assert.match(proof(row, observed(), observed()), /makes no difference/);
});

test('a verdict tells failures, limits of the host and missing proofs apart', () => {
  const value = (about) => verdict({ guarded: observed(), ...about }).value;
  const limit = { why: 'no hook', instead: 'a block' };
  assert.equal(value({}), HOLDS);
  assert.equal(value({ guarded: observed({ bad: ['it happened'] }) }), FAILED);
  assert.equal(value({ guarded: observed({ lacks: ['the command did not run'] }) }), FAILED, 'merely denied is not a pass');
  assert.equal(value({ guarded: observed({ reached: false }) }), FAILED);
  assert.equal(value({ guarded: observed({ reached: false }), mayStaySilent: true }), HOLDS);
  assert.equal(value({ guarded: observed({ late: true }) }), FAILED);
  assert.equal(value({ guarded: observed({ late: true }), patient: true }), HOLDS);
  assert.equal(value({ unproved: 'no control' }), UNPROVED);
  assert.equal(value({ unproved: 'no control', limit }), UNPROVED);
  assert.equal(value({ unproved: 'no control', limit: { ...limit, unprovable: true } }), HOST);
  assert.deepEqual(verdict({ guarded: observed({ bad: ['it happened'] }), limit }), { value: HOST, ...limit });
  assert.equal(value({ guarded: observed(), limit }), HOLDS, 'a limit that is gone is a pass');
});

test('the exit code is 0 only if everything was run and holds', () => {
  const code = (values, options) => exitCode(values.map((value) => (value === 'missing' ? { value: NOT_RUN, missing: true } : { value })), options);
  const allowMissing = { allowMissing: true };
  assert.equal(code([HOLDS, HOST]), 0);
  for (const value of [FAILED, UNPROVED, NOT_RUN]) {
    assert.equal(code([HOLDS, value]), 1, value);
    assert.equal(code([HOLDS, value], allowMissing), 1, value);
  }
  assert.equal(code([HOLDS, 'missing']), 1);
  assert.equal(code([HOLDS, 'missing'], allowMissing), 0);
  assert.equal(code(['missing', 'missing'], allowMissing), 2, 'nothing was run');
  assert.equal(code([]), 2);
});

test('every behaviour judges what the issue lists, and combined scripts keep all turns', () => {
  assert.equal(spellings.length, 20);
  assert.equal(actions.length, 30);
  for (const { name, items, bad, scripts } of behaviours) {
    assert.ok(items.length > 0 && typeof bad === 'function' && typeof scripts === 'function', name);
  }
  const row = (name, changesTree) => ({ name, changesTree, scripts: () => ({ main: [name], ...(changesTree ? { next: [`${name} next`] } : {}) }) });
  assert.deepEqual(combine([row('one'), row('two', true)]).scripts(), { main: ['two', 'one'], sub: [], next: ['two next'] });
  assert.deepEqual(Object.keys(combine([row('one')]).scripts()), ['main', 'sub']);
});

test('limits name known behaviours, and say what is used instead', () => {
  const names = behaviours.map(({ name }) => name);
  for (const agent of AGENTS) {
    for (const [name, { why, instead }] of Object.entries(agent.limits ?? {})) {
      assert.ok(names.includes(name), `${agent.name} ${name}`);
      assert.ok(why && instead, `${agent.name} ${name}`);
    }
  }
});

test('a judgement of secrets is red if the command was merely denied', () => {
  const secret = behaviours.find(({ name }) => name === 'secret');
  const denied = [{ has: () => false }, { saw: () => false }];
  assert.deepEqual(secret.bad(...denied), []);
  assert.deepEqual(secret.lacks(...denied), ['the command did not run', 'the model did not receive the rest of the result']);
});

test('the MCP server lists and calls its tools', async () => {
  const input = [['initialize', { protocolVersion: '2025-06-18' }], ['tools/list'], ['tools/call', { name: 'run_command', arguments: { command: 'echo hello' } }], ['other']]
    .map(([method, params], id) => JSON.stringify({ jsonrpc: '2.0', id, method, params })).join('\n');
  const { stdout } = spawnSync(process.execPath, [path.join(HERE, 'mcp-server.mjs')], { input: `${input}\n`, encoding: 'utf8' });
  const [begun, tools_, called, other] = stdout.trim().split('\n').map(JSON.parse);
  assert.equal(begun.result.protocolVersion, '2025-06-18');
  assert.equal(tools_.result.tools.length, 3);
  assert.match(called.result.content[0].text, /hello/);
  assert.match(other.error.message, /other is not supported/);
});

const outcome = {
  midrail: 'midrail 0', date: '2026-01-01', loopback_only: true, proved: true,
  agents: [{ name: 'one', title: 'One', version: '1' }, { name: 'two', title: 'Two', version: '2' }],
  behaviours: [{ name: 'secret', title: 'a secret | stays' }],
  cells: [
    { agent: 'one', behaviour: 'secret', value: HOST, why: 'no hook', instead: 'a block' },
    { agent: 'two', behaviour: 'secret', value: FAILED, why: 'it | leaked' },
  ],
};

test('an outcome is shown with its reasons', () => {
  assert.equal(table(outcome), '        one  two\nsecret  –    ✗');
  assert.equal(notes(outcome), '– secret, one: no hook. Instead: a block\n✗ secret, two: it | leaked');
  const page = markdown(outcome);
  assert.match(page, /\| One \| Two \|/);
  assert.match(page, /### The host cannot do it\n[\s\S]*- `secret`, one: no hook\. Instead: a block/);
  assert.match(page, /### Fails\n\n- `secret`, two: it \\\| leaked/);
  assert.doesNotMatch(page, /### Not run/);
  assert.match(legend, /✗ fails/);
});

test('outcomes are merged, and the page is written only from a run with controls', () => {
  const later = { ...outcome, agents: [outcome.agents[1]], cells: [{ agent: 'two', behaviour: 'secret', value: HOLDS, why: '' }] };
  assert.deepEqual(merge([outcome, later]).cells.map(({ value }) => value), [HOST, HOLDS]);
  assert.equal(merge([outcome, { ...later, proved: false }]).proved, false);
  const all = complete({ ...outcome, cells: [] }, AGENTS, behaviours);
  assert.ok(all.cells.length === AGENTS.length * behaviours.length && all.cells.every(({ value }) => value === NOT_RUN));
  const folder = scratch();
  const file = path.join(folder, 'page.md');
  fs.writeFileSync(file, 'before\n<!-- matrix -->\noutdated\n<!-- /matrix -->\nafter\n');
  writePage(file, outcome);
  assert.match(fs.readFileSync(file, 'utf8'), /^before\n<!-- matrix -->\nmidrail 0[\s\S]*\n<!-- \/matrix -->\nafter\n$/);
  assert.doesNotMatch(fs.readFileSync(file, 'utf8'), /outdated/);
  assert.throws(() => writePage(file, { ...outcome, proved: false }), /without --quick/);
  fs.rmSync(folder, { recursive: true });
});

test('the page of the documentation lists every behaviour and every agent', () => {
  const page = fs.readFileSync(path.join(HERE, '../../docs/guide/compatibility.md'), 'utf8');
  for (const { name } of behaviours) assert.ok(page.includes(`(\`${name}\`)`), name);
  for (const { title } of AGENTS) assert.ok(page.includes(`| ${title} |`), title);
});

test('a run in which nothing can be installed fails', (context) => {
  const lab = fs.mkdtempSync(path.join(HERE, 'lab-'));
  const bin = path.join(lab, 'bin');
  fs.mkdirSync(bin);
  const program = (name, text) => fs.writeFileSync(path.join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  program('npm', 'echo no network >&2; exit 1');
  program('midrail', 'echo midrail 0');
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  const kit = (...args) => spawnSync(process.execPath, [path.join(HERE, 'run.mjs'), '--lab', lab, '--midrail', path.join(bin, 'midrail'), ...args], { encoding: 'utf8', env });
  const strict = kit('--agent', 'codex', '--behaviour', 'secret');
  if (strict.stderr.includes('the lab cannot be below')) {
    fs.rmSync(lab, { recursive: true });
    return context.skip('this checkout is in a temporary folder');
  }
  assert.equal(strict.status, 1, strict.stderr);
  assert.match(strict.stdout, /\? secret, codex: could not be installed: npm install ended with 1: no network/);
  assert.equal(kit('--agent', 'codex', '--behaviour', 'secret', '--allow-missing').status, 2);
  fs.rmSync(lab, { recursive: true });
  return undefined;
});

test('the list needs no client, and a wrong name is reported', () => {
  const kit = (...args) => spawnSync(process.execPath, [path.join(HERE, 'run.mjs'), ...args], { encoding: 'utf8' });
  const listed = kit('--list');
  assert.equal(listed.status, 0, listed.stderr);
  assert.match(listed.stdout, /claude-code[\s\S]*spellings/);
  const wrong = kit('--agent', 'unknown');
  assert.equal(wrong.status, 2);
  assert.match(wrong.stderr, /unknown agent `unknown`/);
  const temporary = kit('--lab', '/tmp/somewhere', '--midrail', process.execPath);
  assert.equal(temporary.status, 2);
  assert.match(temporary.stderr, /cannot be below \/tmp/);
});

test('the settings with verdicts are read, and each file says where its verdicts are from', () => {
  const folder = path.join(HERE, '../../crates/midrail-adapters/tests/policies/data');
  for (const file of fs.readdirSync(folder)) {
    const text = read(path.join(folder, file));
    const entries = parse(text);
    assert.ok(versionIn(text), file);
    assert.ok(entries.length >= 60, `${file}: ${entries.length}`);
    for (const { name, calls } of entries) {
      assert.ok(calls.length, `${file}: ${name}`);
      for (const { verdict: given } of calls) assert.match(given, /^(deny|ask|allow|-)$/, `${file}: ${name}`);
    }
  }
  const [entry] = parse('# head\n\n== a name\n{\n}\n--\ndeny   git push\n-!     ls\nleft out: 1\n');
  assert.deepEqual(entry, { name: 'a name', settings: '{\n}\n', calls: [{ verdict: 'deny', call: 'git push' }, { verdict: '-', call: 'ls' }] });
  assert.ok(agrees('-', 'ask') && agrees('-', 'allow') && agrees('deny', 'deny'));
  assert.ok(!agrees('-', 'deny') && !agrees('allow', 'ask') && !agrees('deny', 'none'));
});

test('verdicts are not compared where the program is missing', () => {
  const lab = scratch();
  const { status, stdout } = spawnSync(process.execPath, [path.join(HERE, 'policies.mjs'), '--lab', lab], { encoding: 'utf8' });
  assert.equal(status, 0);
  assert.match(stdout, /skipped: Claude Code is not installed/);
  fs.rmSync(lab, { recursive: true });
});
