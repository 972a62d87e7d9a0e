// A small editor of the Agent Client Protocol: it starts an agent, sends one prompt, and grants every permission request.
// A call that does not happen was therefore blocked by Midrail, not by the editor.

import fs from 'node:fs';
import readline from 'node:readline';
import { end, start } from './process.mjs';

const MAX_ROUNDS = 60;
const WANTED = ['allow_once', 'allow_always'];

export async function converse({ world, model, program, args, env, prompt, authenticate, reads = true, wait, guarded, limit }) {
  const waits = wait ? ['--wait', `${wait}s`] : [];
  const line = guarded ? [world.program, 'acp', ...waits, '--', program, ...args] : [program, ...args];
  const agent = start(line[0], line.slice(1), { cwd: world.proj, env: { ...world.env, ...env } });
  const log = fs.createWriteStream(world.path('stdout.txt'), { flags: 'a' });
  agent.stderr.pipe(fs.createWriteStream(world.path('stderr.txt'), { flags: 'a' }));
  agent.stdin.on('error', () => {});
  const waiting = new Map();
  let serial = 0;
  let gone = false;
  let failed;
  let rounds = 0;

  const send = (message) => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    log.write(`editor ${text}\n`);
    if (!gone) agent.stdin.write(`${text}\n`);
  };
  const request = (method, params) => new Promise((resolve, reject) => {
    if (gone) return reject(new Error(`the agent ended before ${method}`));
    serial += 1;
    waiting.set(serial, { resolve, reject, method });
    return send({ id: serial, method, params });
  });
  const fail = (why) => {
    gone = true;
    for (const { reject, method } of waiting.values()) reject(new Error(`${why} during ${method}`));
    waiting.clear();
  };

  readline.createInterface({ input: agent.stdout }).on('line', (text) => {
    log.write(`agent  ${text}\n`);
    let message;
    try { message = JSON.parse(text); } catch { return; }
    if (message.method) {
      if (message.id !== undefined) send({ id: message.id, ...answer(message) });
      return;
    }
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) asked?.reject(new Error(`${asked.method}: ${message.error.message}`));
    else asked?.resolve(message.result);
  });
  agent.once('error', (error) => fail(error.message));
  agent.once('exit', () => fail('the agent ended'));
  let late = false;
  const timer = setTimeout(() => { late = true; fail('the time was over'); }, limit * 1000);

  let code = 1;
  try {
    const fsCapability = { readTextFile: reads, writeTextFile: true };
    await request('initialize', {
      protocolVersion: 1,
      clientCapabilities: { fs: fsCapability, terminal: false },
      clientInfo: { name: 'compat', version: '1' },
    });
    if (authenticate) await request('authenticate', { methodId: authenticate });
    const { sessionId } = await request('session/new', { cwd: world.proj, mcpServers: world.mcp ? [{ name: 'kit', env: [], ...world.mcp }] : [] });
    let text = prompt;
    // Some agents end their turn if a call is refused. The user then asks them to continue, until the script is over.
    do {
      await request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
      text = 'Please continue.';
    } while (model.isWaiting && (rounds += 1) < MAX_ROUNDS);
    code = 0;
  } catch (error) {
    failed = error.message;
    log.write(`failed ${failed}\n`);
  } finally {
    clearTimeout(timer);
    end(agent);
    log.end();
  }
  return { code, late, failed };
}

function answer({ method, params }) {
  try {
    switch (method) {
      case 'session/request_permission': {
        const option = WANTED.map((kind) => params.options.find((each) => each.kind === kind)).find(Boolean);
        return { result: { outcome: option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' } } };
      }
      case 'fs/read_text_file':
        return { result: { content: fs.readFileSync(params.path, 'utf8') } };
      case 'fs/write_text_file':
        fs.writeFileSync(params.path, params.content);
        return { result: {} };
      default:
        return { error: { code: -32601, message: `${method} is not supported` } };
    }
  } catch (failure) {
    // The protocol has an error code for a missing file, which agents expect when they write a new file.
    return { error: { code: failure.code === 'ENOENT' ? -32002 : -32603, message: failure.message } };
  }
}
