// What a script finds when it starts: timers, console and the `ctx` of each call. It runs before the script and keeps
// its own hold on all that it uses, so that a script which replaces built-in functions changes nothing here.
(function (native, limits) {
  "use strict";
  const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, set } = Reflect;
  const { create, freeze } = Object;
  const { isArray } = Array;
  const { parse, stringify } = JSON;
  const { isInteger } = Number;
  const [P, M, S, D, R, E, T, B] = [Promise, Map, Set, Date, RegExp, Error, TypeError, BigInt];
  const Str = String;
  const ObjectProto = Object.prototype;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const hasOwn = uncurry(ObjectProto.hasOwnProperty);
  const then = uncurry(P.prototype.then);
  const wellFormed = uncurry(Str.prototype.toWellFormed);
  const slice = uncurry(Str.prototype.slice);
  const test = uncurry(R.prototype.test);
  const getter = (proto, name) => uncurry(getOwnPropertyDescriptor(proto, name).get);
  const [mapGet, mapSet, mapHas, mapDelete, mapClear, mapEach, mapSize] = [
    M.prototype.get, M.prototype.set, M.prototype.has, M.prototype.delete, M.prototype.clear, M.prototype.forEach,
  ].map((method) => uncurry(method)).concat(getter(M.prototype, "size"));
  const [setAdd, setDelete, setHas, setClear, setEach] = [
    S.prototype.add, S.prototype.delete, S.prototype.has, S.prototype.clear, S.prototype.forEach,
  ].map((method) => uncurry(method));
  const [MapProto, SetProto, DateProto, ErrorProto, ReferenceProto] =
    [M.prototype, S.prototype, D.prototype, E.prototype, ReferenceError.prototype];
  const isMap = (value) => { try { mapSize(value); return true; } catch { return false; } };
  const dateGet = uncurry(D.prototype.getTime);
  const dateSet = uncurry(D.prototype.setTime);
  const isError = (value) => { while (value && (value = getPrototypeOf(value))) if (value === ErrorProto) return true; return false; };

  // Merging what an agent sent into an object is the usual way to spoil all objects. It ends here.
  deleteProperty(ObjectProto, "__proto__");

  const put = (object, key, value) =>
    defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  const push = (list, value) => put(list, list.length, value);
  // An own value, never a getter's and never an inherited one.
  const ownValue = (object, key) => {
    const found = getOwnPropertyDescriptor(object, key);
    return found !== undefined && hasOwn(found, "value") ? found.value : undefined;
  };
  const quote = (text) => stringify(wellFormed(text));
  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

  // A value in a few words, without calling anything of the script's.
  const show = (value) => {
    if (typeof value === "string") return quote(value.length > 60 ? slice(value, 0, 60) + "…" : value);
    if (typeof value === "symbol") return "a symbol";
    if (typeof value === "function") return "a function";
    if (!isObject(value)) return Str(value);
    if (native.isProxy(value)) return "a Proxy";
    if (isArray(value)) return "an array";
    let text = "";
    const keys = ownKeys(value);
    for (let i = 0; i < keys.length && i < 5; i++) {
      if (typeof keys[i] === "symbol") continue;
      const found = getOwnPropertyDescriptor(value, keys[i]);
      const inner = found === undefined ? undefined : hasOwn(found, "value") ? found.value : null;
      const said = found !== undefined && !hasOwn(found, "value") ? "a getter" : isObject(inner) ? "…" : show(inner);
      text += (text === "" ? " " : ", ") + keys[i] + ": " + said;
    }
    return keys.length > 5 ? "{" + text + ", … }" : text === "" ? "{}" : "{" + text + " }";
  };

  // What was thrown, as message and stack. Reading it may run the script's code.
  const describe = (thrown) => {
    try {
      if (isObject(thrown) && !native.isProxy(thrown) && isError(thrown)) {
        const message = thrown.message;
        const name = thrown.name;
        const stack = thrown.stack;
        return {
          message: (typeof name === "string" ? name : "Error") + (typeof message === "string" && message !== "" ? ": " + message : ""),
          stack: typeof stack === "string" ? stack : "",
        };
      }
      // Where memory runs out there may not even be an error.
      if (thrown === null) return { message: limits.noMemory, stack: "" };
      return { message: "it threw " + show(thrown), stack: "" };
    } catch {
      return { message: "it threw something that cannot be shown", stack: "" };
    }
  };
  const told = (text) => wellFormed(text.length > 4000 ? slice(text, 0, 4000) + "…" : text);
  const fail = (id, thrown) => {
    const { message, stack } = describe(thrown);
    native.fail(id, told(message), told(stack));
  };
  const uncaught = (thrown) => {
    const { message, stack } = describe(thrown);
    native.uncaught(told(message), told(stack));
  };

  // Promises that failed without anybody listening. A check whose `await` was forgotten must not be passed over.

  const unhandled = new M();
  const rejected = (promise, reason, isHandled) => {
    if (isHandled) mapDelete(unhandled, promise);
    else mapSet(unhandled, promise, reason);
  };
  const report = () => {
    mapEach(unhandled, uncaught);
    mapClear(unhandled);
  };

  // The variables of modules.

  const kept = [];
  const keeper = (module) => {
    let isDone = false;
    return (list) => {
      if (isDone) throw new E("the variables of this module are known already");
      isDone = true;
      for (let i = 0; i < list.length; i++) {
        push(kept, { __proto__: null, module, name: list[i][0], get: list[i][1], set: list[i][2], initial: undefined, isFixed: false, isTold: false });
      }
    };
  };

  let left = 0;
  let active = new S();
  let unkept = "";
  const CANNOT = create(null);
  const REFUSED = create(null);
  const no = (why) => { unkept = why; throw CANNOT; };
  const refuse = (why) => { unkept = why; throw REFUSED; };
  let depth = 0;
  const spend = (text) => {
    left -= text.length;
    if (left < 0) refuse("more than " + limits.state / 1024 + " KB as JSON");
    return text;
  };
  const tagged = (tag, value) => spend('{"$":"' + tag + '"' + (value === undefined ? "}" : ',"v":' + value + "}"));
  const encode = (value) => {
    switch (typeof value) {
      case "string": {
        if (value.length > left) spend(value);
        return spend(quote(value));
      }
      case "boolean": return spend(value ? "true" : "false");
      case "number":
        return isInteger(value) || value - value === 0 ? (value === 0 && 1 / value < 0 ? tagged("number", '"-0"') : spend(Str(value))) : tagged("number", '"' + Str(value) + '"');
      case "bigint": return tagged("bigint", '"' + Str(value) + '"');
      case "undefined": return tagged("undefined");
      case "object": if (value === null) return spend("null"); break;
      default: no("a " + typeof value);
    }
    if (native.isProxy(value)) no("a Proxy");
    if (setHas(active, value)) refuse("a cycle");
    if (depth >= limits.depth) refuse("values nested more than " + limits.depth + " deep");
    const proto = getPrototypeOf(value);
    setAdd(active, value);
    depth++;
    let text = "";
    if (isArray(value)) {
      for (let i = 0; i < value.length; i++) {
        const found = getOwnPropertyDescriptor(value, i);
        if (found !== undefined && !hasOwn(found, "value")) no("a getter");
        text += (i === 0 ? "" : spend(",")) + encode(found === undefined ? undefined : found.value);
      }
      text = spend("[") + text + "]";
    } else if (proto === MapProto) {
      if (!isMap(value)) no("something that only looks like a Map");
      mapEach(value, (item, key) => {
        text += (text === "" ? "[" : ",[") + encode(key) + spend(",") + encode(item) + "]";
      });
      text = tagged("map", "[" + text + "]");
    } else if (proto === SetProto) {
      setEach(value, (item) => { text += (text === "" ? "" : ",") + encode(item); });
      text = tagged("set", "[" + text + "]");
    } else if (proto === DateProto) {
      text = tagged("date", stringify(dateGet(value)));
    } else if (proto === ObjectProto || proto === null) {
      const keys = ownKeys(value);
      for (let i = 0; i < keys.length; i++) {
        if (typeof keys[i] === "symbol") continue;
        const found = getOwnPropertyDescriptor(value, keys[i]);
        if (!found.enumerable) continue;
        if (!hasOwn(found, "value")) no("a getter");
        text += (text === "" ? "" : spend(",")) + spend(quote(keys[i])) + ":" + encode(found.value);
      }
      text = spend("{") + text + "}";
      if (hasOwn(value, "$")) text = tagged("object", text);
    } else {
      no("an instance of a class");
    }
    setDelete(active, value);
    depth--;
    return text;
  };

  const restart = () => { active = new S(); depth = 0; };
  // What a variable holds, as JSON. Undefined where it cannot be kept.
  const encoded = (variable) => {
    left = limits.state;
    try {
      const value = variable.get();
      return typeof value === "function" ? undefined : encode(value);
    } catch (thrown) {
      restart();
      // The getter is ours. It fails alone where the name turns out to be no variable.
      if (isObject(thrown) && getPrototypeOf(thrown) === ReferenceProto) return undefined;
      if (thrown !== CANNOT) throw thrown;
    }
    tell(variable);
    return undefined;
  };
  const tell = (variable) => {
    if (variable.isTold) return;
    variable.isTold = true;
    native.log(3, "the variable `" + variable.name + "` holds " + unkept + ", so it does not outlive this process");
  };
  // Takes the variables as the script begins.
  const begin = () => {
    for (let i = 0; i < kept.length; i++) {
      try {
        kept[i].initial = encoded(kept[i]);
      } catch (thrown) {
        // Something as large as that is a constant.
        if (thrown !== REFUSED) throw thrown;
        kept[i].isFixed = true;
        tell(kept[i]);
      }
    }
  };
  // The variables that are not as the script began. What never changed is not kept, so that it can be edited.
  const capture = () => {
    let text = "";
    let module;
    for (let i = 0; i < kept.length; i++) {
      const variable = kept[i];
      if (variable.isFixed) continue;
      let said;
      try {
        said = encoded(variable);
        if (said === undefined || said === variable.initial) continue;
        spend(text);
      } catch (thrown) {
        if (thrown !== REFUSED) throw thrown;
        throw new E("the variable `" + variable.name + "` holds " + unkept + ", which cannot be kept; keep less in it");
      }
      if (variable.module !== module) {
        text += (module === undefined ? "" : "},") + quote(variable.module) + ":{";
        module = variable.module;
      } else {
        text += ",";
      }
      text += quote(variable.name) + ":" + said;
    }
    return "{" + text + (module === undefined ? "}" : "}}");
  };

  const decode = (value) => {
    if (!isObject(value)) return value;
    if (isArray(value)) {
      const list = [];
      for (let i = 0; i < value.length; i++) push(list, decode(value[i]));
      return list;
    }
    const tag = ownValue(value, "$");
    const inner = ownValue(value, "v");
    switch (tag) {
      case undefined: return decodeObject(value);
      case "object": return decodeObject(inner);
      case "undefined": return undefined;
      case "number": return +inner;
      case "bigint": return B(inner);
      case "date": return new D(inner === null ? NaN : inner);
      case "set": {
        const set = new S();
        for (let i = 0; i < inner.length; i++) setAdd(set, decode(inner[i]));
        return set;
      }
      case "map": {
        const map = new M();
        for (let i = 0; i < inner.length; i++) mapSet(map, decode(inner[i][0]), decode(inner[i][1]));
        return map;
      }
      default: throw new E("the kept variables hold an unknown kind of value");
    }
  };
  const decodeObject = (value) => {
    const object = {};
    const keys = ownKeys(value);
    for (let i = 0; i < keys.length; i++) put(object, keys[i], decode(value[keys[i]]));
    return object;
  };

  // Gives a constant the content that it had.
  const refill = (value, saved) => {
    if (!isObject(value) || !isObject(saved) || typeof value === "function") return;
    const proto = getPrototypeOf(value);
    if (proto !== getPrototypeOf(saved) && !(proto === null && getPrototypeOf(saved) === ObjectProto)) return;
    if (proto === MapProto) {
      mapClear(value);
      mapEach(saved, (item, key) => { mapSet(value, key, item); });
    } else if (proto === SetProto) {
      setClear(value);
      setEach(saved, (item) => { setAdd(value, item); });
    } else if (proto === DateProto) {
      dateSet(value, dateGet(saved));
    } else if (isArray(value)) {
      // A frozen one stays as it is.
      set(value, "length", 0);
      for (let i = 0; i < saved.length; i++) push(value, saved[i]);
    } else {
      const old = ownKeys(value);
      for (let i = 0; i < old.length; i++) if (typeof old[i] === "string") deleteProperty(value, old[i]);
      const keys = ownKeys(saved);
      for (let i = 0; i < keys.length; i++) put(value, keys[i], saved[keys[i]]);
    }
  };

  const restore = (text) => {
    const state = parse(text);
    for (let i = 0; i < kept.length; i++) {
      const { module, name, get, set, initial } = kept[i];
      const variables = ownValue(state, module);
      const isChanged = isObject(variables) && hasOwn(variables, name);
      if (!isChanged && (initial === undefined || encoded(kept[i]) === initial)) continue;
      const saved = decode(isChanged ? ownValue(variables, name) : parse(initial));
      if (set !== undefined) {
        // A name that turns out to be no variable cannot be set, and was not kept either.
        try { set(saved); } catch {}
      } else {
        refill(get(), saved);
      }
    }
  };

  // Timers.

  const callbacks = new M();
  const timer = (name, repeats) => function (callback, delay, ...args) {
    if (typeof callback !== "function") throw new T(name + " needs a function, not " + show(callback));
    const id = native.timer(+delay || 0, repeats);
    mapSet(callbacks, id, { __proto__: null, callback, args, repeats });
    return id;
  };
  const clear = (id) => {
    if (typeof id === "number" && mapDelete(callbacks, id)) native.clear(id);
  };
  const fire = (id) => {
    const found = mapGet(callbacks, id);
    if (found === undefined) return;
    if (!found.repeats) mapDelete(callbacks, id);
    apply(found.callback, undefined, found.args);
  };
  const define = (name, value) =>
    defineProperty(globalThis, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
  define("setTimeout", timer("setTimeout", false));
  define("setInterval", timer("setInterval", true));
  define("clearTimeout", function clearTimeout(id) { clear(id); });
  define("clearInterval", function clearInterval(id) { clear(id); });
  const settled = P.resolve();
  define("queueMicrotask", function queueMicrotask(callback) {
    if (typeof callback !== "function") throw new T("queueMicrotask needs a function, not " + show(callback));
    then(settled, () => { try { callback(); } catch (thrown) { uncaught(thrown); } });
  });

  // Console.

  const printed = (value) => {
    if (typeof value === "string") return value;
    if (!isObject(value) || typeof value === "function") return show(value);
    if (!native.isProxy(value) && isError(value)) return describe(value).message;
    try {
      left = 8192;
      restart();
      return encode(value);
    } catch {
      return show(value);
    }
  };
  const line = (level) => function (...values) {
    let text = "";
    for (let i = 0; i < values.length && text.length < 8192; i++) text += (i === 0 ? "" : " ") + printed(values[i]);
    native.log(level, wellFormed(slice(text, 0, 8192)));
  };
  define("console", { error: line(0), warn: line(1), info: line(2), log: line(2), debug: line(3), trace: line(4) });

  // The context of a call.

  const text = (value, what) => {
    if (typeof value !== "string") throw new T(what + ", not " + show(value));
    return wellFormed(value);
  };

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
    [Symbol.iterator]() { return this.entries(); }
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

  const running = new M();
  const context = (id, tool, workingDirectory, content, isError) => {
    let args, messages, snapshot, feedback;
    let hasArgs = false;
    const history = () => (messages === undefined ? (messages = parse(native.history(id))) : messages);
    const exec = (command) => new P((resolve, reject) => {
      const run = native.exec(id, text(command, "system.cmd.exec needs a command"));
      mapSet(running, run, { __proto__: null, resolve, reject });
    });
    const isStale = (path) => {
      const now = native.checksum(id, path) ?? null;
      return now !== (native.readBefore(id, path) ?? null);
    };
    return freeze({
      tool: freeze({
        name: tool,
        get args() {
          if (!hasArgs) { args = parse(native.args(id)); hasArgs = true; }
          return args;
        },
      }),
      result: content === undefined ? undefined : freeze({ content, isError }),
      history: freeze({
        get messages() { return history(); },
        get lastUserMessage() {
          const all = history();
          for (let i = all.length - 1; i >= 0; i--) {
            if (isObject(all[i]) && ownValue(all[i], "role") === "user") return said(all[i]);
          }
          return null;
        },
      }),
      get feedback() { return feedback === undefined ? (feedback = freeze(parse(native.feedback(id)))) : feedback; },
      memory: freeze({ get snapshot() { return snapshot === undefined ? (snapshot = new Snapshot(id)) : snapshot; } }),
      system: freeze({
        fs: freeze({
          async readFile(path) { return native.readFile(id, text(path, "system.fs.readFile needs a path")); },
          async getChecksum(path) {
            return native.checksum(id, text(path, "system.fs.getChecksum needs a path")) ?? null;
          },
        }),
        cmd: freeze({ exec }),
      }),
      workingDirectory,
      std: freeze({
        async checkStaleContext(diff) {
          const files = native.targets(text(diff, "std.checkStaleContext needs the text of a diff"));
          const stale = [];
          for (let i = 0; i < files.length; i++) if (isStale(files[i])) push(stale, files[i]);
          return stale;
        },
        parseUnifiedDiff(diff) { return native.targets(text(diff, "std.parseUnifiedDiff needs the text of a diff")); },
        async isGitClean(cmd) {
          const run = isObject(cmd) && typeof cmd.exec === "function" ? (command) => cmd.exec(command) : exec;
          const { exitCode, stdout } = await run("git -c core.fsmonitor=false status --porcelain");
          return exitCode === 0 && !test(/\S/, stdout);
        },
        computeChecksum(content) { return native.sha256(text(content, "std.computeChecksum needs a string")); },
        argMatches(args, key, regex) {
          if (!isObject(args)) return false;
          const pattern = typeof regex === "string" ? new R(regex) : regex;
          const matches = (value, depth) => {
            if (isArray(value) && depth === 0) {
              for (let i = 0; i < value.length; i++) if (matches(value[i], 1)) return true;
              return false;
            }
            if (typeof value === "number" || typeof value === "boolean") value = Str(value);
            if (typeof value !== "string") return false;
            // A global or sticky pattern remembers where it stopped, and would miss every other time.
            pattern.lastIndex = 0;
            const found = test(pattern, value);
            pattern.lastIndex = 0;
            return found;
          };
          return matches(ownValue(args, key), 0);
        },
        async isFileStale(path) { return isStale(text(path, "std.isFileStale needs a path")); },
      }),
    });
  };

  // Hooks.

  let exported;
  const hooks = { __proto__: null, input: undefined, output: undefined };
  const shape = (value) => {
    const wanted = ", where an object with `input`, `output` or both is needed, each a function";
    if (!isObject(value) || typeof value === "function" || isArray(value)) {
      throw new T("the default export is " + (value === undefined ? "missing" : show(value)) + wanted);
    }
    if (native.isProxy(value)) throw new T("the default export is a Proxy" + wanted);
    const take = (name) => {
      const hook = value[name];
      if (hook !== undefined && typeof hook !== "function") {
        throw new T("`" + name + "` of the default export is " + show(hook) + ", where a function is needed");
      }
      hooks[name] = hook;
    };
    take("input");
    take("output");
    if (hooks.input === undefined && hooks.output === undefined) {
      throw new T("the default export is " + show(value) + wanted);
    }
    const names = ownKeys(value);
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      if (name !== "input" && name !== "output" && typeof value[name] === "function") {
        throw new T("the default export has a function `" + String(name) + "`, and there are the hooks `input` and `output` alone");
      }
    }
    exported = value;
  };

  const POSSIBLE = {
    __proto__: null,
    input: 'it may return { allowed: true } or { allowed: false, message: "why", suggestion: "what to do instead" }',
    output: 'it may return { override: false } or { override: true, result: "new text", isError: true or false }',
  };
  const bounded = (value, what) => {
    if (value.length > limits.text) {
      throw new T("`" + what + "` is longer than " + limits.text + " characters; answer with less text");
    }
    return wellFormed(value);
  };
  const judge = (id, hook, value) => {
    const wrong = (why) => new T("`" + hook + "` returned " + show(value) + why + "; " + POSSIBLE[hook]);
    if (!isObject(value) || native.isProxy(value)) throw wrong("");
    if (hook === "input") {
      const allowed = ownValue(value, "allowed");
      if (allowed === true) return native.pass(id);
      if (allowed !== false) throw wrong("");
      const message = ownValue(value, "message");
      const suggestion = ownValue(value, "suggestion") ?? undefined;
      if (typeof message !== "string" || !test(/\S/, message)) throw wrong(", without a message");
      if (suggestion !== undefined && typeof suggestion !== "string") throw wrong(", with a suggestion that is no string");
      return native.refuse(id, bounded(message, "message"), suggestion === undefined ? undefined : bounded(suggestion, "suggestion"));
    }
    const override = ownValue(value, "override");
    if (override === false) return native.pass(id);
    if (override !== true) throw wrong("");
    const result = ownValue(value, "result");
    const isError = ownValue(value, "isError") ?? false;
    if (typeof result !== "string") throw wrong(", without a result that is a string");
    if (typeof isError !== "boolean") throw wrong(", with an isError that is neither true nor false");
    return native.replace(id, bounded(result, "result"), isError);
  };

  const start = async (id, hook, tool, workingDirectory, content, isError) => {
    if (hooks[hook] === undefined) return native.pass(id);
    try {
      judge(id, hook, await apply(hooks[hook], exported, [context(id, tool, workingDirectory, content, isError)]));
    } catch (thrown) {
      try { fail(id, thrown); } catch { native.failed(id); }
    }
  };

  const ended = (id, code, stdout, stderr, problem) => {
    const run = mapGet(running, id);
    if (run === undefined) return;
    mapDelete(running, id);
    if (problem !== undefined) run.reject(new E(problem));
    else run.resolve({ exitCode: code, stdout, stderr });
  };
  const forget = (ids, runs) => {
    for (let i = 0; i < ids.length; i++) mapDelete(callbacks, ids[i]);
    for (let i = 0; i < runs.length; i++) mapDelete(running, runs[i]);
  };

  return { __proto__: null, keeper, shape, start, fire, ended, forget, begin, capture, restore, describe, rejected, report };
});
