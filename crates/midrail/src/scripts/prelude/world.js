// What a call sees in addition to its tool: history, feedback, memory, files and commands. Loaded when it first looks.
export default function (kit) {
  "use strict";
  const { native, apply, freeze, isArray, parse, wellFormed, ownValue, isObject, text } = kit;
  const { mapGet, mapSet, mapDelete, P, M, E, iterator } = kit;

  class Snapshot extends M {
    get(path) { return native.readBefore(kit.call, text(path, "memory.snapshot.get needs a path")) ?? undefined; }
    has(path) { return typeof path === "string" && native.readBefore(kit.call, wellFormed(path)) != null; }
    set(path, checksum) {
      native.setRead(kit.call, text(path, "memory.snapshot.set needs a path"), text(checksum, "memory.snapshot.set needs a checksum"));
      return this;
    }
    delete(path) {
      const was = this.has(path);
      if (was) native.setRead(kit.call, wellFormed(path), undefined);
      return was;
    }
    clear() {
      const all = native.allRead(kit.call);
      for (let i = 0; i < all.length; i += 2) native.setRead(kit.call, all[i], undefined);
    }
    get size() { return native.allRead(kit.call).length / 2; }
    forEach(callback, self) {
      const all = native.allRead(kit.call);
      for (let i = 0; i < all.length; i += 2) apply(callback, self, [all[i + 1], all[i], this]);
    }
    *keys() { const all = native.allRead(kit.call); for (let i = 0; i < all.length; i += 2) yield all[i]; }
    *values() { const all = native.allRead(kit.call); for (let i = 0; i < all.length; i += 2) yield all[i + 1]; }
    *entries() { const all = native.allRead(kit.call); for (let i = 0; i < all.length; i += 2) yield [all[i], all[i + 1]]; }
    [iterator]() { return this.entries(); }
  }
  freeze(Snapshot.prototype);
  const snapshot = freeze(new Snapshot());

  // The text of a message of the history, whose content may be given in parts.
  const said = (message) => {
    const content = ownValue(message, "content");
    if (typeof content === "string") return content;
    if (!isArray(content)) return null;
    let all = "";
    for (let i = 0; i < content.length; i++) {
      const part = content[i];
      const words = typeof part === "string" ? part : isObject(part) ? ownValue(part, "text") : undefined;
      if (typeof words === "string") all += (all === "" ? "" : "\n") + words;
    }
    return all;
  };

  // Whether the user wrote a message. Hosts also hand over results of tools in the user's name.
  const isOfUser = (message) => {
    if (!isObject(message) || ownValue(message, "role") !== "user") return false;
    const content = ownValue(message, "content");
    if (!isArray(content) || content.length === 0) return true;
    for (let i = 0; i < content.length; i++) {
      if (!isObject(content[i]) || ownValue(content[i], "type") !== "tool_result") return true;
    }
    return false;
  };

  // What was looked up for the call under way.
  let seenBy, seen;
  const lookedUp = (name) => {
    if (seenBy !== kit.call) {
      seenBy = kit.call;
      seen = { __proto__: null };
    }
    return seen[name] === undefined ? (seen[name] = parse(native[name](kit.call))) : seen[name];
  };
  const messages = () => lookedUp("history");
  const feedback = () => lookedUp("feedback");
  const lastUserMessage = () => {
    const all = messages();
    for (let i = all.length - 1; i >= 0; i--) {
      if (isOfUser(all[i])) return said(all[i]);
    }
    return null;
  };

  const readFile = async (path) => native.readFile(kit.call, text(path, "system.fs.readFile needs a path"));
  const getChecksum = async (path) =>
    native.checksum(kit.call, text(path, "system.fs.getChecksum needs a path"), false) ?? null;
  const running = new M();
  const exec = (command) => new P((resolve, reject) => {
    const run = native.exec(kit.call, text(command, "system.cmd.exec needs a command"));
    mapSet(running, run, { __proto__: null, resolve, reject });
  });
  const ended = (id, code, stdout, stderr, problem) => {
    const run = mapGet(running, id);
    if (run === undefined) return;
    mapDelete(running, id);
    if (problem !== undefined) run.reject(new E(problem));
    else run.resolve({ exitCode: code, stdout, stderr });
  };
  const forget = (runs) => { for (let i = 0; i < runs.length; i++) mapDelete(running, runs[i]); };

  return {
    __proto__: null, messages, lastUserMessage, feedback, snapshot, readFile, getChecksum, exec, ended, forget,
  };
}
