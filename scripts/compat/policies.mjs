// Compares the recorded verdicts of Claude Code with those of the real program, offline against a scripted model.
//   node scripts/compat/policies.mjs --help

import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { offline } from './agents/claude-code.mjs';
import { agrees, parse, read, versionIn } from './entries.mjs';
import { Lab } from './lab.mjs';
import { mark, Model } from './model.mjs';
import { end, endAll, inside, insideNamespace, run, start } from './process.mjs';
import { World } from './world.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DATA = path.join(ROOT, 'crates/midrail-adapters/tests/policies/data/claude-code.txt');
const SELF = fileURLToPath(import.meta.url);
const LIMIT = 120;

const HELP = `node scripts/compat/policies.mjs [OPTIONS]

  --lab DIR     where the agents are installed [default: $MIDRAIL_COMPAT_LAB, else target/compat]
  --data FILE   the entries [default: ${path.relative(ROOT, DATA)}]
  --entry TEXT  only entries whose name contains this text
  --jobs N      how many sessions run at the same time [default: 2]
  --print       print the verdict of the program for every call
  --help        show this help

Exit codes: 0 all verdicts agree, or the program is missing; 1 a verdict differs; 2 invalid options.`;

const OPTIONS = {
  lab: { type: 'string', default: process.env.MIDRAIL_COMPAT_LAB || path.join(ROOT, 'target', 'compat') },
  data: { type: 'string', default: DATA },
  entry: { type: 'string', default: '' },
  jobs: { type: 'string', default: '2' },
  print: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

const log = (text) => process.stderr.write(`${text}\n`);

/** A path of the data: below the project, below the home, or absolute. */
function place(world, file) {
  return file.startsWith('~/') ? path.join(world.home, file.slice(2)) : path.resolve(world.proj, file);
}

/** A call of the data as a call of a tool. */
function toolCall(world, call) {
  const [, kind, rest] = /^(Read|Edit|Fetch|Tool) (.*)$/.exec(call) ?? [];
  switch (kind) {
    case 'Read': return { name: 'Read', input: { file_path: place(world, rest) } };
    case 'Edit': return { name: 'Write', input: { file_path: place(world, rest), content: 'x\n' } };
    case 'Fetch': return { name: 'WebFetch', input: { url: rest, prompt: 'Summarize.' } };
    case 'Tool': {
      const [, name, args = '{}'] = /^(\S+)(?: (.*))?$/.exec(rest);
      const needed = { Agent: { description: 'Help', prompt: 'Help.' }, WebSearch: { query: 'rust' }, Grep: { pattern: 'x' }, Glob: { pattern: 'x' } };
      return { name, input: { ...needed[name], ...JSON.parse(args) } };
    }
    default: return { name: 'Bash', input: { command: call, description: 'Run a command' } };
  }
}

/** Creates what the calls need: files to read, agents, skills and MCP servers. */
function prepare(world, entry, calls) {
  const servers = {};
  for (const { name, input } of calls) {
    const file = name === 'Read' && input.file_path;
    if (file && file.startsWith(world.dir) && !fs.existsSync(file)) {
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, 'text\n');
    }
    if (name === 'Agent') world.write(`proj/.claude/agents/${input.subagent_type}.md`, `---\nname: ${input.subagent_type}\ndescription: Helps.\n---\nHelp.\n`);
    if (name === 'Skill') world.write(`proj/.claude/skills/${input.skill}/SKILL.md`, `---\nname: ${input.skill}\ndescription: Helps.\n---\nHelp.\n`);
    const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
    if (server) (servers[server] ??= []).push(tool);
  }
  const mcpServers = Object.fromEntries(Object.entries(servers).map(([name, tools]) => (
    [name, { command: process.execPath, args: [SELF, '--serve', ...tools] }])));
  world.write('mcp.json', JSON.stringify({ mcpServers }));
  world.write('proj/.claude/settings.json', entry.settings);
  // In a folder that is not trusted, the program ignores what a project allows.
  world.write('home/.claude.json', JSON.stringify({ projects: { [fs.realpathSync(world.proj)]: { hasTrustDialogAccepted: true } } }));
  // A shell that runs nothing: the verdict counts, not the command.
  world.write('bin/bash', '#!/bin/sh\nexit 0\n');
  fs.chmodSync(world.path('bin/bash'), 0o755);
}

/** The result of each call in the last request of a session, by the number of the call. */
function resultsOf(model) {
  const longest = model.requests.map((body) => JSON.parse(body)).filter((body) => body.tools?.length)
    .reduce((best, body) => (body.messages.length > (best?.messages.length ?? 0) ? body : best), undefined);
  const results = new Map();
  for (const block of (longest?.messages ?? []).flatMap(({ content }) => (Array.isArray(content) ? content : []))) {
    if (block.type !== 'tool_result') continue;
    const text = typeof block.content === 'string' ? block.content : (block.content ?? []).map((part) => part.text ?? '').join('');
    results.set(block.tool_use_id, { failed: block.is_error === true, text });
  }
  return results;
}

