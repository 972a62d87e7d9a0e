import type { Agent, ApprovalRequest, Decision as WireDecision, Effect, Event, EventKind, Handoff, Task } from './wire.js';

export type * as wire from './wire.js';

/** How to open a guard. */
export interface GuardOptions {
  /** Pack files, folders, or shipped packs such as `midrail:default`, in place of those of the folder. */
  packs?: Array<string | URL>;
  /** The environment whose overlay is applied. */
  env?: string;
  /** A SQLite file or `:memory:`. The default is the store of the program `midrail`. */
  store?: string;
  /** The folder that agents work in. The default is that of the process. */
  cwd?: string;
  /** The address of a running service (`midrail serve`), in place of an engine in this process. */
  url?: string;
  /** The API key for the service. */
  key?: string;
  /** How long to wait for the service. */
  timeoutMs?: number;
}

/** The settings of a session. */
export interface SessionOptions {
  agent?: Agent;
  task?: Task;
  cwd?: string;
  prompt?: string;
  /** The agent or session that started this one, if it is a sub-agent. */
  parent?: string;
  /** How long calls wait for an approval if one is required. */
  waitMs?: number;
}

/** What a guardrail receives. */
export interface GuardrailCall {
  /** The whole event. */
  event: Event;
  /** The guardrail's state in this session. Changes in `onResult` are kept. */
  state: Record<string, unknown>;
  tool?: string;
  args: Record<string, unknown>;
  result?: unknown;
}

/** The verdict of a guardrail. */
export interface Verdict {
  effect: Effect;
  reason?: string;
  advice?: string;
  metadata?: Record<string, unknown>;
  /** The text to pass on (`redact`). */
  replacement?: string;
}

/** The settings of a guardrail. */
export interface GuardrailSettings {
  /** The tools that it checks and observes, as names or glob patterns. Empty: all. */
  tools?: string[];
  /** The kinds of event that it checks. */
  on?: EventKind[];
  /** An argument: the guardrail has a separate state for each of its values, and does not apply to calls without it. */
  key?: string;
  description?: string;
  priority?: number;
  approver?: string;
  timeoutMs?: number;
  /** Receives results of successful calls, and may change `call.state`. If it fails, the result is withheld. */
  onResult?: (call: GuardrailCall) => void | Promise<void>;
}

/** Nothing or `true` allows the event, a text blocks it with this reason. */
export type GuardrailAnswer = Verdict | string | boolean | null | undefined | void;

/**
 * Decides what agents may do.
 *
 * Without options: an engine in this process, with the packs of the working folder and the same store as the program
 * `midrail`, so that `midrail log` and the console show these agents too.
 */
export class Guard {
  constructor(options?: GuardOptions);
  /** A session: one run of an agent. Without an id it is a new one. */
  session(id?: string, options?: SessionOptions): Session;
  /** Registers a function as a guardrail. If it throws or is late, the event is blocked. */
  guardrail(
    id: string,
    settings: GuardrailSettings,
    check: (call: GuardrailCall) => GuardrailAnswer | Promise<GuardrailAnswer>,
  ): void;
  /** Removes a guardrail of this program. `false`: there is none with this id, or it is always on. */
  unregister(id: string): boolean;
}

