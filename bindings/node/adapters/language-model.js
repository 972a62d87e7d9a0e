// Prompts and answers of language models in the format of the AI SDK, which several frameworks use.

import { Stopped } from '../index.js';
import { checkPrompts, lastWords, withNotes } from './shared.js';

/** The most answers of a model in a row that may not be the end yet. */
export const MAX_TURNS = 20;

/** Text of a stream is decided once this many bytes are collected. */
const CHUNK_BYTES = 200;

/** Decides the messages of people. Returns the prompt as the model may see it, and the end of the run if one is stopped. */
export async function checkedPrompt(run, given) {
  const found = [];
  let known = 0;
  const prompt = given.map((message) => {
    if (message.role !== 'user') {
      if (message.role !== 'system') known = found.length;
      return message;
    }
    const content = message.content.map((part) => ({ ...part }));
    found.push(...content.filter(({ type, text }) => type === 'text' && text));
    return { ...message, content };
  });
  const { texts, stop } = await checkPrompts(run, found.map(({ text }) => text), found.length - known);
  texts?.forEach((text, index) => (found[index].text = text));
  return { prompt, stop };
}

/** What the model sees of the output of a tool, with notes below it. */
export function outputWithNotes(shown, notes) {
  if (!notes) return shown;
  const { type, value } = shown;
  if (type === 'content') return { type, value: [...value, { type: 'text', text: notes }] };
  return { type: 'text', value: withNotes(typeof value === 'string' ? value : JSON.stringify(value), notes) };
}

/** The parts of a stream as they may be shown. `startStream` sends a request to the model, which has this version of the format. */
export async function* guardedParts(run, startStream, params, version) {
  let request = params;
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const streams = new Map();
    let text = '';
    let isLastAnswer = true;
    let finish;
    const { stream } = await startStream(request);
    for await (const part of stream) {
      const kind = /^(text|reasoning)-(start|delta|end)$/.exec(part.type);
      if (part.type === 'finish') {
        finish = part;
        continue;
      }
      if (part.type === 'stream-start' && turn > 0) continue;
      if (!kind) {
        if (part.type === 'tool-call' || part.type === 'tool-approval-request') isLastAnswer = false;
        yield part;
        continue;
      }
      const [, type, step] = kind;
      // Ids are used again in another turn, whose text is another one.
      const id = turn === 0 ? part.id : `${part.id}-${turn}`;
      if (step === 'start') {
        streams.set(id, run.stream({ maxBytes: CHUNK_BYTES }));
        yield { ...part, id };
        continue;
      }
      let shown;
      try {
        const guarded = streams.get(id);
        if (!guarded) throw new Error(`the model continues a text that it did not start: \`${part.id}\``);
        shown = step === 'delta' ? await guarded.push(part.delta) : await guarded.finish();
      } catch (error) {
        const words = error instanceof Stopped ? lastWords(error.decision) : error.message;
        if (streams.has(id)) yield { type: `${type}-end`, id };
        yield* finalParts(words, version, false);
        return;
      }
      if (type === 'text') text += shown;
      if (shown) yield { type: `${type}-delta`, id, delta: shown };
      if (step === 'end') yield { ...part, id };
    }
    const decision = isLastAnswer ? await run.beforeStop(text) : undefined;
    if (!decision || decision.allowed) {
      if (finish) yield finish;
      return;
    }
    if (decision.effect === 'halt') {
      yield* finalParts(lastWords(decision), version, false);
      return;
    }
    request = another(request, text, decision.message);
  }
  yield* finalParts(`Midrail ends the run: the model may not stop after ${MAX_TURNS} answers.`, version, false);
}

export const isLast = (content) => !content.some(({ type }) => type === 'tool-call' || type === 'tool-approval-request');

export const textOf = (content) => content.filter(({ type }) => type === 'text').map(({ text }) => text).join('');

/** The request for another turn of the model. */
export function another(request, answer, message) {
  const said = answer ? [{ role: 'assistant', content: [{ type: 'text', text: answer }] }] : [];
  return { ...request, prompt: [...request.prompt, ...said, { role: 'user', content: [{ type: 'text', text: message }] }] };
}

/** Why and at which cost an answer ended that is not of the model. */
export function ending(version) {
  if (version === 'v2') return { finishReason: 'stop', usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } };
  const inputTokens = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 };
  const usage = { inputTokens, outputTokens: { total: 0, text: 0, reasoning: 0 } };
  return { finishReason: { unified: 'stop', raw: 'midrail' }, usage };
}

/** The parts of the last answer of a run. */
export function* finalParts(text, version, starts = true) {
  const id = 'midrail';
  if (starts) yield { type: 'stream-start', warnings: [] };
  yield { type: 'text-start', id };
  yield { type: 'text-delta', id, delta: text };
  yield { type: 'text-end', id };
  yield { type: 'finish', ...ending(version) };
}
