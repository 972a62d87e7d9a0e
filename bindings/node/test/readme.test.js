// The examples of the README and of the guide do what they say.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { folder } from './support.js';

const PAGES = {
  'the README': fileURLToPath(import.meta.resolve('midrail')).replace(/index\.js$/, 'README.md'),
  ...(process.env.MIDRAIL_REPOSITORY && { 'the guide': join(process.env.MIDRAIL_REPOSITORY, 'docs/guide/node.md') }),
};

for (const [name, page] of Object.entries(PAGES)) {
  test(`the examples of ${name} print what they say`, (t) => {
    const home = folder(t);
    // An example has to be below the folder into which the packages are installed.
    const examples = fileURLToPath(new URL(`./examples-${process.pid}/`, import.meta.url));
    mkdirSync(examples, { recursive: true });
    t.after(() => rmSync(examples, { recursive: true }));
    const blocks = [...readFileSync(page, 'utf8').matchAll(/```js\n(.*?)```\n(?:\n```text\n(.*?)```)?/gs)];
    assert.ok(blocks.length > 2);
    for (const [, code, expected] of blocks) {
      const file = join(examples, 'example.mjs');
      writeFileSync(file, code);
      const done = spawnSync(process.execPath, [file], { cwd: home, encoding: 'utf8' });
      assert.equal(done.stdout, expected, `${code}\n${done.stderr}`);
    }
  });
}
