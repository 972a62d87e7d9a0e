// Runs the steps of a session through the hook engine of Cursor's SDK. Run by a Node that the SDK accepts, as
// `node cursor-engine.mjs SDK PROJECT`, with lines of `{step, body}` on standard input.
//
// The SDK is one webpack bundle with an agent that needs a network. This file loads only the two modules that run hooks;
// every other import is a stub object.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const [sdk, project] = process.argv.slice(2);
const RUNTIME = '../cursor-sdk-local-runtime/dist/core/hooks-runtime.js';
const WANTED = new Set([RUNTIME, '../hooks/dist/index.js']);
const builtin = createRequire(import.meta.url);

const factories = {};
for (const file of fs.readdirSync(sdk).filter((name) => /^\d+\.js$/.test(name))) {
  try {
    const chunk = await import(pathToFileURL(path.join(sdk, file)));
    Object.assign(factories, chunk.__webpack_esm_modules__);
  } catch { /* a chunk that needs something of the agent's */ }
}

const nothing = new Proxy(function () {}, {
  get: (_, key) => (key === 'then' ? undefined : key === 'prototype' ? {} : key === Symbol.toPrimitive ? () => '' : nothing),
  apply: () => nothing,
  construct: () => nothing,
});

const loaded = new Map();
function load(id) {
  if (loaded.has(id)) return loaded.get(id).exports;
  const module = { exports: {} };
  loaded.set(id, module);
  if (id.startsWith('node:')) {
    const plain = builtin(id.split('?')[0]);
    module.exports = new Proxy(plain, { get: (target, key) => (key === 'default' ? target : target[key]) });
  } else if (WANTED.has(id) && factories[id]) {
    factories[id].call(module.exports, module, module.exports, load);
  } else {
    module.exports = nothing;
  }
  return module.exports;
}
// The loader interface that webpack's modules expect.
load.o = (object, key) => Object.hasOwn(object, key);
load.d = (target, getters) => {
  for (const key of Object.keys(getters)) {
    if (!load.o(target, key)) Object.defineProperty(target, key, { enumerable: true, get: getters[key] });
  }
};
load.r = () => {};
load.n = (module) => Object.assign(() => module, { a: () => module });
load.g = globalThis;

if (!factories[RUNTIME]) throw new Error('this SDK has no hook engine where one is expected');
const engine = load(RUNTIME).vk({
  includeEnterpriseHooks: false,
  useCommandHookStdinTransport: false,
  globalContext: { cursor_version: 'sdk', user_email: null },
});
const workspaceState = { projectRoot: project, workingDirectory: project, workspaceRoots: [project] };
const session = (await engine.createHooksRuntime({ workspaceState })).createSessionRuntime();
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { step, body } = JSON.parse(line);
  const asked = { conversation_id: 'conversation-1', generation_id: 'generation-1', model: 'scripted', ...body };
  let out = null;
  let thrown;
  try {
    out = (await session.hookExecutor.executeHookForStep(step, asked)) ?? null;
  } catch (error) {
    thrown = error.message;
  }
  process.stdout.write(`${JSON.stringify({ step, out, thrown })}\n`);
}
process.exit(0);
