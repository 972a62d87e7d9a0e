// A scripted model that speaks the Messages API of Anthropic on this machine.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

/** Starts a model that makes the calls of a script, and then answers. `scripts` has one for each agent, by a word of its system
 * prompt; the empty word is in all of them. */
export async function startModel(scripts, answer = 'done') {
  const left = Object.entries(scripts).map(([word, calls]) => [word, [...calls]]);
  const seen = [];

  /** The content of the answer to a request. */
  function respond({ messages, system, tools }) {
    seen.push(textsOf(messages).join('\n'));
    const [, calls] = left.find(([word]) => JSON.stringify(system ?? '').includes(word));
    if (!tools?.length || !calls.length) return { type: 'text', text: answer };
    const [name, input] = calls.shift();
    return { type: 'tool_use', id: `toolu_${randomUUID().slice(0, 8)}`, name, input };
  }

  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const isMessage = request.method === 'POST' && request.url.split('?')[0].endsWith('/messages');
    if (!isMessage) return response.end('{"input_tokens": 1}');
    const block = respond(JSON.parse(body));
    response.setHeader('Content-Type', 'text/event-stream');
    for (const event of eventsOf(block)) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    return response.end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve)));
  return { url: `http://127.0.0.1:${server.address().port}`, seen, stop };
}

/** All texts in a value. */
function textsOf(value) {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

/** The events of an answer with one block. */
function eventsOf(block) {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const head = { id: `msg_${randomUUID().slice(0, 8)}`, type: 'message', role: 'assistant', model: 'script', content: [] };
  const isText = block.type === 'text';
  const empty = isText ? { type: 'text', text: '' } : { ...block, input: {} };
  const delta = isText
    ? { type: 'text_delta', text: block.text }
    : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
  return [
    { type: 'message_start', message: { ...head, stop_reason: null, stop_sequence: null, usage } },
    { type: 'content_block_start', index: 0, content_block: empty },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: isText ? 'end_turn' : 'tool_use', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
}
