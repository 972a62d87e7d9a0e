// The native part: an engine that takes and returns JSON texts, from the package of this platform.

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const name = `@midrail/${process.platform}-${process.arch}`;

let native;
/** The native part. It is loaded when an engine in this process is first used: a service needs none. */
export function engine() {
  try {
    native ??= require(name);
  } catch (error) {
    throw new Error(`the engine cannot be loaded: install \`${name}\`, or use a service with \`url\``, { cause: error });
  }
  return native.Engine;
}
