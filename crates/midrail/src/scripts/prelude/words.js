// What is said of values, errors and answers, and what is printed. Compiled when something is first said.
0, function (kit) {
  "use strict";
  const { native, limits, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, isArray, stringify } = kit;
  const { hasOwn, wellFormed, slice, test, ownValue, lacks, isObject, mapSet, mapDelete, mapClear, mapEach } = kit;
  const { M, T, Str, ErrorProto } = kit;
  const isError = (value) => {
    while (value && (value = getPrototypeOf(value))) if (value === ErrorProto) return true;
    return false;
  };

  // A value in a few words, without calling anything of the script's.
  const show = (value) => {
    if (typeof value === "string") {
      return stringify(wellFormed(value.length > 60 ? slice(value, 0, 60) + "…" : value));
    }
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
  const told = (text) => wellFormed(text.length > 100000 ? slice(text, 0, 100000) + "…" : text);
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

  // Console.

  const printed = (value) => {
    if (typeof value === "string") return value;
    if (!isObject(value) || typeof value === "function") return show(value);
    if (!native.isProxy(value) && isError(value)) return describe(value).message;
    try {
      return kit.state().written(value, 8192);
    } catch {
      return show(value);
    }
  };
  const print = (level, values) => {
    let text = "";
    for (let i = 0; i < values.length && text.length < 8192; i++) text += (i === 0 ? "" : " ") + printed(values[i]);
    native.log(level, wellFormed(slice(text, 0, 8192)));
  };

  // What is wrong with the hooks of a script.

  const noHooks = (value) => new T(
    "the default export is " + (value === undefined ? "missing" : show(value)) +
    ", where an object with `input`, `output` or both is needed, each a function");
  const noFunction = (name, hook) =>
    new T("`" + name + "` of the default export is " + show(hook) + ", where a function is needed");
  const noHook = (name) =>
    new T("the default export has a function `" + Str(name) + "`, and there are the hooks `input` and `output` alone");

  // Answers of hooks that do not let pass.

  const POSSIBLE = {
    __proto__: null,
    input: 'it may return { allowed: true } or { allowed: false, message: "why", suggestion: "what to do instead", ' +
      'request: { reason: "why a person should let it pass", urgency: "normal", "urgent" or "emergency" } }',
    output: 'it may return { override: false } or { override: true, result: "new text", isError: true or false }',
  };
  const bounded = (value, what) => {
    if (value.length > limits.text) {
      throw new T("`" + what + "` is longer than " + limits.text + " characters; answer with less text");
    }
    return wellFormed(value);
  };
  // What a person is asked, as reason and urgency. Only one that is refused can be asked for.
  const asked = (value, wrong) => {
    const request = ownValue(value, "request");
    if (lacks(value, "request")) return { __proto__: null, reason: undefined, urgency: undefined };
    if (!isObject(request) || native.isProxy(request)) throw wrong(", with a request that is no object");
    const reason = ownValue(request, "reason");
    const urgency = lacks(request, "urgency") ? "normal" : ownValue(request, "urgency");
    if (typeof reason !== "string" || !test(/\S/, reason)) throw wrong(", with a request without a reason");
    if (urgency !== "normal" && urgency !== "urgent" && urgency !== "emergency") {
      throw wrong(", with a request of the urgency " + show(urgency));
    }
    return { __proto__: null, reason: bounded(reason, "request.reason"), urgency };
  };
  const judge = (id, hook, value) => {
    const wrong = (why) => new T("`" + hook + "` returned " + show(value) + why + "; " + POSSIBLE[hook]);
    if (!isObject(value) || native.isProxy(value)) throw wrong("");
    if (hook === "input") {
      if (ownValue(value, "allowed") === true) throw wrong(", which lets the call pass and asks for it at once");
      if (ownValue(value, "allowed") !== false) throw wrong("");
      const message = ownValue(value, "message");
      const suggestion = ownValue(value, "suggestion") ?? undefined;
      if (typeof message !== "string" || !test(/\S/, message)) throw wrong(", without a message");
      if (suggestion !== undefined && typeof suggestion !== "string") throw wrong(", with a suggestion that is no string");
      const { reason, urgency } = asked(value, wrong);
      const instead = suggestion === undefined ? undefined : bounded(suggestion, "suggestion");
      return native.refuse(id, bounded(message, "message"), instead, reason, urgency);
    }
    if (!lacks(value, "request")) throw wrong(", with a request, and only `input` asks a person");
    if (ownValue(value, "override") !== true) throw wrong("");
    const result = ownValue(value, "result");
    const isError = ownValue(value, "isError") ?? false;
    if (typeof result !== "string") throw wrong(", without a result that is a string");
    if (typeof isError !== "boolean") throw wrong(", with an isError that is neither true nor false");
    return native.replace(id, bounded(result, "result"), isError);
  };

  return { __proto__: null, show, describe, fail, uncaught, rejected, report, print, noHooks, noFunction, noHook, judge };
};
