// What a call sees beside its tool: history, feedback, memory, files and commands. Compiled when it first looks.
0, function (kit) {
  "use strict";
  const { native, apply, freeze, isArray, parse, wellFormed, ownValue, isObject, text } = kit;
  const { mapGet, mapSet, mapDelete, P, M, E, iterator } = kit;

  class Snapshot extends M {
    #id;
    constructor(id) { super(); this.#id = id; }
    get(path) { return native.readBefore(this.#id, text(path, "memory.snapshot.get needs a path")) ?? undefined; }
    has(path) { return typeof path === "string" && native.readBefore(this.#id, wellFormed(path)) != null; }
    set(path, checksum) {
      // Map's own constructor may call it, before there is anything to write to.
      native.setRead(this.#id, text(path, "memory.snapshot.set needs a path"), text(checksum, "memory.snapshot.set needs a checksum"));
      return this;
    }
    delete(path) {
      const was = this.has(path);
      if (was) native.setRead(this.#id, wellFormed(path), undefined);
      return was;
    }
    clear() {
      const all = native.allRead(this.#id);
      for (let i = 0; i < all.length; i += 2) native.setRead(this.#id, all[i], undefined);
    }
    get size() { return native.allRead(this.#id).length / 2; }
    forEach(callback, self) {
      const all = native.allRead(this.#id);
      for (let i = 0; i < all.length; i += 2) apply(callback, self, [all[i + 1], all[i], this]);
    }
    *keys() { const all = native.allRead(this.#id); for (let i = 0; i < all.length; i += 2) yield all[i]; }
    *values() { const all = native.allRead(this.#id); for (let i = 0; i < all.length; i += 2) yield all[i + 1]; }
    *entries() { const all = native.allRead(this.#id); for (let i = 0; i < all.length; i += 2) yield [all[i], all[i + 1]]; }
    [iterator]() { return this.entries(); }
  }
  freeze(Snapshot.prototype);

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

  const running = new M();
  const sight = (id) => {
    let messages, snapshot, feedback;
    const all = () => (messages === undefined ? (messages = parse(native.history(id))) : messages);
    const exec = (command) => new P((resolve, reject) => {
      const run = native.exec(id, text(command, "system.cmd.exec needs a command"));
      mapSet(running, run, { __proto__: null, resolve, reject });
    });
    const history = freeze({
      get messages() { return all(); },
      get lastUserMessage() {
        const messages = all();
        for (let i = messages.length - 1; i >= 0; i--) {
          if (isOfUser(messages[i])) return said(messages[i]);
        }
        return null;
      },
    });
    const memory = freeze({
      get snapshot() { return snapshot === undefined ? (snapshot = new Snapshot(id)) : snapshot; },
    });
    const fs = freeze({
      async readFile(path) { return native.readFile(id, text(path, "system.fs.readFile needs a path")); },
      async getChecksum(path) {
        return native.checksum(id, text(path, "system.fs.getChecksum needs a path"), false) ?? null;
      },
    });
    const system = freeze({ fs, cmd: freeze({ exec }) });
    return {
      __proto__: null, history, memory, system,
      get feedback() { return feedback === undefined ? (feedback = freeze(parse(native.feedback(id)))) : feedback; },
    };
  };

  const ended = (id, code, stdout, stderr, problem) => {
    const run = mapGet(running, id);
    if (run === undefined) return;
    mapDelete(running, id);
    if (problem !== undefined) run.reject(new E(problem));
    else run.resolve({ exitCode: code, stdout, stderr });
  };
  const forget = (runs) => { for (let i = 0; i < runs.length; i++) mapDelete(running, runs[i]); };

  return { __proto__: null, sight, ended, forget };
};
