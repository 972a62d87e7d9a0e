// The types of guardrails.js. In a script: /** @type {import('./guardrails').Guardrails} */

/** A message of the conversation. */
export interface Message {
  role: string;
  content?: any;
  [key: string]: unknown;
}

/** How a command ended. */
export interface ExecResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** The calls of a prompt so far, and what feedback providers said. */
export interface Feedback {
  calls: number;
  callsSince: number;
  last: string | null;
  lastProvider: string | null;
  recentCalls: { tool: string; ok: boolean }[];
  deadline: string | null;
  session: string;
  prompt: string | null;
}

/** What an input hook may return. */
export type InputResult =
  | { allowed: true }
  | { allowed: false; message: string; suggestion?: string; request?: ApprovalRequest };

/** What a person is asked. The call waits for the answer; no script answers for them. */
export interface ApprovalRequest {
  /** Why the call is needed, in words that a person can judge. */
  reason: string;
  /** "normal" unless set. */
  urgency?: "normal" | "urgent" | "emergency";
}

/** What an output hook may return. */
export type OutputResult =
  | { override: false }
  | { override: true; result: string; isError?: boolean };

/** What an input hook is given. */
export interface InputContext {
  readonly tool: {
    /** The name of the tool. */
    readonly name: string;
    /** What the tool is called with. */
    readonly args: Record<string, any>;
  };
  readonly history: {
    /** The main conversation so far. Sub-agents have their own. */
    readonly messages: Message[];
    /** The text that the user wrote last. */
    readonly lastUserMessage: string | null;
  };
  /** The calls of this prompt so far, what feedback providers said last, and when it has to be done. */
  readonly feedback: Feedback;
  readonly memory: {
    /** The files that were read in any agent loop, with the checksum of what was read. */
    readonly snapshot: Map<string, string>;
  };
  readonly system: {
    readonly fs: {
      /** Reads a text file of the working directory. */
      readonly readFile: (path: string) => Promise<string>;
      /** The SHA-256 of a file of the working directory, or null where there is none. */
      readonly getChecksum: (path: string) => Promise<string | null>;
    };
    readonly cmd: {
      /** Runs a shell command in the working directory. It is stopped when the hook ends. */
      readonly exec: (command: string) => Promise<ExecResult>;
    };
  };
  /** The root of the project, as an absolute path. */
  readonly workingDirectory: string;
  readonly std: {
    /** The files of a diff that changed since they were read, were never read, or cannot be looked at. */
    readonly checkStaleContext: (diff: string) => Promise<string[]>;
    /** The files that a diff touches: unified, git's and apply_patch. */
    readonly parseUnifiedDiff: (diff: string) => string[];
    /** Whether git knows of no change in the working directory. */
    readonly isGitClean: (cmd?: { exec: (command: string) => Promise<ExecResult> }) => Promise<boolean>;
    /** The SHA-256 of a text. */
    readonly computeChecksum: (content: string) => string;
    /** Whether an argument matches. Of a list, any item may. */
    readonly argMatches: (args: Record<string, any> | null | undefined, key: string, regex: RegExp | string) => boolean;
    /** Whether a file changed since it was read, is there and was never read, or cannot be looked at. */
    readonly isFileStale: (path: string) => Promise<boolean>;
  };
}

/** What an output hook is given. */
export interface OutputContext extends InputContext {
  readonly result: {
    /** What the tool returned. */
    readonly content: string;
    /** Whether the call failed. */
    readonly isError: boolean;
  };
}

/** What a guardrails.js exports as its default. */
export interface Guardrails {
  /** Called before a tool runs, for at most 1 second. */
  input?: (ctx: InputContext) => InputResult | Promise<InputResult>;
  /** Called with the result of a tool, for at most 10 minutes. */
  output?: (ctx: OutputContext) => OutputResult | Promise<OutputResult>;
}