const DENIED = /has been denied|denied access to|covered by a Read deny rule|denied by your permission settings|No such tool available|is not available|blocked by (?:a )?permission|denies? rule|is denied|not enabled in this context/i;

function verdictOf(asked, result) {
  if (asked) return 'ask';
  if (!result) return 'none';
  return result.failed && DENIED.test(result.text) ? 'deny' : 'allow';
}

/** The verdicts of the program on the calls of an entry, one session with a call per turn. */
async function verdicts(lab, entry, number) {
  const world = new World(lab, 'policies', String(number), undefined);
  const calls = entry.calls.map(({ call }) => toolCall(world, call));
  prepare(world, entry, calls);
  const model = new Model({ main: calls.map((call) => ({ calls: [call] })) }, world.path('model'));
  await model.start();
  const asked = new Set();
  const env = { ...world.env, ...offline(model), CLAUDE_CODE_TMPDIR: world.tmp, CLAUDE_CODE_SHELL: world.path('bin/bash'), SHELL: world.path('bin/bash') };
  const args = ['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose', '--permission-prompt-tool', 'stdio',
    '--model', 'claude-sonnet-4-5', '--mcp-config', world.path('mcp.json'), '--strict-mcp-config'];
  const child = start(lab.claude, args, { cwd: world.proj, env });
  const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
  child.stdin.on('error', () => {});
  let errors = '';
  child.stderr.on('data', (data) => { errors += data; });
  const timer = setTimeout(() => end(child), LIMIT * 1000);
  send({ type: 'control_request', request_id: 'first', request: { subtype: 'initialize' } });
  send({ type: 'user', message: { role: 'user', content: `Begin. ${mark('main')}` }, parent_tool_use_id: null, session_id: 'default' });
  for await (const line of readline.createInterface({ input: child.stdout })) {
    let message;
    try { message = JSON.parse(line); } catch { continue; }
    if (message.type === 'control_request' && message.request.subtype === 'can_use_tool') {
      asked.add(message.request.tool_use_id);
      const response = { behavior: 'deny', message: 'No.' };
      send({ type: 'control_response', response: { subtype: 'success', request_id: message.request_id, response } });
    }
    if (message.type === 'result') child.stdin.end();
  }
  clearTimeout(timer);
  end(child);
  await model.stop();
  const results = [...resultsOf(model)];
  if (results.length < calls.length) log(`${entry.name}: only ${results.length} of ${calls.length} calls were made ${errors.slice(0, 300)}`);
  const found = entry.calls.map((call, at) => {
    const [id, result] = results[at] ?? [];
    return { ...call, found: verdictOf(asked.has(id), result), text: result?.text.slice(0, 160) };
  });
  return { found, world };
}

/** An MCP server with these tools, none of which does anything. */
function serve(tools) {
  const answers = {
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'kit', version: '1' } }),
    'tools/list': () => ({ tools: tools.map((name) => ({ name, description: 'A tool', inputSchema: { type: 'object', properties: {} } })) }),
    'tools/call': () => ({ content: [{ type: 'text', text: 'done' }] }),
    ping: () => ({}),
  };
  readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const body = answers[method] ? { result: answers[method](params) } : { error: { code: -32601, message: 'not supported' } };
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`);
  });
}

async function main() {
  let given;
  try { given = parseArgs({ options: OPTIONS }).values; } catch (error) {
    log(`${error.message}\n\n${HELP}`);
    process.exit(2);
  }
  if (given.help) return console.log(HELP);
  const lab = new Lab(path.resolve(given.lab));
  if (!fs.existsSync(lab.claude)) return console.log(`skipped: Claude Code is not installed in ${lab.folder}; name its folder with --lab`);
  if (!inside()) {
    const code = insideNamespace(process.argv.slice(1));
    if (code !== null) process.exit(code);
    log('This machine allows no network namespace: the agent could reach the network.');
  }
  const text = read(given.data);
  const { stdout } = await run(lab.claude, ['--version'], { env: process.env });
  console.log(`program: ${stdout.trim()}; recorded: ${versionIn(text)}`);
  const entries = parse(text).filter((entry) => entry.name.includes(given.entry));
  let [next, compared, different] = [0, 0, 0];
  const worker = async () => {
    while (next < entries.length) {
      const at = next;
      next += 1;
      const { found, world } = await verdicts(lab, entries[at], at);
      const wrong = found.filter((call) => !agrees(call.verdict, call.found));
      compared += found.length;
      different += wrong.length;
      for (const call of given.print ? found : wrong) {
        const sign = agrees(call.verdict, call.found) ? ' ' : '!';
        console.log(`${sign} ${entries[at].name}: \`${call.call}\` recorded ${call.verdict}, found ${call.found} (${JSON.stringify(call.text)})`);
      }
      if (!wrong.length) fs.rmSync(world.dir, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: Number(given.jobs) || 1 }, worker));
  console.log(`${entries.length} entries, ${compared} verdicts compared, ${different} different`);
  process.exitCode = different ? 1 : 0;
  return undefined;
}

if (process.argv[2] === '--serve') {
  serve(process.argv.slice(3));
} else {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => { endAll(); process.exit(130); });
  process.once('exit', endAll);
  await main();
}
