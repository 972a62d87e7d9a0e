import type { Agent } from '@openai/agents';

import type { Decision, Guard } from '../index.js';

/** The settings of the adapter. */
export interface GuardAgentOptions {
  /** The guard. The default is one with the packs of the working folder. */
  guard?: Guard;
  /** The id of the session. The default is a new one for each copy. */
  session?: string;
  /** Tools of other kinds that are used without a guard. */
  unguarded?: string[];
  /** How long a call waits for an approval if one is required. */
  waitMs?: number;
}

/**
 * A copy of an agent, and of all agents that it can hand over to, that is held to the policy: its function tools, the tools
 * of its MCP servers, its prompts, answers and hand-offs. All runs of the copy are one session; make a copy for each
 * conversation.
 */
export function guard<A extends Agent<any, any>>(agent: A, options?: GuardAgentOptions): A;

/** A hand-off that is not allowed. It ends the run. */
export class HandoffStopped extends Error {
  readonly decision: Decision;
}
