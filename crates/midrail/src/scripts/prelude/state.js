// Writes down the variables of modules. Loaded where a script has some, or prints an object.
export default function (kit) {
  "use strict";
  const { native, limits, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, isArray, stringify, isInteger } = kit;
  const { hasOwn, wellFormed, push, isObject, mapEach, mapSize, setAdd, setDelete, setHas, setEach, dateGet } = kit;
  const { S, E, Str, ObjectProto, MapProto, SetProto, DateProto, ReferenceProto } = kit;
  const quote = (text) => stringify(wellFormed(text));
  const isMap = (value) => { try { mapSize(value); return true; } catch { return false; } };

  const kept = [];
  const keeper = (module) => {
    let isDone = false;
    return (list) => {
      if (isDone) throw new E("the variables of this module are known already");
      isDone = true;
      for (let i = 0; i < list.length; i++) {
        push(kept, { __proto__: null, module, name: list[i][0], get: list[i][1], set: list[i][2], initial: undefined, isFixed: false, isReported: false });
      }
    };
  };

  let left = 0;
  let active = new S();
  let unkept = "";
  const CANNOT = { __proto__: null };
  const REFUSED = { __proto__: null };
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
  // A value as JSON of no more than so many characters.
  const written = (value, length) => {
    left = length;
    restart();
    return encode(value);
  };
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
    report(variable);
    return undefined;
  };
  const report = (variable) => {
    if (variable.isReported) return;
    variable.isReported = true;
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
        report(kept[i]);
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

  return { __proto__: null, kept, keeper, encoded, written, begin, capture };
}
