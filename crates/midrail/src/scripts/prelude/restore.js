// Gives variables the values that they had. Loaded where a session has kept some.
export default function (kit) {
  "use strict";
  const { deleteProperty, getPrototypeOf, ownKeys, set: assign, isArray, parse, hasOwn, put, push } = kit;
  const { ownValue, isObject, mapSet, mapClear, mapEach, setAdd, setClear, setEach, dateGet, dateSet } = kit;
  const { M, S, D, B, E, ObjectProto, MapProto, SetProto, DateProto } = kit;
  const { kept, encoded } = kit.state();

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
      assign(value, "length", 0);
      for (let i = 0; i < saved.length; i++) push(value, saved[i]);
    } else {
      const old = ownKeys(value);
      for (let i = 0; i < old.length; i++) if (typeof old[i] === "string") deleteProperty(value, old[i]);
      const keys = ownKeys(saved);
      for (let i = 0; i < keys.length; i++) put(value, keys[i], saved[keys[i]]);
    }
  };

  // What a call that failed left behind may be more than can be kept.
  const isInitial = (variable) => {
    try { return encoded(variable) === variable.initial; } catch { return false; }
  };
  const restore = (text) => {
    const state = parse(text);
    for (let i = 0; i < kept.length; i++) {
      const { module, name, get, set, initial } = kept[i];
      const variables = ownValue(state, module);
      const isChanged = isObject(variables) && hasOwn(variables, name);
      if (!isChanged && (initial === undefined || isInitial(kept[i]))) continue;
      const saved = decode(isChanged ? ownValue(variables, name) : parse(initial));
      if (set !== undefined) {
        // A name that turns out to be no variable cannot be set, and was not kept either.
        try { set(saved); } catch {}
      } else {
        refill(get(), saved);
      }
    }
  };

  return { __proto__: null, restore };
}
