// An MCP server for the conformance suite, over Streamable HTTP, in both eras of the protocol: `node server.mjs PORT`.
// It speaks raw JSON, so that a change of an SDK changes nothing here.
import { createHmac, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';
const META = 'io.modelcontextprotocol/';
const MODERN = '2026-07-28';
const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26'];
const SELF = { name: 'conformance-server', version: '1.0.0' };
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const text = (it) => ({ content: [{ type: 'text', text: it }] });
const object = (properties = {}, required = []) => ({ type: 'object', properties, required });
const string = (description) => ({ type: 'string', description });

class RpcError extends Error {
  constructor(code, message, data, status = 200) {
    super(message);
    Object.assign(this, { code, data, status });
  }
}

const ask = (name, message, properties, required = Object.keys(properties)) =>
  ({ [name]: { method: 'elicitation/create', params: { message, requestedSchema: object(properties, required) } } });
const sample = (name, question, maxTokens = 100) => ({
  [name]: { method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: { type: 'text', text: question } }], maxTokens } },
});
const roots = { client_roots: { method: 'roots/list', params: {} } };
const seal = (state) => `${state}.${createHmac('sha256', 'conformance').update(state).digest('hex')}`;
const opened = (sealed) => {
  const state = String(sealed ?? '').split('.')[0];
  if (seal(state) !== sealed) throw new RpcError(-32602, 'requestState was changed');
  return state;
};
const required = (inputRequests, state) =>
  ({ resultType: 'input_required', inputRequests, ...(state && { requestState: seal(state) }) });

/** The answer that a client gave to a question. */
const answered = (call, name) => {
  const answer = call.params.inputResponses?.[name];
  return answer && typeof answer === 'object' && Object.keys(answer).length ? answer.result ?? answer : undefined;
};
const once = (requests, done, state) => (call) => {
  const names = Object.keys(requests);
  if (!names.every((name) => answered(call, name))) return required(requests, state);
  if (state) opened(call.params.requestState);
  return text(done(call));
};
const nameOf = (call) => answered(call, 'user_name')?.content?.name;

const ENUMS = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: { type: 'string', oneOf: [1, 2, 3].map((n) => ({ const: `value${n}`, title: ['First', 'Second', 'Third'][n - 1] + ' Option' })) },
  legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: { type: 'array', items: { anyOf: [1, 2, 3].map((n) => ({ const: `value${n}`, title: ['First', 'Second', 'Third'][n - 1] + ' Choice' })) } },
};
const DEFAULTS = {
  name: { type: 'string', default: 'John Doe' }, age: { type: 'integer', default: 30 }, score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' }, verified: { type: 'boolean', default: true },
};
const elicited = (schema) => async (call) => {
  const answer = await call.request('elicitation/create', { message: 'Please fill in the form', requestedSchema: object(schema) });
  return text(`Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`);
};
const needs = (call, capability) => {
  if (!call.capabilities[capability]) {
    throw new RpcError(-32021, `${capability} is required`, { requiredCapabilities: { [capability]: {} } }, 400);
  }
};

const JSON_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', additionalProperties: false,
  $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
  properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' }, contactMethod: { type: 'string', enum: ['phone', 'email'] }, phone: { type: 'string' }, email: { type: 'string' } },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] }, then: { required: ['phone'] }, else: { required: ['email'] },
};

