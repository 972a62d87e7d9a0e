// A scripted model on loopback. It supports the four wire formats that coding agents use (Anthropic messages, OpenAI
// responses, OpenAI chat completions, Gemini generateContent), plays a list of turns, and keeps every request.

import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import zlib from 'node:zlib';

const MAX_BODY = 64 * 1024 * 1024;

/** The text in a prompt that selects the script of this name. */
export const mark = (script) => `[[play:${script}]]`;

/**
 * `scripts` maps a name to its turns. A turn is `{text, calls}` or an async function that gives one; functions are how
 * the world is changed between two turns. The model keeps no conversation: each of its replies carries the number of
 * its turn, and the next turn is read from the history that a client sends. So titles, retries and sub-agents, which
 * are conversations of their own, do not get in each other's way.
 */
export class Model {
  constructor(scripts, folder) {
    this.scripts = scripts;
    this.folder = folder;
    this.requests = [];
    this.played = [];
    this.turns = new Map();
    this.serial = 0;
    /** Whether the last turn had calls whose results the model has not received. */
    this.isWaiting = false;
    fs.mkdirSync(folder, { recursive: true });
  }

  async start() {
    this.server = http.createServer((request, response) => {
      this.serve(request, response).catch((error) => {
        if (!response.headersSent) response.writeHead(500, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { message: String(error) } }));
      });
    });
    await new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(0, '127.0.0.1', resolve);
    });
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  /** Whether any request contained this text, as it is or escaped in JSON. */
  saw(text) {
    const spelled = JSON.stringify(text).slice(1, -1);
    return this.requests.some((body) => body.includes(text) || body.includes(spelled));
  }

  /** The turns of a script that were played, without repeated requests. */
  turnsOf(script) {
    return new Set(this.played.filter((turn) => turn.script === script).map((turn) => turn.number)).size;
  }

  async serve(request, response) {
    const where = request.url.split('?')[0];
    const body = await read(request);
    if (request.method !== 'POST') return json(response, models(where));
    let asked;
    try { asked = JSON.parse(body || '{}'); } catch { asked = {}; }
    if (/count_?tokens$/i.test(where)) return json(response, { input_tokens: 10, totalTokens: 10 });
    const wire = WIRES.find((each) => each.path.test(where));
    if (!wire) return json(response, {});
    this.requests.push(body);
    const serial = ++this.serial;
    const log = path.join(this.folder, `${String(serial).padStart(3, '0')}.json`);
    fs.writeFileSync(log, body);
    const turn = await this.next(wire.history(asked), wire.tools(asked));
    wire.answer(response, asked, turn, `${serial}`, where);
  }

  async next(history, hasTools) {
    const text = JSON.stringify(history ?? '');
    const script = /\[\[play:([\w-]+)\]\]/.exec(text)?.[1];
    const turns = this.scripts[script];
    // Requests for titles and summaries carry no tools.
    if (!turns || !hasTools) return { text: 'ok', calls: [] };
    const seen = [...text.matchAll(new RegExp(`<${script} turn (\\d+)>`, 'g'))].map((match) => Number(match[1]));
    const number = seen.length ? Math.max(...seen) + 1 : 0;
    this.played.push({ script, number });
    const key = `${script} ${number}`;
    if (!this.turns.has(key)) {
      const turn = turns[number] ?? { text: 'Done.' };
      this.turns.set(key, typeof turn === 'function' ? turn() : turn);
    }
    const { text: reply = 'Working.', calls = [] } = await this.turns.get(key);
    this.isWaiting = calls.length > 0;
    return { text: `<${script} turn ${number}> ${reply}`, calls };
  }
}

const WIRES = [
  { path: /\/messages$/, history: (asked) => asked.messages, tools: (asked) => full(asked.tools), answer: anthropic },
  { path: /\/responses$/, history: (asked) => asked.input, tools: (asked) => full(asked.tools) || offersTools(asked.input), answer: responses },
  { path: /\/chat\/completions$/, history: (asked) => asked.messages, tools: (asked) => full(asked.tools), answer: chat },
  {
    path: /generatecontent$/i,
    history: (asked) => asked.contents ?? asked.request?.contents,
    tools: (asked) => full(asked.tools ?? asked.request?.tools),
    answer: gemini,
  },
];

const full = (list) => Array.isArray(list) && list.length > 0;
const offersTools = (input) => Array.isArray(input) && input.some((item) => item?.type === 'additional_tools');

function models(where) {
  return where.endsWith('/models')
    ? { object: 'list', data: [{ id: 'scripted', object: 'model', created: 0, owned_by: 'loopback' }], models: [] }
    : {};
}

async function read(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > MAX_BODY) throw new Error('the request is too large');
    parts.push(part);
  }
  const bytes = Buffer.concat(parts);
  switch (request.headers['content-encoding']) {
    case 'gzip': return zlib.gunzipSync(bytes).toString();
    case 'deflate': return zlib.inflateSync(bytes).toString();
    case 'br': return zlib.brotliDecompressSync(bytes).toString();
    default: return bytes.toString();
  }
}

