// Runs programs with a time limit, and kills everything that they started.

import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';

const MAX_OUTPUT = 8 * 1024 * 1024;
const TAG = 'MIDRAIL_COMPAT_RUN';
const running = new Map();

/**
 * Runs a program in a process group of its own. Whatever is left of it afterwards is killed: the group, and what moved
 * to a group of its own, which is known by a variable of its environment.
 */
export function run(program, args, { cwd, env, input = '', limit = 60 } = {}) {
  const child = start(program, args, { cwd, env });
  return new Promise((resolve) => {
    const output = { stdout: '', stderr: '' };
    let late = false;
    const timer = setTimeout(() => { late = true; end(child); }, limit * 1000);
    for (const name of ['stdout', 'stderr']) {
      child[name].setEncoding('utf8');
      child[name].on('data', (text) => { if (output[name].length < MAX_OUTPUT) output[name] += text; });
    }
    const finish = (code, error) => {
      clearTimeout(timer);
      end(child);
      resolve({ ...output, code, late, error });
    };
    child.once('error', (error) => finish(null, error));
    // Not `close`: a grandchild may hold the pipes open.
    child.once('exit', (code) => setTimeout(() => finish(code), 100));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** Starts a program in a process group of its own; `end` ends it. */
export function start(program, args, { cwd, env }) {
  const tag = randomUUID();
  const stdio = ['pipe', 'pipe', 'pipe'];
  const child = spawn(program, args, { cwd, env: { ...env, [TAG]: tag }, stdio, detached: true });
  running.set(child, tag);
  return child;
}

/** Kills a program, its process group, and what else it started. */
export function end(child) {
  const tag = running.get(child);
  if (!running.delete(child)) return;
  // Twice: a process that is killed may have started another in between.
  for (let round = 0; round < 2; round += 1) {
    if (child.pid) kill(-child.pid);
    strays(tag).forEach(kill);
  }
}

export function endAll() {
  [...running.keys()].forEach(end);
}

function kill(pid) {
  try { process.kill(pid, 'SIGKILL'); } catch { /* it is gone already */ }
}

function strays(tag) {
  let pids;
  try { pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)); } catch { return []; }
  return pids.map(Number).filter((pid) => {
    if (pid === process.pid) return false;
    try { return fs.readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${TAG}=${tag}`); } catch { return false; }
  });
}

const INSIDE = 'MIDRAIL_COMPAT_INSIDE';
const UP = '(ip link set lo up || ifconfig lo up) 2>/dev/null';

/** Whether this process is in a network namespace that has loopback alone. */
export const inside = () => process.env[INSIDE] === '1';

/**
 * Starts this script again where there is no network but loopback, and gives its exit code; or nothing, where the
 * machine does not allow it.
 */
export function insideNamespace(args) {
  const flags = [['-n'], ['-rn']].find((each) => spawnSync('unshare', [...each, 'sh', '-c', UP]).status === 0);
  if (!flags) return null;
  const script = `${UP}; exec "$@"`;
  const again = [...flags, 'sh', '-c', script, 'sh', process.execPath, ...args];
  const { status, signal } = spawnSync('unshare', again, { stdio: 'inherit', env: { ...process.env, [INSIDE]: '1' } });
  return status ?? (signal ? 130 : 1);
}