/** Tools: their schemas and what they do. Both eras list all of them, so that they have the same pins. */
const TOOLS = {
  test_simple_text: [object(), () => text('This is a simple text response for testing.')],
  test_image_content: [object(), () => ({ content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] })],
  test_audio_content: [object(), () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] })],
  test_embedded_resource: [object(), () => ({ content: [{ type: 'resource', resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' } }] })],
  test_multiple_content_types: [object(), () => ({ content: [{ type: 'text', text: 'Multiple content types test:' }, { type: 'image', data: PNG, mimeType: 'image/png' },
    { type: 'resource', resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data","value":123}' } }] })],
  test_error_handling: [object(), () => ({ ...text('This tool intentionally returns an error for testing'), isError: true })],
  test_tool_with_logging: [object(), async (call) => {
    for (const line of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      if (!call.isModern || call.meta[`${META}logLevel`]) call.notify('notifications/message', { level: 'info', data: line });
      await sleep(50);
    }
    return text('Logged three messages');
  }],
  test_tool_with_progress: [object(), async (call) => {
    for (const progress of [0, 50, 100]) {
      if (call.meta.progressToken !== undefined) call.notify('notifications/progress', { progressToken: call.meta.progressToken, progress, total: 100 });
      await sleep(50);
    }
    return text('Reported progress');
  }],
  test_sampling: [object({ prompt: string('The prompt') }, ['prompt']), async (call) => {
    const answer = await call.request('sampling/createMessage', { messages: [{ role: 'user', content: { type: 'text', text: call.args.prompt } }], maxTokens: 100 });
    return text(`LLM response: ${answer.content?.text}`);
  }],
  test_elicitation: [object({ message: string('The message') }, ['message']), async (call) => {
    const schema = object({ username: string("User's response"), email: string("User's email address") }, ['username', 'email']);
    const answer = await call.request('elicitation/create', { message: call.args.message, requestedSchema: schema });
    return text(`User response: action: ${answer.action}, content: ${JSON.stringify(answer.content ?? {})}`);
  }],
  test_elicitation_sep1034_defaults: [object(), elicited(DEFAULTS)],
  test_elicitation_sep1330_enums: [object(), elicited(ENUMS)],
  test_reconnection: [object(), async (call) => {
    call.disconnect();
    await sleep(100);
    return text('Reconnection test completed');
  }],
  json_schema_2020_12_tool: [JSON_SCHEMA, () => text('ok')],
  test_missing_capability: [object(), (call) => { needs(call, 'sampling'); return text('ok'); }],
  test_streaming_elicitation: [object(), once(ask('confirm', 'Please confirm', { ok: { type: 'boolean' } }), () => 'ok')],
  test_custom_header: [object({ region: { type: 'string', description: 'A region', 'x-mcp-header': 'Region' } }, ['region']), (call) => text(call.args.region)],
  test_input_required_result_elicitation: [object(), (call) => nameOf(call)
    ? text(`Hello, ${nameOf(call)}!`) : required(ask('user_name', 'What is your name?', { name: { type: 'string' } }))],
  test_input_required_result_sampling: [object(), once(sample('capital_question', 'What is the capital of France?'), (call) => answered(call, 'capital_question').content?.text ?? 'none')],
  test_input_required_result_list_roots: [object(), once(roots, (call) => JSON.stringify(answered(call, 'client_roots').roots))],
  test_input_required_result_request_state: [object(), once(ask('confirm', 'Please confirm', { ok: { type: 'boolean' } }), () => 'state-ok', 'confirm')],
  test_input_required_result_multiple_inputs: [object(), once({ ...ask('user_name', 'What is your name?', { name: { type: 'string' } }), ...sample('greeting', 'Generate a greeting', 50), ...roots },
    (call) => `Hello, ${nameOf(call)}`, 'several')],
  test_input_required_result_multi_round: [object(), (call) => {
    const state = call.params.requestState && opened(call.params.requestState);
    if (state === 'two' && answered(call, 'step2')) return text('All rounds are complete');
    if (state === 'one' && answered(call, 'step1')) return required(ask('step2', 'Step 2: What is your favorite color?', { color: { type: 'string' } }), 'two');
    return required(ask('step1', 'Step 1: What is your name?', { name: { type: 'string' } }), 'one');
  }],
  test_input_required_result_tampered_state: [object(), once(ask('confirm', 'Please confirm', { ok: { type: 'boolean' } }), () => 'ok', 'tampered')],
  test_input_required_result_capabilities: [object(), (call) => {
    const requests = { ...(call.capabilities.elicitation && ask('user_name', 'What is your name?', { name: { type: 'string' } })),
      ...(call.capabilities.sampling && sample('capital_question', 'What is the capital of France?')) };
    return call.params.inputResponses ? text('ok') : required(requests);
  }],
};

const user = (content) => ({ role: 'user', content });
const PROMPTS = {
  test_simple_prompt: [[], () => [user({ type: 'text', text: 'This is a simple prompt for testing.' })]],
  test_prompt_with_arguments: [['arg1', 'arg2'], (args) => [user({ type: 'text', text: `Prompt with arguments: arg1='${args.arg1}', arg2='${args.arg2}'` })]],
  test_prompt_with_embedded_resource: [['resourceUri'], (args) => [user({ type: 'resource', resource: { uri: args.resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' } }),
    user({ type: 'text', text: 'Please process the embedded resource above.' })]],
  test_prompt_with_image: [[], () => [user({ type: 'image', data: PNG, mimeType: 'image/png' }), user({ type: 'text', text: 'Please analyze the image above.' })]],
  test_input_required_result_prompt: [[], (_, call) => answered(call, 'user_context')
    ? [user({ type: 'text', text: `Context: ${answered(call, 'user_context').content?.context}` })]
    : required(ask('user_context', 'What context should the prompt use?', { context: { type: 'string' } }))],
};

const RESOURCES = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched.' },
};

const cached = (call, result) => (call.isModern ? { ...result, ttlMs: 60_000, cacheScope: 'public' } : result);
const listeners = new Set();

/** The methods of both eras. */
const METHODS = {
  'tools/list': (call) => cached(call, { tools: Object.entries(TOOLS).map(([name, [inputSchema]]) => ({ name, description: `Tests ${name}.`, inputSchema })) }),
  'tools/call': (call) => {
    const tool = TOOLS[call.params.name];
    if (!tool) throw new RpcError(-32602, `unknown tool ${call.params.name}`);
    return tool[1](call);
  },
  'prompts/list': (call) => cached(call, { prompts: Object.entries(PROMPTS).map(([name, [args]]) =>
    ({ name, description: `Tests ${name}.`, arguments: args.map((arg) => ({ name: arg, description: `The argument ${arg}`, required: true })) })) }),
  'prompts/get': (call) => {
    const prompt = PROMPTS[call.params.name];
    if (!prompt) throw new RpcError(-32602, 'unknown prompt');
    const messages = prompt[1](call.params.arguments ?? {}, call);
    return Array.isArray(messages) ? { messages } : messages;
  },
  'resources/list': (call) => cached(call, { resources: Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({ uri, name: uri.slice(7), description: `The resource ${uri.slice(7)}.`, mimeType })) }),
  'resources/templates/list': (call) => cached(call, { resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', description: 'Data by id.', mimeType: 'application/json' }] }),
  'resources/read': (call) => {
    const { uri } = call.params;
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    const found = id ? { mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) } : RESOURCES[uri];
    if (!found) throw new RpcError(call.isModern ? -32602 : -32002, 'Resource not found', { uri });
    return cached(call, { contents: [{ uri, ...found }] });
  },
  'completion/complete': () => ({ completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false } }),
};
const INSTRUCTIONS = 'A server for tests.';
const CAPABILITIES = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true, subscribe: true }, completions: {} };
const LEGACY_METHODS = { ping: () => ({}), 'logging/setLevel': () => ({}), 'resources/subscribe': () => ({}), 'resources/unsubscribe': () => ({}) };
const MODERN_METHODS = {
  'server/discover': () => ({ supportedVersions: [MODERN, ...LEGACY], capabilities: CAPABILITIES, instructions: INSTRUCTIONS, ttlMs: 60_000, cacheScope: 'public' }),
  'subscriptions/listen': (call) => new Promise((done) => {
    const wanted = call.params.notifications ?? {};
    const known = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged', 'resourceSubscriptions'];
    const _meta = { [`${META}subscriptionId`]: call.id };
    call.notify('notifications/subscriptions/acknowledged', { _meta, notifications: Object.fromEntries(known.filter((name) => wanted[name]).map((name) => [name, wanted[name]])) });
    const listener = { wanted, notify: (method) => call.notify(method, { _meta }) };
    listeners.add(listener);
    call.response.on('close', () => { listeners.delete(listener); done({}); });
  }),
};
for (const [name, flag] of [['test_trigger_tool_change', 'tools'], ['test_trigger_prompt_change', 'prompts']]) {
  TOOLS[name] = [object(), () => {
    for (const listener of listeners) if (listener.wanted[`${flag}ListChanged`]) listener.notify(`notifications/${flag}/list_changed`);
    return text('changed');
  }];
}

const sessions = new Map();

/** A response: one message, or a stream of events that is kept for clients that come back. */
class Response {
  constructor(response, session) {
    Object.assign(this, { response, session, stream: randomUUID(), count: 0, isOpen: false });
  }
  open(headers = {}) {
    if (!this.isOpen) this.response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers });
    this.isOpen = true;
  }
  event(message) {
    this.open();
    const id = this.session ? `${this.stream}_${this.count++}` : undefined;
    const event = `${id ? `id: ${id}\n` : ''}event: message\ndata: ${JSON.stringify(message)}\n\n`;
    this.session?.events.push({ stream: this.stream, id, event });
    (this.session?.resumed.get(this.stream) ?? this.response).write(event);
  }
  prime() {
    const id = `${this.stream}_prime`;
    this.open();
    this.session.events.push({ stream: this.stream, id, event: '' });
    this.response.write(`id: ${id}\nretry: 200\ndata: \n\n`);
  }
  end() {
    const resumed = this.session?.resumed.get(this.stream);
    resumed?.end();
    this.response.end();
  }
}

async function run(request, response, session, isModern) {
  const { id, method, params = {} } = request;
  const out = new Response(response, session);
  const meta = params._meta ?? {};
  const call = {
    id, params, meta, isModern, response, args: params.arguments ?? {},
    capabilities: isModern ? meta[`${META}clientCapabilities`] ?? {} : session?.capabilities ?? {},
    notify: (name, it) => out.event({ jsonrpc: '2.0', method: name, params: it }),
    disconnect: () => { out.prime(); response.end(); },
    request: (name, it) => new Promise((done, failed) => {
      const own = `s-${randomUUID()}`;
      session.waiting.set(own, { done, failed });
      out.event({ jsonrpc: '2.0', id: own, method: name, params: it });
    }),
  };
  let answer;
  let status = 200;
  try {
    const run = METHODS[method] ?? (isModern ? MODERN_METHODS : LEGACY_METHODS)[method];
    if (!run) throw new RpcError(-32601, `Method not found: ${method}`, undefined, isModern ? 404 : 200);
    const result = await run(call);
    if (isModern) {
      result.resultType ??= 'complete';
      result._meta = { ...result._meta, [`${META}serverInfo`]: SELF };
    }
    answer = { jsonrpc: '2.0', id, result };
  } catch (error) {
    status = error.status ?? 200;
    answer = { jsonrpc: '2.0', id, error: { code: error.code ?? -32603, message: error.message, data: error.data } };
  }
  // Every second answer is an event, as real servers do both.
  if (out.isOpen || (status === 200 && session && method !== 'tools/list')) {
    out.event(answer);
    return out.end();
  }
  return json(response, status, answer);
}

const json = (response, status, body, headers = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};
const fail = (response, status, code, message, { id = null, data } = {}) => json(response, status, { jsonrpc: '2.0', id, error: { code, message, data } });

function checkModern(request, headers) {
  const { method, params = {}, id } = request;
  const meta = params._meta;
  if (!meta || typeof meta[`${META}protocolVersion`] !== 'string' || typeof meta[`${META}clientCapabilities`] !== 'object') {
    throw new RpcError(-32602, 'the request lacks required _meta', undefined, 400);
  }
  const version = meta[`${META}protocolVersion`];
  const decode = (value) => {
    const encoded = /^=\?base64\?(.*)\?=$/.exec(value ?? '')?.[1];
    if (encoded === undefined) return value;
    const bytes = Buffer.from(encoded, 'base64');
    if (bytes.toString('base64') !== encoded) throw new RpcError(-32020, 'invalid Base64', undefined, 400);
    return bytes.toString();
  };
  const agree = (header, wanted) => {
    if (decode(headers[header]) !== wanted) throw new RpcError(-32020, `${header} does not agree with the body`, undefined, 400);
  };
  agree('mcp-protocol-version', version);
  if (version !== MODERN) throw new RpcError(-32022, 'Unsupported protocol version', { supported: [MODERN], requested: version }, 400);
  if (id === undefined) return;
  agree('mcp-method', method);
  if (['tools/call', 'prompts/get'].includes(method)) agree('mcp-name', params.name);
  if (method === 'resources/read') agree('mcp-name', params.uri);
  const properties = method === 'tools/call' ? TOOLS[params.name]?.[0].properties ?? {} : {};
  for (const [name, schema] of Object.entries(properties)) {
    if (schema['x-mcp-header']) agree(`mcp-param-${schema['x-mcp-header'].toLowerCase()}`, params.arguments?.[name]);
  }
}

async function post(incoming, response) {
  const body = await new Promise((done) => {
    const parts = [];
    incoming.on('data', (part) => parts.push(part)).on('end', () => done(Buffer.concat(parts).toString()));
  });
  let request;
  try { request = JSON.parse(body); } catch { return fail(response, 400, -32700, 'Parse error'); }
  const { headers } = incoming;
  const isModern = headers['mcp-protocol-version'] >= MODERN || request.params?._meta?.[`${META}protocolVersion`] !== undefined;
  if (isModern) {
    try { checkModern(request, headers); } catch (error) { return fail(response, error.status, error.code, error.message, { id: request.id, data: error.data }); }
    return request.id === undefined ? response.writeHead(202).end() : run(request, response, undefined, true);
  }
  if (request.method === 'initialize') {
    const id = randomUUID();
    const wanted = request.params?.protocolVersion;
    const protocolVersion = LEGACY.includes(wanted) ? wanted : LEGACY[0];
    sessions.set(id, { capabilities: request.params?.capabilities ?? {}, waiting: new Map(), events: [], resumed: new Map() });
    const result = { protocolVersion, serverInfo: SELF, instructions: INSTRUCTIONS, capabilities: { ...CAPABILITIES, logging: {} } };
    return json(response, 200, { jsonrpc: '2.0', id: request.id, result }, { 'mcp-session-id': id });
  }
  const id = headers['mcp-session-id'];
  if (!id) return fail(response, 400, -32000, 'Bad Request: no session');
  const session = sessions.get(id);
  if (!session) return fail(response, 404, -32001, 'Session not found');
  if (request.method === undefined) {
    const waiting = session.waiting.get(request.id);
    session.waiting.delete(request.id);
    if (request.error) waiting?.failed(new RpcError(request.error.code, request.error.message));
    else waiting?.done(request.result);
    return response.writeHead(202).end();
  }
  return request.id === undefined ? response.writeHead(202).end() : run(request, response, session, false);
}

function listen(incoming, response) {
  const session = sessions.get(incoming.headers['mcp-session-id']);
  if (!session) return fail(response, incoming.headers['mcp-session-id'] ? 404 : 400, -32000, 'no session');
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  const last = incoming.headers['last-event-id'];
  const at = session.events.findIndex(({ id }) => id === last);
  if (last === undefined || at < 0) return undefined;
  const { stream } = session.events[at];
  for (const { event } of session.events.slice(at + 1).filter((it) => it.stream === stream)) response.write(event);
  session.resumed.set(stream, response);
  return undefined;
}

const server = createServer((incoming, response) => {
  const { host = '', origin } = incoming.headers;
  const isLocal = (name) => /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(name);
  if (!isLocal(host) || (origin && !isLocal(origin.replace(/^https?:\/\//, '')))) return fail(response, 403, -32000, 'forbidden');
  const isModern = incoming.headers['mcp-protocol-version'] >= MODERN;
  if (incoming.method === 'POST') return post(incoming, response).catch((error) => fail(response, 500, -32603, String(error)));
  if (incoming.method === 'GET' && !isModern) return listen(incoming, response);
  if (incoming.method === 'DELETE' && !isModern) {
    return response.writeHead(sessions.delete(incoming.headers['mcp-session-id']) ? 200 : 404).end();
  }
  return response.writeHead(405, { allow: 'POST' }).end();
});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
