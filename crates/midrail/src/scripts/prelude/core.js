// What a script finds when it starts: timers, console and the `ctx` of each call. It runs before the script and keeps
// its own hold on all that it uses, so that a script which replaces built-in functions changes nothing here.
//
// Most processes call one hook once. So what is not needed for that is in separate files: each is a function of
// `kit`, loaded when it is first asked for. Such a file may use what is in `kit` and nothing global, because the script has
// run by then.
export default function (native, limits) {
  "use strict";
  const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, set } = Reflect;
  const { freeze } = Object;
  const { isArray } = Array;
  const { parse, stringify } = JSON;
  const Bytes = ArrayBuffer;
  const define = (name, value) =>
    defineProperty(globalThis, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
  const ObjectProto = Object.prototype;
  const MapProto = Map.prototype;
  const SetProto = Set.prototype;
  const DateProto = Date.prototype;
  const StringProto = String.prototype;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const hasOwn = uncurry(ObjectProto.hasOwnProperty);
  const wellFormed = uncurry(StringProto.toWellFormed);

  // Merging what an agent sent into an object is the usual way to spoil all objects. It ends here.
  deleteProperty(ObjectProto, "__proto__");

  // Where memory runs out in the middle of a text, the compiler loses its footing. So it is made sure beforehand that
  // there is enough for any text of such a length, and no text is compiled but that of files.
  const room = (bytes) => { new Bytes(bytes); };
  deleteProperty(globalThis, "eval");
  const noCode = function Function() { throw new TypeError("a script cannot make code of text: write it in a file and import it"); };
  noCode.prototype = Function.prototype;
  define("Function", noCode);
  const kinds = [function () {}, async function () {}, function* () {}, async function* () {}];
  for (let i = 0; i < kinds.length; i++) {
    defineProperty(getPrototypeOf(kinds[i]), "constructor", { __proto__: null, value: noCode });
  }

  const put = (object, key, value) =>
    defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  // An own value, never a getter's and never an inherited one.
  const ownValue = (object, key) => {
    const found = getOwnPropertyDescriptor(object, key);
    return found !== undefined && hasOwn(found, "value") ? found.value : undefined;
  };
  // Whether there is no such value. A getter might have one, and is not called.
  const lacks = (object, key) => {
    const found = getOwnPropertyDescriptor(object, key);
    return found === undefined || (hasOwn(found, "value") && (found.value ?? undefined) === undefined);
  };
  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
  // A string that something was given, in a form that can be written down.
  const text = (value, what) => {
    if (typeof value !== "string") throw new kit.T(what + ", not " + words().show(value));
    return wellFormed(value);
  };

  const kit = {
    __proto__: null,
    native, limits, apply, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, set, freeze, isArray,
    parse, stringify, ObjectProto, MapProto, SetProto, DateProto, hasOwn, wellFormed, put, ownValue, lacks, isObject, text,
    isInteger: Number.isInteger,
    P: Promise, M: Map, S: Set, D: Date, R: RegExp, E: Error, T: TypeError, B: BigInt, Str: String,
    iterator: Symbol.iterator,
    ErrorProto: Error.prototype,
    ReferenceProto: ReferenceError.prototype,
    settled: Promise.resolve(),
    then: uncurry(Promise.prototype.then),
    slice: uncurry(StringProto.slice),
    test: uncurry(RegExp.prototype.test),
    mapGet: uncurry(MapProto.get), mapSet: uncurry(MapProto.set), mapDelete: uncurry(MapProto.delete),
    mapClear: uncurry(MapProto.clear), mapEach: uncurry(MapProto.forEach),
    mapSize: uncurry(getOwnPropertyDescriptor(MapProto, "size").get),
    setAdd: uncurry(SetProto.add), setDelete: uncurry(SetProto.delete), setHas: uncurry(SetProto.has),
    setClear: uncurry(SetProto.clear), setEach: uncurry(SetProto.forEach),
    dateGet: uncurry(DateProto.getTime), dateSet: uncurry(DateProto.setTime),
    push: (list, value) => put(list, list.length, value),
    call: undefined,
  };

  const part = (name) => {
    let made;
    return () => {
      if (made === undefined) { room(limits.part); made = native.part(name)(kit); }
      return made;
    };
  };
  const words = (kit.words = part("words"));
  const state = (kit.state = part("state"));
  const world = (kit.world = part("world"));
  const restoring = part("restore");
  const timers = part("timers");
  const std = part("std");

  // The variables of modules, where a script has some.

  let hasVariables = false;
  const keeper = (module) => { hasVariables = true; return state().keeper(module); };
  const begin = () => { if (hasVariables) state().begin(); };
  const capture = () => (hasVariables ? state().capture() : "{}");
  const restore = (text) => { if (hasVariables) restoring().restore(text); };

  // Globals.

  const timer = (name, repeats) => function (callback, delay, ...args) {
    return timers().start(name, repeats, callback, delay, args);
  };
  define("setTimeout", timer("setTimeout", false));
  define("setInterval", timer("setInterval", true));
  define("clearTimeout", function clearTimeout(id) { timers().clear(id); });
  define("clearInterval", function clearInterval(id) { timers().clear(id); });
  define("queueMicrotask", function queueMicrotask(callback) { timers().soon(callback); });
  const line = (level) => function (...values) { words().print(level, values); };
  define("console", { error: line(0), warn: line(1), info: line(2), log: line(2), debug: line(3), trace: line(4) });

  // The context of a call.

  // What a hook sees in addition to its call. A realm has one call at a time, `kit.call`, so that all calls share this: to make it
  // for each would take longer than most hooks do. What it is made of is loaded when a hook first looks.
  const all = (names, how) => {
    const made = {};
    for (let i = 0; i < names.length; i++) defineProperty(made, names[i], how(names[i]));
    return freeze(made);
  };
  const values = (names, get) => all(names, (name) => ({ __proto__: null, enumerable: true, get: () => get(name) }));
  const functions = (names, from) =>
    all(names, (name) => ({ __proto__: null, enumerable: true, value: (a, b, c) => from()[name](a, b, c) }));
  const history = values(["messages", "lastUserMessage"], (name) => world()[name]());
  const feedback = values(
    ["calls", "callsSince", "last", "lastProvider", "recentCalls", "deadline", "session", "prompt"],
    (name) => world().feedback()[name]);
  const memory = values(["snapshot"], () => world().snapshot);
  const system = freeze({ fs: functions(["readFile", "getChecksum"], world), cmd: functions(["exec"], world) });
  const helpers = functions(
    ["checkStaleContext", "parseUnifiedDiff", "isGitClean", "computeChecksum", "argMatches", "isFileStale"], std);

  const context = (id, name, workingDirectory, content, isError) => {
    let args;
    kit.call = id;
    return freeze({
      tool: freeze({
        name,
        get args() { return args === undefined ? (args = parse(native.args(id))) : args; },
      }),
      result: content === undefined ? undefined : freeze({ content, isError }),
      history, feedback, memory, system, workingDirectory, std: helpers,
    });
  };

  // Hooks.

  let exported;
  const hooks = { __proto__: null, input: undefined, output: undefined };
  const take = (value, name) => {
    const hook = value[name];
    if (hook !== undefined && typeof hook !== "function") throw words().noFunction(name, hook);
    hooks[name] = hook;
  };
  const shape = (value) => {
    if (!isObject(value) || typeof value === "function" || isArray(value) || native.isProxy(value)) {
      throw words().noHooks(value);
    }
    take(value, "input");
    take(value, "output");
    const names = ownKeys(value);
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      if (name !== "input" && name !== "output" && typeof value[name] === "function") throw words().noHook(name);
    }
    if (hooks.input === undefined && hooks.output === undefined) throw words().noHooks(value);
    exported = value;
  };

  const failed = (id, thrown) => {
    try { words().fail(id, thrown); } catch { native.failed(id); }
  };
  const answered = (id, hook, value) => {
    const isPass = isObject(value) && !native.isProxy(value) &&
      ownValue(value, hook === "input" ? "allowed" : "override") === (hook === "input") && lacks(value, "request");
    if (isPass) native.pass(id);
    else words().judge(id, hook, value);
  };
  const later = async (id, hook, value) => {
    try { answered(id, hook, await value); } catch (thrown) { failed(id, thrown); }
  };
  // To await what is there already takes longer than most hooks do.
  const start = (id, hook, tool, workingDirectory, content, isError) => {
    if (hooks[hook] === undefined) return native.pass(id);
    try {
      const value = apply(hooks[hook], exported, [context(id, tool, workingDirectory, content, isError)]);
      const there = native.there(value);
      if (there === undefined) later(id, hook, value);
      else answered(id, hook, there);
    } catch (thrown) {
      failed(id, thrown);
    }
  };
  const fire = (id) => timers().fire(id);
  const ended = (id, code, stdout, stderr, problem) => world().ended(id, code, stdout, stderr, problem);
  const forget = (ids, runs) => {
    if (ids.length > 0) timers().forget(ids);
    if (runs.length > 0) world().forget(runs);
  };
  const describe = (thrown) => words().describe(thrown);
  const rejected = (promise, reason, isHandled) => words().rejected(promise, reason, isHandled);
  const report = () => words().report();

  return { __proto__: null, room, keeper, shape, start, fire, ended, forget, begin, capture, restore, describe, rejected, report };
}
