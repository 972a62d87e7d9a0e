// The helpers of `ctx.std`. Loaded when one is first used.
export default function (kit) {
  "use strict";
  const { native, isArray, ownValue, isObject, push, test, text, R, Str } = kit;

  const found = (pattern, value) => {
    if (typeof value === "number" || typeof value === "boolean") value = Str(value);
    if (typeof value !== "string") return false;
    // A global or sticky pattern remembers where it stopped, and would miss every other time.
    pattern.lastIndex = 0;
    const is = test(pattern, value);
    pattern.lastIndex = 0;
    return is;
  };
  function argMatches(args, key, regex) {
    if (!isObject(args)) return false;
    const pattern = typeof regex === "string" ? new R(regex) : regex;
    const value = ownValue(args, key);
    if (!isArray(value)) return found(pattern, value);
    for (let i = 0; i < value.length; i++) if (found(pattern, value[i])) return true;
    return false;
  }
  function computeChecksum(content) { return native.sha256(text(content, "std.computeChecksum needs a string")); }
  function parseUnifiedDiff(diff) { return native.targets(text(diff, "std.parseUnifiedDiff needs the text of a diff")); }

  // A file that cannot be looked at counts as stale, so that one of them does not hide the others.
  const isStale = (path) => {
    const then = native.readBefore(kit.call, path) ?? null;
    try { return (native.checksum(kit.call, path, true) ?? null) !== then; } catch { return true; }
  };
  async function isFileStale(path) { return isStale(text(path, "std.isFileStale needs a path")); }
  async function checkStaleContext(diff) {
    const files = native.targets(text(diff, "std.checkStaleContext needs the text of a diff"));
    const stale = [];
    for (let i = 0; i < files.length; i++) if (isStale(files[i])) push(stale, files[i]);
    return stale;
  }
  async function isGitClean(cmd) {
    const run = isObject(cmd) && typeof cmd.exec === "function" ? (command) => cmd.exec(command) : kit.world().exec;
    const { exitCode, stdout } = await run("git -c core.fsmonitor=false status --porcelain");
    return exitCode === 0 && !test(/\S/, stdout);
  }

  return { __proto__: null, checkStaleContext, parseUnifiedDiff, isGitClean, computeChecksum, argMatches, isFileStale };
}
