// Vercel AI SDK: `const guarded = vercel(); generateText({ model: guarded.model(model), tools: guarded.tools(tools) })`.

import { wrapLanguageModel } from 'ai';

import { Stopped } from '../index.js';
import { defaultGuard, lastWords, openSession, whileRunning, withNotes } from './shared.js';

/** The most answers of a model in a row that may not be the end yet. */
const MAX_TURNS = 20;

/** Text of a stream is decided once this many bytes are collected. */
const CHUNK_BYTES = 200;

const NO_USAGE = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

export function vercel({ guard = defaultGuard(), session: id, unguarded = [], ...options } = {}) {
  const own = guard.session(id, options);
  const current = () => openSession(guard, own, options);
  /** The end of each run that was halted. */
  const halted = new Map();
  return {
    session: own,

    model(model) {
      if (typeof model === 'string') throw new TypeError('a model by its name cannot be guarded: use `gateway(name)` of `ai`');
      return wrapLanguageModel({ model, middleware: middleware(current, halted) });
    },

    tools(tools) {
      const guarded = Object.entries(tools).map(([name, tool]) => [name, guardTool(name, tool)]);
      return Object.fromEntries(guarded);
    },
  };

  function guardTool(name, tool) {
    if (typeof tool.execute !== 'function') {
      if (unguarded.includes(name)) return tool;
      throw new TypeError(`\`${name}\` runs elsewhere and cannot be guarded; name it in \`unguarded\` to use it without a guard`);
    }
    /** What the model is informed of in addition to a result, by the id of the call. */
    const notes = new Map();
    return {
      ...tool,
      async execute(input, execution) {
        const run = current();
        const said = [];
        const onDecision = (decision) => said.push(decision.notes);
        const execute = (args) => whileRunning(run, async () => last(await tool.execute(args, execution)));
        try {
          const result = await run.call(name, input, execute, { onDecision });
          notes.set(execution.toolCallId, said.filter(Boolean).join('\n'));
          return result;
        } catch (error) {
          // The SDK shows the message to the model.
          if (error instanceof Stopped && error.decision.effect === 'halt') halted.set(run.id, lastWords(error.decision));
          throw error;
        }
      },
      async toModelOutput(given) {
        const { output } = given;
        const plain = typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output ?? null };
        const shown = tool.toModelOutput ? await tool.toModelOutput(given) : plain;
        const added = notes.get(given.toolCallId);
        if (!added) return shown;
        const { type, value } = shown;
        if (type === 'content') return { type, value: [...value, { type: 'text', text: added }] };
        return { type: 'text', value: withNotes(typeof value === 'string' ? value : JSON.stringify(value), added) };
      },
    };
  }
}

/** The last of several results of a tool. The ones before it are not shown: they cannot be decided on their own. */
async function last(result) {
  if (typeof result?.[Symbol.asyncIterator] !== 'function') return result;
  let final;
  for await (const each of result) final = each;
  return final;
}

function middleware(current, halted) {
  /** The requests that are not sent, with the text that ends the run. */
  const stops = new WeakMap();
  return {
    specificationVersion: 'v4',

    async transformParams({ params }) {
      const run = current();
      const prompt = [];
      let stop = halted.get(run.id);
      for (const message of params.prompt) {
        if (message.role !== 'user' || stop !== undefined) {
          prompt.push(message);
          continue;
        }
        const content = [];
        for (const part of message.content) {
          if (part.type !== 'text' || !part.text) {
            content.push(part);
            continue;
          }
          const decision = await run.beforeModel(part.text);
          if (!decision.allowed) stop = lastWords(decision);
          content.push({ ...part, text: withNotes(decision.content ?? part.text, decision.notes) });
        }
        prompt.push({ ...message, content });
      }
      const changed = { ...params, prompt };
      if (stop !== undefined) stops.set(changed, stop);
      return changed;
    },

    async wrapGenerate({ params, model }) {
      const run = current();
      const stop = stops.get(params);
      if (stop !== undefined) return final(stop);
      let request = params;
      for (let turn = 0; turn < MAX_TURNS; turn += 1) {
        const result = await model.doGenerate(request);
        const content = [];
        for (const part of result.content) {
          if (part.type !== 'text' && part.type !== 'reasoning') {
            content.push(part);
            continue;
          }
          const decision = await run.afterModel(part.text);
          if (!decision.allowed) return final(lastWords(decision), result);
          content.push(decision.content === undefined ? part : { ...part, text: decision.content });
        }
        const checked = { ...result, content };
        // Texts for structured output are those of the content.
        if (content.some((part, index) => part !== result.content[index])) delete checked.structuredOutputText;
        if (!isLast(content)) return checked;
        const decision = await run.beforeStop(textOf(content));
        if (decision.allowed) return checked;
        if (decision.effect === 'halt') return final(lastWords(decision), result);
        request = another(request, textOf(content), decision.message);
      }
      return final(`Midrail ends the run: the model may not stop after ${MAX_TURNS} answers.`);
    },

    async wrapStream({ params, model }) {
      const run = current();
      const parts = stops.has(params) ? finalParts(stops.get(params)) : guardedParts(run, model, params);
      return { stream: ReadableStream.from(parts) };
    },
  };
}

/** The parts of a stream as they may be shown. */
async function* guardedParts(run, model, params) {
  let request = params;
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const streams = new Map();
    let text = '';
    let isLastAnswer = true;
    let finish;
    const { stream } = await model.doStream(request);
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
        yield* finalParts(words, false);
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
      yield* finalParts(lastWords(decision), false);
      return;
    }
    request = another(request, text, decision.message);
  }
  yield* finalParts(`Midrail ends the run: the model may not stop after ${MAX_TURNS} answers.`, false);
}

const isLast = (content) => !content.some(({ type }) => type === 'tool-call' || type === 'tool-approval-request');

const textOf = (content) => content.filter(({ type }) => type === 'text').map(({ text }) => text).join('');

/** The request for another turn of the model. */
function another(request, answer, message) {
  const said = answer ? [{ role: 'assistant', content: [{ type: 'text', text: answer }] }] : [];
  return { ...request, prompt: [...request.prompt, ...said, { role: 'user', content: [{ type: 'text', text: message }] }] };
}

/** The last answer of a run. */
function final(text, result) {
  const finishReason = { unified: 'stop', raw: 'midrail' };
  return { content: [{ type: 'text', text }], finishReason, usage: result?.usage ?? NO_USAGE, warnings: result?.warnings ?? [] };
}

function* finalParts(text, starts = true) {
  const id = 'midrail';
  if (starts) yield { type: 'stream-start', warnings: [] };
  yield { type: 'text-start', id };
  yield { type: 'text-delta', id, delta: text };
  yield { type: 'text-end', id };
  yield { type: 'finish', finishReason: { unified: 'stop', raw: 'midrail' }, usage: NO_USAGE };
}
