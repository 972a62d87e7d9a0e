// OpenAI Agents: `const agent = guard(original)`, then `run(agent, …)` as before.

import { Handoff, OpenAIProvider, Usage, handoff as toHandoff } from '@openai/agents';

import { Stopped, ToolFailed } from '../index.js';
import { checkPrompts, defaultGuard, lastWords, openSession, whileRunning, withNotes } from './shared.js';

/** Tools that run at the provider and can change nothing here. */
const HOSTED = new Set(['web_search', 'web_search_preview', 'file_search', 'code_interpreter', 'image_generation']);

/** The most answers of a model in a row that may not be the end yet. */
const MAX_TURNS = 20;

const guardedAgents = new WeakSet();

/** A hand-off that is not allowed. It ends the run, because the framework has no way to refuse it. */
export class HandoffStopped extends Error {
  constructor(decision) {
    super(decision.message);
    this.name = 'HandoffStopped';
    this.decision = decision;
  }
}

export function guard(agent, { guard = defaultGuard(), session, unguarded = [], waitMs } = {}) {
  const id = session ?? guard.session().id;
  const agents = new Map();
  const tools = new Map();
  const sessions = new Map();
  const halted = new Map();

  /** The session of an agent. */
  function current(name) {
    const options = { agent: { id: name }, waitMs };
    if (!sessions.has(name)) sessions.set(name, guard.session(id, options));
    return openSession(guard, sessions.get(name), options);
  }

  return copyAgent(agent);

  function copyAgent(original) {
    if (guardedAgents.has(original)) return original;
    if (agents.has(original)) return agents.get(original);
    const copy = original.clone({ model: guardModel(original.name, original.model), handoffs: [] });
    agents.set(original, copy);
    guardedAgents.add(copy);
    original.tools.forEach((tool) => copyTool(original.name, tool));
    // Tools of MCP servers are function tools, too. They are known when the agent runs.
    const getAllTools = copy.getAllTools.bind(copy);
    copy.getAllTools = async (...given) => (await getAllTools(...given)).map((tool) => copyTool(original.name, tool));
    copy.handoffs = original.handoffs.map((each) => copyHandoff(original.name, each));
    return copy;
  }

  function copyTool(agent, tool) {
    if (tool.type !== 'function') {
      const kind = tool.providerData?.type ?? tool.name;
      if (HOSTED.has(kind) || unguarded.includes(tool.name)) return tool;
      throw new TypeError(`the tool \`${tool.name}\` cannot be guarded; name it in \`unguarded\` to use it without a guard`);
    }
    if (guardedTools.has(tool)) return tool;
    if (!tools.has(tool)) {
      const copy = { ...tool, invoke: (context, input, details) => invoke(agent, tool, context, input, details) };
      guardedTools.add(copy);
      tools.set(tool, copy);
    }
    return tools.get(tool);
  }

  async function invoke(agent, tool, context, input, details) {
    const run = current(agent);
    let args;
    try {
      args = input.trim() ? JSON.parse(input) : {};
    } catch (error) {
      return `The arguments of \`${tool.name}\` are not JSON: ${error.message}`;
    }
    const notes = [];
    const call = (permitted) => whileRunning(run, () => tool.invoke(context, JSON.stringify(permitted), details));
    try {
      const result = await run.call(tool.name, args, call, { onDecision: (decision) => notes.push(decision.notes) });
      const added = notes.filter(Boolean).join('\n');
      return added ? withNotes(typeof result === 'string' ? result : JSON.stringify(result), added) : result;
    } catch (error) {
      if (!(error instanceof Stopped || error instanceof ToolFailed)) throw error;
      if (error.decision?.effect === 'halt') halted.set(run.id, lastWords(error.decision));
      return error.message;
    }
  }

  function copyHandoff(agent, given) {
    const original = given instanceof Handoff ? given : toHandoff(given);
    const copy = Object.assign(Object.create(Object.getPrototypeOf(original)), original);
    copy.onInvokeHandoff = async (context, args) => {
      const decision = await current(agent).handoff(original.agentName, { context: { arguments: args } });
      if (!decision.allowed) throw new HandoffStopped(decision);
      return copyAgent(await original.onInvokeHandoff(context, args));
    };
    return copy;
  }

  /** A model whose prompts and answers are decided. */
  function guardModel(agent, model) {
    let inner = typeof model === 'object' ? model : undefined;
    const resolve = async () => (inner ??= await new OpenAIProvider().getModel(model || undefined));
    return {
      async getResponse(request) {
        const run = current(agent);
        const input = itemsOf(request.input);
        const stop = halted.get(run.id) ?? (await replacePrompts(run, input));
        if (stop !== undefined) return final(stop);
        for (let turn = 0; turn < MAX_TURNS; turn += 1) {
          const response = await (await resolve()).getResponse({ ...request, input: [...input] });
          const checked = await checkAnswer(run, response.output);
          if (checked.stop !== undefined) return final(checked.stop, response);
          if (checked.retry === undefined) return { ...response, output: checked.output };
          input.push(...checked.output, { role: 'user', content: checked.retry });
        }
        return final(`Midrail ends the run: the model may not stop after ${MAX_TURNS} answers.`);
      },

      // It starts when the answer is complete, because what was shown cannot be withdrawn.
      async *getStreamedResponse(request) {
        const response = await this.getResponse(request);
        const { usage, responseId, output } = response;
        yield { type: 'response_started' };
        for (const { text } of output.flatMap(({ content }) => (Array.isArray(content) ? content : []))) {
          if (text) yield { type: 'output_text_delta', delta: text };
        }
        const { inputTokens = 0, outputTokens = 0, totalTokens = 0 } = usage ?? {};
        yield { type: 'response_done', response: { id: responseId ?? 'midrail', output, usage: { inputTokens, outputTokens, totalTokens } } };
      },
    };
  }
}

