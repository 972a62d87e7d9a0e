import type { LanguageModel, ToolSet, wrapLanguageModel } from 'ai';

import type { Guard, Session, SessionOptions } from '../index.js';

/** The settings of the adapter. */
export interface VercelOptions extends SessionOptions {
  /** The guard. The default is one with the packs of the working folder. */
  guard?: Guard;
  /** The id of the session, such as that of a chat. The default is a new one. */
  session?: string;
  /** Tools that do not run in this process and are used without a guard. */
  unguarded?: string[];
}

/** A conversation under guard. */
export interface GuardedConversation {
  readonly session: Session;
  /** A model whose prompts, answers and streams are held to the policy. */
  model(model: Exclude<LanguageModel, string>): ReturnType<typeof wrapLanguageModel>;
  /** Tools that run only if their call is allowed, and whose results are what the model may see. */
  tools<T extends ToolSet>(tools: T): T;
}

/**
 * Vercel AI SDK: pass the model and the tools of a conversation through it.
 *
 * ```js
 * const guarded = vercel({ session: chatId });
 * generateText({ model: guarded.model(model), tools: guarded.tools(tools), prompt });
 * ```
 */
export function vercel(options?: VercelOptions): GuardedConversation;
