#!/usr/bin/env node
// Starts the program. Hooks of coding agents call the program itself, without Node: `midrail init` writes its own path.

import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';

const name = `@midrail/${process.platform}-${process.arch}`;
let program;
try {
  program = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'midrail');
} catch {
  console.error(`error: there is no program for this platform: \`${name}\` is not installed`);
  process.exit(1);
}
const done = spawnSync(program, process.argv.slice(2), { stdio: 'inherit' });
if (done.error) {
  console.error(`error: ${program} cannot be started: ${done.error.message}`);
  process.exit(1);
}
process.exit(done.status ?? 128 + (constants.signals[done.signal] ?? 0));