const guardedTools = new WeakSet();

const itemsOf = (input) =>
  typeof input === 'string' ? [{ role: 'user', content: input }] : input.map((item) => ({ ...item }));

/** Decides the messages of people, and replaces their texts. Returns the end of the run if one is stopped. */
async function replacePrompts(run, items) {
  /** Where the texts are. */
  const found = [];
  let known = 0;
  for (const item of items) {
    if (item.role !== 'user') {
      if (item.role !== 'system') known = found.length;
    } else if (typeof item.content === 'string') {
      if (item.content) found.push([item, 'content']);
    } else if (item.content) {
      item.content = item.content.map((part) => ({ ...part }));
      found.push(...item.content.filter(({ text }) => typeof text === 'string' && text).map((part) => [part, 'text']));
    }
  }
  const { texts, stop } = await checkPrompts(run, found.map(([place, name]) => place[name]), found.length - known);
  texts?.forEach((text, index) => {
    const [place, name] = found[index];
    place[name] = text;
  });
  return stop;
}

/** Decides an answer: the output to pass on, the end of the run, or the message for another turn. */
async function checkAnswer(run, given) {
  const output = structuredClone(given);
  const messages = output.filter(({ type, role }) => (type ?? 'message') === 'message' && role === 'assistant');
  const texts = messages.flatMap(({ content }) => content).filter(({ type }) => type === 'output_text');
  for (const part of texts) {
    const decision = await run.afterModel(part.text);
    if (!decision.allowed) return { output, stop: lastWords(decision) };
    part.text = decision.content ?? part.text;
  }
  const isLast = output.every((item) => messages.includes(item) || item.type === 'reasoning');
  if (!isLast) return { output };
  const decision = await run.beforeStop(texts.map(({ text }) => text).join(''));
  if (decision.effect === 'halt') return { output, stop: lastWords(decision) };
  return { output, retry: decision.allowed ? undefined : decision.message };
}

/** The last answer of a run. */
function final(text, response) {
  const message = { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] };
  return { usage: new Usage(), ...response, output: [message] };
}