function json(response, value) {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function stream(response, events, { named = false, done = false } = {}) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', connection: 'close' });
  for (const event of events) {
    if (named) response.write(`event: ${event.type}\n`);
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  response.end(done ? 'data: [DONE]\n\n' : '');
}

function anthropic(response, asked, turn, serial) {
  const blocks = [
    { type: 'text', text: turn.text },
    ...turn.calls.map((call, i) => ({ type: 'tool_use', id: `toolu_${serial}_${i}`, name: call.name, input: call.input })),
  ];
  const stop_reason = turn.calls.length ? 'tool_use' : 'end_turn';
  const message = {
    id: `msg_${serial}`, type: 'message', role: 'assistant', model: asked.model ?? 'scripted', content: [],
    stop_reason: null, stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  };
  if (!asked.stream) return json(response, { ...message, content: blocks, stop_reason });
  const events = [{ type: 'message_start', message }];
  blocks.forEach((block, index) => {
    const isText = block.type === 'text';
    const content_block = isText ? { type: 'text', text: '' } : { ...block, input: {} };
    const delta = isText
      ? { type: 'text_delta', text: block.text }
      : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
    events.push(
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    );
  });
  events.push(
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } },
    { type: 'message_stop' },
  );
  return stream(response, events, { named: true });
}

function responses(response, asked, turn, serial) {
  const content = [{ type: 'output_text', text: turn.text, annotations: [] }];
  const items = [{ type: 'message', role: 'assistant', id: `msg_${serial}`, status: 'completed', content }];
  turn.calls.forEach((call, i) => {
    const call_id = `call_${serial}_${i}`;
    const where = call.namespace ? { namespace: call.namespace } : {};
    if (call.search) {
      items.push({ type: 'tool_search_call', id: `tsc_${call_id}`, status: 'completed', call_id, execution: 'client', arguments: call.input });
      return;
    }
    items.push(typeof call.input === 'string'
      ? { type: 'custom_tool_call', id: `ctc_${call_id}`, status: 'completed', call_id, name: call.name, input: call.input, ...where }
      : { type: 'function_call', id: `fc_${call_id}`, status: 'completed', call_id, name: call.name, arguments: JSON.stringify(call.input), ...where });
  });
  const begun = {
    id: `resp_${serial}`, object: 'response', created_at: Math.floor(Date.now() / 1000), status: 'in_progress',
    model: asked.model ?? 'scripted', output: [], parallel_tool_calls: true, tool_choice: 'auto', tools: [], error: null,
    incomplete_details: null, instructions: null, metadata: {}, temperature: 1, top_p: 1,
  };
  const usage = {
    input_tokens: 10, input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 15,
  };
  const ended = { ...begun, status: 'completed', output: items, usage };
  if (!asked.stream) return json(response, ended);
  const events = [{ type: 'response.created', response: begun }];
  items.forEach((item, output_index) => {
    const at = { item_id: item.id, output_index };
    if (item.type === 'message') {
      const text = { ...at, content_index: 0 };
      events.push(
        { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress', content: [] } },
        { type: 'response.content_part.added', ...text, part: { ...content[0], text: '' } },
        { type: 'response.output_text.delta', ...text, delta: turn.text, logprobs: [] },
        { type: 'response.output_text.done', ...text, text: turn.text, logprobs: [] },
        { type: 'response.content_part.done', ...text, part: content[0] },
      );
    } else if (item.type === 'tool_search_call') {
      events.push({ type: 'response.output_item.added', output_index, item });
    } else {
      const key = item.type === 'function_call' ? 'arguments' : 'input';
      events.push({ type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress', [key]: '' } });
      if (key === 'arguments') {
        events.push(
          { type: 'response.function_call_arguments.delta', ...at, delta: item.arguments },
          { type: 'response.function_call_arguments.done', ...at, arguments: item.arguments, name: item.name },
        );
      }
    }
    events.push({ type: 'response.output_item.done', output_index, item });
  });
  events.push({ type: 'response.completed', response: ended });
  return stream(response, events.map((event, i) => ({ ...event, sequence_number: i })), { named: true });
}

function chat(response, asked, turn, serial) {
  const calls = turn.calls.map((call, index) => ({
    index, id: `call_${serial}_${index}`, type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.input) },
  }));
  const finish_reason = calls.length ? 'tool_calls' : 'stop';
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const base = { id: `chatcmpl-${serial}`, created: Math.floor(Date.now() / 1000), model: asked.model ?? 'scripted' };
  if (!asked.stream) {
    const message = { role: 'assistant', content: turn.text };
    if (calls.length) message.tool_calls = calls.map(({ index, ...call }) => call);
    return json(response, { ...base, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage });
  }
  const chunk = (delta, more = {}) => ({
    ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: null, ...more }],
  });
  const chunks = [chunk({ role: 'assistant', content: turn.text })];
  if (calls.length) chunks.push(chunk({ tool_calls: calls }));
  chunks.push({ ...chunk({}, { finish_reason }), usage });
  return stream(response, chunks, { done: true });
}

function gemini(response, asked, turn, serial, where) {
  const settings = asked.generationConfig ?? asked.request?.generationConfig ?? {};
  const wantsJson = settings.responseMimeType === 'application/json' || settings.responseJsonSchema;
  // Internal requests (which model, next speaker) carry a schema; one object satisfies all of them.
  const parts = wantsJson
    ? [{ text: JSON.stringify({ reasoning: 'scripted', model_choice: 'flash', next_speaker: 'user', complexity_reasoning: 'scripted', complexity_score: 10 }) }]
    : [{ text: turn.text }, ...turn.calls.map((call, i) => ({ functionCall: { id: `call_${serial}_${i}`, name: call.name, args: call.input } }))];
  const answer = {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    modelVersion: 'scripted', responseId: serial,
  };
  return /stream/i.test(where) ? stream(response, [answer]) : json(response, answer);
}
