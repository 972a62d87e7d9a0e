// Mastra: `new Agent(guard({ name, instructions, model, tools }))`.

import { AsyncLocalStorage } from 'node:async_hooks';

import { Stopped } from '../index.js';
import { checkedPrompt, finalParts, guardedParts, outputWithNotes } from './language-model.js';
import { defaultGuard, lastWords, openSession, whileRunning, withNotes } from './shared.js';

export function guard(config, { guard = defaultGuard(), session, unguarded = [], waitMs } = {}) {
  /** Is set while a tool of this agent runs that was decided. */
  const decided = new AsyncLocalStorage();
  const options = { agent: { id: config.id ?? config.name }, waitMs };
  const processor = makeProcessor({ guard, session, unguarded, options, decided });
  const { inputProcessors: given = [], tools = {} } = config;
  // The last processor sees the model and the tools that are used.
  const inputProcessors =
    typeof given === 'function' ? async (context) => [...(await given(context)), processor] : [...given, processor];
  const lock = (unlocked) => Object.fromEntries(Object.entries(unlocked).map(([name, tool]) => [name, lockTool(decided, name, tool)]));
  const locked = typeof tools === 'function' ? async (context) => lock(await tools(context)) : lock(tools);
  return { ...config, inputProcessors, tools: locked };
}

/** A copy of a tool that runs only after a decision. A call of `generate` or `stream` can replace the processors of its agent. */
function lockTool(decided, name, tool) {
  if (typeof tool.execute !== 'function') return tool;
  const copy = Object.create(Object.getPrototypeOf(tool), Object.getOwnPropertyDescriptors(tool));
  copy.execute = async (...given) => {
    if (decided.getStore()) return tool.execute(...given);
    throw new Error(`Midrail stops \`${name}\`: the call was not decided, because the processors of the agent were replaced`);
  };
  return copy;
}

function makeProcessor({ guard, session, unguarded, options, decided }) {
  /** The last words of runs that were halted. */
  const halted = new Map();
  const guardedTools = new WeakSet();
  const guardedModels = new WeakSet();

  /** The session of a run: that of its conversation if it has a memory. */
  function open({ requestContext, state }) {
    const id = session ?? requestContext?.get('MastraMemory')?.thread?.id ?? (state.session ??= guard.session().id);
    return openSession(guard, guard.session(id, options), options);
  }

  return {
    id: 'midrail',

    async processInput({ agent, requestContext, messages }) {
      const model = await agent?.getModel({ requestContext });
      if (model?.specificationVersion !== 'v1') return messages;
      throw new TypeError('`generateLegacy` and `streamLegacy` cannot be guarded: use `generate` and `stream`');
    },

    async processInputStep({ tools = {}, model, ...context }) {
      const run = open(context);
      const guarded = Object.entries(tools).map(([name, tool]) => [name, guardTool(run, name, tool)]);
      return { model: guardModel(run, model), tools: Object.fromEntries(guarded) };
    },
  };

  function guardTool(run, name, tool) {
    if (guardedTools.has(tool)) return tool;
    if (typeof tool.execute !== 'function') {
      if (unguarded.includes(name)) return tool;
      throw new TypeError(`\`${name}\` runs elsewhere and cannot be guarded; name it in \`unguarded\` to use it without a guard`);
    }
    /** The results to which notes were added, by these notes. */
    const noted = new Map();
    const copy = {
      ...tool,
      async execute(input, execution) {
        const collected = [];
        const onDecision = (decision) => collected.push(decision.notes);
        const execute = (args) => decided.run(true, () => whileRunning(run, () => tool.execute(args, execution)));
        try {
          const result = await run.call(name, input, execute, { onDecision });
          const notes = collected.filter(Boolean).join('\n');
          if (!notes) return result;
          if (typeof result === 'string') return withNotes(result, notes);
          noted.set(notes, result);
          return { result, notes };
        } catch (error) {
          // The model sees the message.
          if (error instanceof Stopped && error.decision.effect === 'halt') halted.set(run.id, lastWords(error.decision));
          throw error;
        }
      },
    };
    if (tool.toModelOutput) {
      copy.toModelOutput = async (output) => {
        if (!noted.has(output?.notes)) return tool.toModelOutput(output);
        return outputWithNotes(await tool.toModelOutput(noted.get(output.notes)), output.notes);
      };
    }
    guardedTools.add(copy);
    return copy;
  }

  /** A model whose prompts and answers are decided. Mastra takes a stream in both cases. */
  function guardModel(run, model) {
    if (guardedModels.has(model)) return model;
    const version = model.specificationVersion;
    const answer = (method) => async (request) => {
      const ended = { prompt: request.prompt, stop: halted.get(run.id) };
      const { prompt, stop } = ended.stop === undefined ? await checkedPrompt(run, request.prompt) : ended;
      const start = (each) => model[method](each);
      const parts = stop === undefined ? guardedParts(run, start, { ...request, prompt }, version) : finalParts(stop, version);
      return { stream: ReadableStream.from(parts), request: {}, response: {}, warnings: [] };
    };
    const methods = { doGenerate: answer('doGenerate'), doStream: answer('doStream') };
    const copy = new Proxy(model, {
      get(target, key) {
        if (Object.hasOwn(methods, key)) return methods[key];
        const value = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    guardedModels.add(copy);
    return copy;
  }
}
