// Timers. Loaded when the first one is set.
export default function (kit) {
  "use strict";
  const { native, apply, then, settled, mapGet, mapSet, mapDelete, M, T, words } = kit;
  const callbacks = new M();
  const start = (name, repeats, callback, delay, args) => {
    if (typeof callback !== "function") throw new T(name + " needs a function, not " + words().show(callback));
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
  const soon = (callback) => {
    if (typeof callback !== "function") throw new T("queueMicrotask needs a function, not " + words().show(callback));
    then(settled, () => { try { callback(); } catch (thrown) { words().uncaught(thrown); } });
  };
  const forget = (ids) => { for (let i = 0; i < ids.length; i++) mapDelete(callbacks, ids[i]); };
  return { __proto__: null, start, clear, fire, soon, forget };
}