/** One run of an agent. Every method decides an event and records it. */
export class Session {
  private constructor();
  readonly id: string;
  waitMs: number;
  /** The id of the acting agent, if it has one. */
  readonly agentId?: string;
  /** Decides an event. Absent fields are taken from the session. */
  decide(event: Event): Promise<Decision>;
  /** Decides whether a tool may be called. After an allowed call, report its result with `afterTool`. */
  beforeTool(tool: string, args?: object, fields?: Partial<Event>): Promise<Decision>;
  /** Decides what the agent may see of a result. `content` of the decision replaces it. */
  afterTool(
    tool: string,
    args?: object,
    result?: unknown,
    fields?: { ok?: boolean } & Partial<Event>,
  ): Promise<Decision>;
  /** Decides whether a text may be sent to the model. */
  beforeModel(text: string, fields?: Partial<Event>): Promise<Decision>;
  /**
   * Decides a conversation that is sent whole to the model each time: prompts, or events of any kind.
   *
   * Each message is decided and recorded once; what was replaced is replaced again. The last `new` were not there before: they are
   * decided even if the same words were decided before. The decisions end with the first that is not allowed.
   */
  conversation(messages: Array<string | Event>, options?: { new?: number }): Promise<Decision[]>;
  /** Decides whether the answer of the model may be passed on. */
  afterModel(text: string, fields?: Partial<Event>): Promise<Decision>;
  /** Decides whether another agent may take over. */
  handoff(to: string, handoff?: Omit<Handoff, 'to'>): Promise<Decision>;
  /** Reports an error. The decision says how to recover. */
  error(error: unknown, fields?: Partial<Event>): Promise<Decision>;
  /** Decides whether the agent may end with this output. */
  beforeStop(output?: unknown, fields?: Partial<Event>): Promise<Decision>;
  /** A stream of text from the model: `push` text in, and pass on what comes out. */
  stream(options?: { maxBytes?: number }): Stream;
  /**
   * Calls a tool under guard: decides the call, runs it with the arguments that were decided, and decides its result.
   * Returns what the agent may see. Throws `Stopped` unless the call is allowed.
   */
  call<A extends object, R>(
    tool: string,
    args: A,
    run: (args: A, decision: Decision) => R | Promise<R>,
    options?: {
      waitMs?: number;
      /** Receives the decision before the call, and the one about its result. */
      onDecision?: (decision: Decision) => void;
    },
  ): Promise<R>;
  /** A function that runs only if its call is allowed, and returns what the agent may see. */
  guarded<A extends object, R>(name: string, run: (args: A) => R | Promise<R>): (args: A) => Promise<R>;
}

/** One decision. */
export class Decision {
  private constructor();
  /** The decision as it was sent. */
  toJSON(): WireDecision;
  readonly effect: Effect;
  /** Whether the action may happen: the effect is `allow`, `warn` or `redact`. */
  readonly allowed: boolean;
  /** The guardrail that decided. */
  readonly by?: string;
  /** What was stopped, and why. */
  readonly reason: string;
  /** What to do instead. */
  readonly advice?: string;
  /** The text to pass on, if it was changed. */
  readonly content?: string;
  /** Notes to the agent. */
  readonly feedback: string[];
  /** The message for the user at the end of the run (`halt`). */
  readonly userMessage?: string;
  /** The message for the model: the reason, the guidance of a retry, and the advice. */
  readonly message: string;
  /** What an allowed call adds to its result for the model: a warning, and feedback. */
  readonly notes?: string;
  /** The approval that the action waits for. */
  readonly approval?: Approval;
}

/** The answer to a request for an approval. */
export type Answer = 'approved' | 'denied' | 'timed_out' | 'used' | 'pending';

/** A request for an approval of exactly one action. */
export class Approval {
  private constructor(request: ApprovalRequest);
  readonly id: string;
  /** The role that may decide it. */
  readonly approver: string;
  /** When a missing answer becomes a block. */
  readonly expires?: string;
  /** The answer so far. */
  status(): Promise<Answer>;
  /** Waits for the answer. After `approved`, the same call is allowed once. */
  wait(timeoutMs?: number): Promise<Answer>;
}

/**
 * A stream of text from the model. `push` returns the text that may be passed on now; the rest is collected, or held back
 * while it could be the start of a secret. Rejects with `Stopped` when the stream is stopped.
 */
export class Stream {
  private constructor();
  readonly id: string;
  /** Adds text. Once enough is collected, it is decided. */
  push(text: string): Promise<string>;
  /** Decides the collected text, however little it is. */
  flush(): Promise<string>;
  /** Decides the rest. Nothing is held back any more. */
  finish(): Promise<string>;
}

/** A call that is not allowed. The message is for the model. */
export class Stopped extends Error {
  readonly decision: Decision;
}

/** A tool failed, and its message was changed before the agent may see it. */
export class ToolFailed extends Error {}
