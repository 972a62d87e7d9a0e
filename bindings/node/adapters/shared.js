// What the adapters of frameworks share.

import { AsyncLocalStorage } from 'node:async_hooks';

import { Guard } from '../index.js';

const running = new AsyncLocalStorage();
let shared;

/** The guard of adapters that are given none: one engine with the packs of the working folder. */
export function defaultGuard() {
  return (shared ??= new Guard());
}

/** Runs a tool of a session. Agents that start meanwhile are its sub-agents. */
export function whileRunning(session, run) {
  return running.run(session, run);
}

/** The session of a run. A sub-agent shares the session of the agent that started it, which it names as its parent. */
export function openSession(guard, own, options) {
  const outer = running.getStore();
  if (!outer || outer === own) return own;
  return guard.session(outer.id, { ...options, parent: outer.agentId ?? outer.id });
}

/**
 * The prompts of a conversation as the model may see them, or the end of the run. The last `fresh` came after the last answer of the
 * model.
 */
export async function checkPrompts(run, prompts, fresh) {
  const decisions = await run.conversation(prompts, { new: fresh });
  const stopped = decisions.find(({ allowed }) => !allowed);
  if (stopped) return { stop: lastWords(stopped) };
  return { texts: decisions.map(({ content, notes }, index) => withNotes(content ?? prompts[index], notes)) };
}

/** A text for the model, with warnings and feedback below it. */
export const withNotes = (text, notes) => (notes ? `${text}\n\n${notes}` : text);

/** The output of a run that a decision ends. */
export const lastWords = (decision) => decision.userMessage || decision.message || 'Midrail stops the run.';
