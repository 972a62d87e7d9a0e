// What is said of values, errors and answers, and what is printed. Loaded when something is first said.
export default function (kit) {
  "use strict";
  const { native, limits, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, isArray } = kit;
  const { hasOwn, wellFormed, slice, test, ownValue, lacks, isObject, mapSet, mapDelete, mapClear, mapEach } = kit;
  const { M, T, Str, ErrorProto } = kit;
  const isError = (value) => {
    while (value && (value = getPrototypeOf(value))) if (value === ErrorProto) return true;
    return false;
  };

  // The words that answers and exports are made of. Any other key may be something that was found in a file.
  const KEYS = [
    "input", "output", "allowed", "message", "suggestion", "request", "reason", "urgency", "override", "result", "isError",
  ];
  // What a value is, without calling anything of the script's. Nothing of a text is quoted: half of a secret is recognised by
  // no detector.
  const show = (value) => {
    switch (typeof value) {
      case "string": return value === "" ? "an empty text" : "a text of " + value.length + (value.length === 1 ? " character" : " characters");
      case "number": case "bigint": case "symbol": case "function": return "a " + typeof value;
      case "object": if (value !== null) break;
      default: return Str(value);
    }
    if (native.isProxy(value)) return "a Proxy";
    if (isArray(value)) return "an array";
    let text = "";
    let others = ownKeys(value).length;
    for (let i = 0; i < KEYS.length; i++) {
      const found = getOwnPropertyDescriptor(value, KEYS[i]);
      if (found === undefined) continue;
      others--;
      const said = !hasOwn(found, "value") ? "a getter" : isObject(found.value) ? "…" : show(found.value);
      text += (text === "" ? " " : ", ") + KEYS[i] + ": " + said;
    }
    if (others > 0) text += text === "" ? " …" : ", …";
    return text === "" ? "{}" : "{" + text + " }";
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
      return { message: typeof thrown === "string" ? "it threw: " + thrown : "it threw " + show(thrown), stack: "" };
    } catch {
      return { message: "it threw something that cannot be shown", stack: "" };
    }
  };
  // The engine masks secrets first, and cuts the text then.
  const shown = (text) => wellFormed(text.length > 100000 ? slice(text, 0, 100000) + "…" : text);
  const fail = (id, thrown) => {
    const { message, stack } = describe(thrown);
    native.fail(id, shown(message), shown(stack));
  };
  const uncaught = (thrown) => {
    const { message, stack } = describe(thrown);
    native.uncaught(shown(message), shown(stack));
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
    if (typeof value === "symbol" || typeof value === "function") return show(value);
    if (!isObject(value)) return Str(value);
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
  const isLong = (text) => text.length > limits.text;
  const isSaid = (text) => typeof text === "string" && test(/\S/, text);
  // What a person is asked, as reason and urgency, or what is wrong with it. Only one that is refused can be asked for.
  const asked = (value) => {
    const request = ownValue(value, "request");
    const not = (fault) => ({ __proto__: null, reason: undefined, urgency: undefined, fault });
    if (lacks(value, "request")) return not("");
    if (!isObject(request) || native.isProxy(request)) return not(", with a request that is no object");
    const reason = ownValue(request, "reason");
    const urgency = lacks(request, "urgency") ? "normal" : ownValue(request, "urgency");
    if (!isSaid(reason)) return not(", with a request without a reason");
    if (isLong(reason)) return not(", with a request whose reason is longer than " + limits.text + " characters");
    if (urgency !== "normal" && urgency !== "urgent" && urgency !== "emergency") {
      return not(", with a request of an urgency that there is not");
    }
    return { __proto__: null, reason: wellFormed(reason), urgency, fault: "" };
  };
  // A refusal counts even if its texts are invalid: invalid parts are left out, and the message states it.
  const refuse = (id, value) => {
    let message = ownValue(value, "message");
    let suggestion = ownValue(value, "suggestion") ?? undefined;
    const { reason, urgency, fault } = asked(value);
    let faults = "";
    if (!isSaid(message)) faults = " without a message,";
    else if (isLong(message)) faults = " with a message longer than " + limits.text + " characters,";
    const hasMessage = faults === "";
    if (suggestion !== undefined && (typeof suggestion !== "string" || isLong(suggestion))) {
      faults += " with a suggestion that is " + (typeof suggestion === "string" ? "too long" : "no text") + ",";
      suggestion = undefined;
    }
    if (fault !== "") faults += slice(fault, 1) + ",";
    if (faults !== "") {
      const said = "refused" + slice(faults, 0, -1) + ": " + POSSIBLE.input;
      message = hasMessage ? message + " (" + said + ")" : said;
    }
    native.refuse(id, wellFormed(message), suggestion === undefined ? undefined : wellFormed(suggestion), reason, urgency);
  };
  const judge = (id, hook, value) => {
    const wrong = (why) => new T("`" + hook + "` returned " + show(value) + why + "; " + POSSIBLE[hook]);
    if (!isObject(value) || native.isProxy(value)) throw wrong("");
    if (hook === "input") {
      if (ownValue(value, "allowed") === true) throw wrong(", which lets the call pass and asks for it at once");
      if (ownValue(value, "allowed") !== false) throw wrong("");
      return refuse(id, value);
    }
    if (!lacks(value, "request")) throw wrong(", with a request, and only `input` asks a person");
    if (ownValue(value, "override") !== true) throw wrong("");
    const result = ownValue(value, "result");
    const isError = ownValue(value, "isError") ?? false;
    if (typeof result !== "string") throw wrong(", without a result that is a string");
    if (isLong(result)) throw wrong(", with a result longer than " + limits.text + " characters; answer with less text");
    if (typeof isError !== "boolean") throw wrong(", with an isError that is neither true nor false");
    return native.replace(id, wellFormed(result), isError);
  };

  return { __proto__: null, show, describe, fail, uncaught, rejected, report, print, noHooks, noFunction, noHook, judge };
}
