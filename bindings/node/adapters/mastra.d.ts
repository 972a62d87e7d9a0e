import type { AgentConfig } from '@mastra/core/agent';

import type { Guard } from '../index.js';

/** The settings of the adapter. */
export interface GuardOptions {
  /** The guard. The default is one with the packs of the working folder. */
  guard?: Guard;
  /** The id of the session. The default is the thread of the memory, or a new one for each run. */
  session?: string;
  /** Tools that do not run in this process and are used without a guard. */
  unguarded?: string[];
  /** How long a call waits for an approval if one is required. */
  waitMs?: number;
}

/**
 * The settings of an agent that is held to the policy: its prompts and answers, and all tools that it can use, with those of
 * its memory, its workflows, its sub-agents and of MCP servers.
 *
 * ```js
 * const agent = new Agent(guard({ id: 'support', name: 'support', instructions, model, tools }));
 * ```
 */
export function guard<C extends AgentConfig<any, any, any, any>>(config: C, options?: GuardOptions): C;
