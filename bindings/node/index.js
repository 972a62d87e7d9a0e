// The guard and its sessions: what a program uses.

import { randomUUID } from 'node:crypto';

import { InProcess, Service, message } from './backend.js';
import { Approval, Decision, Stopped, ToolFailed, refusal } from './decision.js';
import { Stream } from './stream.js';

export { Approval, Decision, Stopped, Stream, ToolFailed };

export class Guard {
  #backend;
  #cwd;

  constructor(options = {}) {
    if (options.url === undefined) {
      this.#backend = new InProcess(options);
      return;
    }
    if (options.packs !== undefined || options.env !== undefined || options.store !== undefined) {
      throw new Error('a service has its own packs and store: give `url`, or `packs`, `env` and `store`');
    }
    this.#backend = new Service(options);
    this.#cwd = options.cwd;
  }

  session(id, options = {}) {
    return new Session(this.#backend, id ?? `run-${randomUUID().slice(0, 12)}`, { cwd: this.#cwd, ...options });
  }

  guardrail(id, settings, check) {
    const { tools = [], on = ['before_tool'], key, description = '', priority = 100 } = settings;
    const { approver = 'reviewer', timeoutMs = 1_000, onResult } = settings;
    const spec = { id, description, tools, on, key, priority, approver, timeout_ms: timeoutMs, observes: !!onResult };
    this.#backend.register(spec, async ({ hook, event, state }) => {
      const { tool, result } = event;
      const call = { event, state: state ?? {}, tool: tool?.name, args: tool?.args ?? {}, result: result?.content };
      if (hook === 'check') return verdictOf(id, await check(call));
      await onResult(call);
      return Object.keys(call.state).length ? call.state : null;
    });
  }

  unregister(id) {
    return this.#backend.unregister(id);
  }
}

/** The verdict that an answer of a guardrail means. */
function verdictOf(id, answer) {
  if (answer === undefined || answer === null || answer === true) return { effect: 'allow' };
  if (answer === false) return { effect: 'block', reason: `the guardrail \`${id}\` does not allow this` };
  if (typeof answer === 'string') return { effect: 'block', reason: answer };
  if (typeof answer === 'object') return answer;
  throw new TypeError(`a guardrail returns nothing, a text or a verdict, not a ${typeof answer}`);
}

export class Session {
  #backend;
  #template;

  constructor(backend, id, { agent, task, cwd, prompt, parent, waitMs = 0 }) {
    this.#backend = backend;
    this.#template = { agent, task, cwd: cwd === undefined ? undefined : String(cwd), prompt, parent };
    this.id = id;
    this.waitMs = waitMs;
  }

  get agentId() {
    return this.#template.agent?.id ?? undefined;
  }

