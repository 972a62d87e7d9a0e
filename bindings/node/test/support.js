// What several tests share: folders, the program `midrail`, and people who answer requests.

import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { Guard } from 'midrail';

export const PROGRAM = process.env.MIDRAIL_PROGRAM ?? 'midrail';
export const SECRET = 'AKIAQ4ZT' + 'X7RK2MPLWN3J';

export const REFUNDS = `
pack: shop
extends: [default]
guardrails:
  - id: refunds
    tools: [refund, mcp__shop__refund]
    effect: escalate
    approver: reviewer
`;

/** A guard with the default pack and a store in memory. */
export const memory = () => new Guard({ packs: ['midrail:default'], store: ':memory:' });

/** A folder of its own as `HOME` and working folder, for one test. */
export function folder(test) {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'midrail-')));
  const { HOME, XDG_STATE_HOME } = process.env;
  const cwd = process.cwd();
  process.env.HOME = path;
  delete process.env.XDG_STATE_HOME;
  process.chdir(path);
  test.after(() => {
    process.chdir(cwd);
    process.env.HOME = HOME;
    if (XDG_STATE_HOME !== undefined) process.env.XDG_STATE_HOME = XDG_STATE_HOME;
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

export function writePack(folder, text) {
  mkdirSync(join(folder, '.midrail'), { recursive: true });
  writeFileSync(join(folder, '.midrail/pack.yaml'), text);
  return join(folder, '.midrail/pack.yaml');
}

/** Runs the program and returns what it prints. */
export function midrail(args, keyFile) {
  const key = keyFile === undefined ? undefined : openSync(keyFile, 'r');
  const command = key === undefined ? args : [...args, '--key-fd', '3'];
  const stdio = ['ignore', 'pipe', 'pipe', ...(key === undefined ? [] : [key])];
  const done = spawnSync(PROGRAM, command, { stdio, encoding: 'utf8', timeout: 60_000 });
  if (key !== undefined) closeSync(key);
  if (done.error) throw done.error;
  if (done.status !== 0) throw new Error(`midrail ${args[0]} failed: ${done.stderr}${done.stdout}`);
  return done.stdout;
}

/** Registers ann, who reviews. Returns a function that approves or denies a request. */
export function reviewer(folder, store) {
  const keyFile = join(folder, 'ann.key');
  const [key] = midrail(['approver', 'add', 'ann', '--role', 'reviewer', '--store', store]).split('\n');
  writeFileSync(keyFile, key);
  return ({ id }, verb = 'approve') => midrail(['approvals', verb, id, '--as', 'ann', '--store', store], keyFile);
}

/** Starts the service and returns its address. */
export async function serve(test, args) {
  const service = spawn(PROGRAM, ['serve', '--listen', '127.0.0.1:0', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  test.after(async () => {
    const closed = new Promise((resolve) => service.once('close', resolve));
    service.kill();
    await closed;
  });
  for await (const line of createInterface({ input: service.stdout })) {
    if (line.includes('is ready at')) return line.trim().split(' ').at(-1);
  }
  throw new Error('the service did not start');
}
