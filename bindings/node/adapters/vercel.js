// Vercel AI SDK: `const guarded = vercel(); generateText({ model: guarded.model(model), tools: guarded.tools(tools) })`.

import { wrapLanguageModel } from 'ai';

import { Stopped } from '../index.js';
import {
  MAX_TURNS,
  another,
  checkedPrompt,
  ending,
  finalParts,
  guardedParts,
  isLast,
  outputWithNotes,
  textOf,
} from './language-model.js';
import { defaultGuard, lastWords, openSession, whileRunning } from './shared.js';

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
        return outputWithNotes(shown, notes.get(given.toolCallId));
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
      const ended = { prompt: params.prompt, stop: halted.get(run.id) };
      const { prompt, stop } = ended.stop === undefined ? await checkedPrompt(run, params.prompt) : ended;
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
      const parts = stops.has(params)
        ? finalParts(stops.get(params), 'v4')
        : guardedParts(run, (request) => model.doStream(request), params, 'v4');
      return { stream: ReadableStream.from(parts) };
    },
  };
}

/** The last answer of a run. */
function final(text, result) {
  const { finishReason, usage } = ending('v4');
  return { content: [{ type: 'text', text }], finishReason, usage: result?.usage ?? usage, warnings: result?.warnings ?? [] };
}
