import type { HookCallbackMatcher, HookEvent } from '@anthropic-ai/claude-agent-sdk';

import type { Guard, SessionOptions } from '../index.js';

/** The settings of the adapter. */
export interface HooksOptions extends Pick<SessionOptions, 'agent' | 'waitMs'> {
  /** The guard. The default is one with the packs of the working folder. */
  guard?: Guard;
  /** The id of the session. The default is that of the SDK. */
  session?: string;
}

/**
 * The hooks that hold a run and its sub-agents to the policy: prompts, tool calls, results and the end of the run.
 *
 * ```js
 * query({ prompt, options: { hooks: hooks() } });
 * ```
 */
export function hooks(options?: HooksOptions): Partial<Record<HookEvent, HookCallbackMatcher[]>>;