  async decide(event) {
    let text;
    try {
      text = this.#encode(event);
    } catch (error) {
      return this.#refused(`the event is not JSON: ${message(error)}`);
    }
    return new Decision(await this.#backend.decide(text), this.#backend);
  }

  async conversation(messages, { new: fresh = 0 } = {}) {
    if (messages.length === 0) return [];
    let texts;
    try {
      texts = messages.map((each) => this.#encode(typeof each === 'string' ? { kind: 'before_model', text: each } : each));
    } catch (error) {
      return [this.#refused(`the event is not JSON: ${message(error)}`)];
    }
    const decided = await this.#backend.decideConversation(texts, fresh);
    const decisions = decided.map((text) => new Decision(text, this.#backend));
    if (decisions.length < texts.length && decisions.every(({ allowed }) => allowed)) {
      decisions.push(this.#refused('a decision about the conversation is missing'));
    }
    return decisions;
  }

  #encode(event) {
    return JSON.stringify({ ...this.#template, session: this.id, ...event }, readable);
  }

  #refused(why) {
    return new Decision(refusal(why), this.#backend);
  }

  beforeTool(tool, args = {}, fields = {}) {
    return this.decide({ kind: 'before_tool', tool: { name: tool, args }, ...fields });
  }

  afterTool(tool, args = {}, result = null, { ok = true, ...fields } = {}) {
    const given = { ok, content: result ?? null };
    return this.decide({ kind: 'after_tool', tool: { name: tool, args }, result: given, ...fields });
  }

  beforeModel(text, fields = {}) {
    return this.decide({ kind: 'before_model', text, ...fields });
  }

  afterModel(text, fields = {}) {
    return this.decide({ kind: 'after_model', text, ...fields });
  }

  handoff(to, handoff = {}) {
    return this.decide({ kind: 'before_handoff', handoff: { to, ...handoff } });
  }

  error(error, fields = {}) {
    const kind = error instanceof Error ? error.name : undefined;
    return this.decide({ kind: 'on_error', error: { message: message(error), kind }, ...fields });
  }

  beforeStop(output = null, fields = {}) {
    return this.decide({ kind: 'before_stop', output, ...fields });
  }

  stream({ maxBytes = 4096 } = {}) {
    return new Stream((event) => this.decide(event), maxBytes);
  }

  async call(tool, args, run, { waitMs = this.waitMs, onDecision } = {}) {
    let decided;
    try {
      // What is decided is what runs, whatever happens to the original meanwhile.
      decided = JSON.parse(JSON.stringify(args ?? {}, readable));
    } catch (error) {
      throw new Stopped(this.#refused(`the arguments are not JSON: ${message(error)}`));
    }
    const decision = await this.#decideAndWait(tool, decided, waitMs);
    onDecision?.(decision);
    if (!decision.allowed) throw new Stopped(decision);
    const permitted = this.#permitted(decision, decided);
    // A tool may change its arguments; its result belongs to those that were decided.
    const reported = structuredClone(permitted);
    let result;
    let failure;
    try {
      result = await run(permitted, decision);
    } catch (error) {
      failure = { error };
    }
    const content = failure ? message(failure.error) : result;
    const after = await this.afterTool(tool, reported, content, { ok: !failure });
    onDecision?.(after);
    if (!after.allowed) throw new Stopped(after);
    if (failure) throw after.content === undefined ? failure.error : new ToolFailed(after.content);
    return after.content === undefined ? result : passedOn(result, after.content);
  }

  guarded(name, run) {
    return (args) => this.call(name, args, run);
  }

  async #decideAndWait(tool, args, waitMs) {
    const decision = await this.beforeTool(tool, args);
    if (decision.effect !== 'escalate' || !decision.approval || waitMs <= 0) return decision;
    return (await decision.approval.wait(waitMs)) === 'pending' ? decision : this.beforeTool(tool, args);
  }

  /** The arguments to run a tool with: with secrets replaced where a guardrail requires it. */
  #permitted(decision, args) {
    if (decision.content === undefined) return structuredClone(args);
    try {
      return JSON.parse(decision.content);
    } catch (error) {
      // Changed arguments that cannot be read: the original ones are not permitted.
      throw new Stopped(this.#refused(`the changed arguments are not JSON: ${message(error)}`));
    }
  }
}

/** A result with its changed text: a structure stays one where the text can be read as one. */
function passedOn(result, changed) {
  if (typeof result === 'string') return changed;
  try {
    return JSON.parse(changed);
  } catch {
    return changed;
  }
}

/**
 * A value as JSON has it. What `JSON.stringify` would leave out or replace silently is read, or refused: otherwise what is decided would
 * not be what runs, or what the agent sees.
 */
function readable(key, value) {
  const given = this[key];
  const what = key === '' ? 'the value' : `\`${key}\``;
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${what} is ${value}`);
  if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError(`${what} is a ${typeof value}`);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return value;
  if (given instanceof ArrayBuffer || given instanceof Uint8Array) return new TextDecoder().decode(given);
  if (ArrayBuffer.isView(given)) return Array.from(given);
  if (given instanceof Map) return [...given].every(([name]) => typeof name === 'string') ? Object.fromEntries(given) : [...given];
  if (given instanceof Set) return [...given];
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return { name: value.name, message: value.message, cause: value.cause, errors: value.errors, ...value };
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return value;
  const brings = ['then', 'next', 'getReader', Symbol.asyncIterator, Symbol.iterator].some((name) => typeof value[name] === 'function');
  const prototype = Object.getPrototypeOf(value);
  // The objects of another realm have another prototype, which has none itself.
  const isPlain = Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!Array.isArray(value) && (brings || (!isPlain && Object.keys(value).length === 0))) {
    const kind = value.constructor?.name || Object.prototype.toString.call(value).slice(8, -1);
    throw new TypeError(`${what} is a ${kind}, which cannot be checked before it is read`);
  }
  return value;
}
