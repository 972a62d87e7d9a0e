// Claude Agent SDK: `query({ prompt, options: { hooks: hooks() } })`.

import { defaultGuard, lastWords } from './shared.js';

/** The time limit of a hook, in addition to the wait for an approval. Claude Code blocks a call whose hook exceeds it. */
const DECISION_SECONDS = 60;

/** A file that a prompt mentions. Claude Code adds it to the prompt without a tool call. */
const MENTION = /(?:^|(?<=[\s(["'`,]))@(?:"([^"]+)"|(\S+))/g;

const TYPE_FIELDS = new Set(['type', 'mode', 'status']);
const TYPE_WORD = /^[a-z_-]{1,24}$/;

/** Where the model reads a text in a result: of an MCP server, of a command, of a read file and of a web page. */
const TEXT_PATHS = [[], ['stdout'], ['file', 'content'], ['result']];

export function hooks({ guard = defaultGuard(), session, agent, waitMs = 0 } = {}) {
  /** The last words of sessions that were halted. Their conversations must not continue. */
  const halted = new Map();
  const idOf = (input) => session ?? input.session_id;
  const timeout = Math.ceil(waitMs / 1000) + DECISION_SECONDS;
  const events = {
    UserPromptSubmit: beforeModel,
    PreToolUse: beforeTool,
    PostToolUse: afterTool,
    PostToolUseFailure: afterFailure,
    PostToolBatch: afterCalls,
    Stop: beforeStop,
    SubagentStop: beforeStop,
  };
  const matcher = (decide) => [{ hooks: [(input) => closed(decide, input)], timeout, onFailure: 'block' }];
  return Object.fromEntries(Object.entries(events).map(([event, decide]) => [event, matcher(decide)]));

  /** The answer of a hook. A failure stops what it decides: Claude Code ignores `onFailure` after failed calls and at the end
   * of a run. */
  async function closed(decide, input) {
    try {
      return await decide(input);
    } catch (error) {
      const words = `Midrail stops this: ${error.message}`;
      if (!['PostToolUseFailure', 'PostToolBatch'].includes(input.hook_event_name)) return stopped(input, words);
      return halt(input, words);
    }
  }

  function open(input) {
    const id = idOf(input);
    const common = { cwd: input.cwd, prompt: input.prompt_id, waitMs };
    if (!input.agent_id) return guard.session(id, { ...common, agent });
    const inner = { id: input.agent_id, role: input.agent_type };
    return guard.session(id, { ...common, agent: inner, parent: agent?.id ?? id });
  }

  /** Decides a prompt, and a read of each file that it mentions. */
  async function beforeModel(input) {
    const run = open(input);
    if (halted.has(run.id)) return ended(input, halted.get(run.id));
    const decision = await run.beforeModel(input.prompt);
    if (!decision.allowed) return refused(input, decision);
    if (decision.content !== undefined) {
      return stopped(input, `Midrail blocks the prompt, because Claude Code cannot replace it: ${decision.reason}`);
    }
    const notes = [decision.notes];
    for (const [, quoted, plain] of input.prompt.matchAll(MENTION)) {
      const file_path = quoted ?? plain.split('#')[0].replace(/[,;:)\]!?"'`.]+$/, '');
      if (!file_path) continue;
      const read = await run.beforeTool('Read', { file_path });
      if (!read.allowed) return refused(input, read);
      notes.push(read.notes);
    }
    return noted(input, ...notes);
  }

  /** Decides a call. The arguments that were decided replace those of the call if they were changed. */
  async function beforeTool(input) {
    const run = open(input);
    if (halted.has(run.id)) return ended(input, halted.get(run.id));
    const { tool_name: name, tool_input: args } = input;
    let decision = await run.beforeTool(name, args);
    if (decision.effect === 'escalate' && decision.approval && waitMs > 0) {
      if ((await decision.approval.wait(waitMs)) !== 'pending') decision = await run.beforeTool(name, args);
    }
    if (!decision.allowed) return refused(input, decision);
    // Without a permission, those of the host still apply.
    if (decision.content === undefined) return noted(input, decision.notes);
    return specific(input, { updatedInput: JSON.parse(decision.content), additionalContext: decision.notes });
  }

  /** Decides what the model may see of a result. */
  async function afterTool(input) {
    const result = input.tool_response;
    const decision = await open(input).afterTool(input.tool_name, input.tool_input, result);
    if (!decision.allowed) return refused(input, decision);
    if (decision.content === undefined) return noted(input, decision.notes);
    const changed = changedResult(result, decision.content);
    return specific(input, { updatedToolOutput: changed, additionalContext: decision.notes });
  }

  /** Decides what the model may see of an error. Claude Code cannot replace it, so a change ends the run as soon as the calls
   * of this turn are done. */
  async function afterFailure(input) {
    const decision = await open(input).afterTool(input.tool_name, input.tool_input, input.error, { ok: false });
    if (decision.allowed && decision.content === undefined) return noted(input, decision.notes);
    return halt(input, `Midrail ends the run, because Claude Code cannot withhold the error of a tool: ${decision.message}`);
  }

  /** Ends a run that was halted, before the model sees the results of its calls. */
  async function afterCalls(input) {
    const words = halted.get(idOf(input));
    return words === undefined ? {} : ended(input, words);
  }

  /** Decides whether an agent may end. */
  async function beforeStop(input) {
    const run = open(input);
    if (halted.has(run.id)) return {};
    const decision = await run.beforeStop(input.last_assistant_message);
    if (!decision.allowed) return refused(input, decision);
    if (decision.content === undefined) return {};
    return stopped(input, `Midrail blocks the answer, because Claude Code cannot replace it: ${decision.reason}`);
  }

  function refused(input, decision) {
    return decision.effect === 'halt' ? halt(input, lastWords(decision)) : stopped(input, decision.message);
  }

  function halt(input, words) {
    halted.set(idOf(input), words);
    return ended(input, words);
  }
}

/** An answer with fields of its event. */
const specific = (input, fields) => ({ hookSpecificOutput: { hookEventName: input.hook_event_name, ...fields } });

/** An answer that adds notes for the model and decides nothing else. */
function noted(input, ...notes) {
  const additionalContext = notes.filter(Boolean).join('\n');
  return additionalContext ? specific(input, { additionalContext }) : {};
}

/** The answer that stops a prompt, a call, a result or the end of a run. The message is for the model. */
function stopped(input, message) {
  const block = { decision: 'block', reason: message };
  switch (input.hook_event_name) {
    case 'PreToolUse':
      return specific(input, { permissionDecision: 'deny', permissionDecisionReason: message });
    case 'UserPromptSubmit':
      return { ...block, ...specific(input, { suppressOriginalPrompt: true }) };
    case 'PostToolUse':
      return { ...block, ...specific(input, { updatedToolOutput: withText(input.tool_response, message) }) };
    default:
      return block;
  }
}

/** The answer that ends the run. */
const ended = (input, words) => ({ ...stopped(input, words), continue: false, stopReason: words });

// Claude Code keeps the original result if the new one has another shape.

/** A result with its changed text. */
function changedResult(result, text) {
  if (typeof result === 'string') return text;
  let changed;
  try {
    changed = JSON.parse(text);
  } catch {
    return withText(result, text);
  }
  return hasSameShape(changed, result) ? changed : withText(result, text);
}

/** A result of the same shape whose only text is this one. If the model reads no text of it, it has none. */
function withText(result, text) {
  const empty = emptied(result);
  for (const path of TEXT_PATHS) {
    const parents = [empty];
    for (const key of path) parents.push(parents.at(-1)?.[key]);
    if (typeof parents.at(-1) !== 'string') continue;
    if (!path.length) return text;
    parents.at(-2)[path.at(-1)] = text;
    return empty;
  }
  const parts = [{ type: 'text', text }];
  if (isParts(empty)) return parts;
  return isParts(empty?.content) ? { ...empty, content: parts } : empty;
}

const isParts = (value) => Array.isArray(value) && typeof value[0]?.type === 'string';

function emptied(value) {
  if (typeof value === 'string') return '';
  if (Array.isArray(value)) return value.slice(0, 1).map(emptied);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, isType(key, each) ? each : emptied(each)]));
}

const isType = (key, value) => TYPE_FIELDS.has(key) && typeof value === 'string' && TYPE_WORD.test(value);

function hasSameShape(value, other) {
  if (typeof value !== typeof other || Array.isArray(value) !== Array.isArray(other)) return false;
  if (typeof value !== 'object' || value === null || other === null) return value === null ? other === null : other !== null;
  const keys = Object.keys(value);
  return keys.length === Object.keys(other).length && keys.every((key) => key in other && hasSameShape(value[key], other[key]));
}
