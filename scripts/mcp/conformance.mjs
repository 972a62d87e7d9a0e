// Runs the conformance suite directly and through Midrail, and compares the checks by scenario and id:
// `node conformance.mjs MIDRAIL FOLDER`.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [midrail, lab] = process.argv.slice(2);
const suite = join(lab, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const world = mkdtempSync(join(tmpdir(), 'midrail-conformance-'));
const children = [];
process.on('exit', () => {
  children.forEach((child) => child.kill());
  rmSync(world, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

/** Starts a program, and waits for the line that has its address. */
function start(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: world, ...options });
  children.push(child);
  return new Promise((done, failed) => {
    child.on('exit', (code) => failed(new Error(`${command} ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const address = /https?:\/\/[^\s"]+/.exec(line)?.[0];
      if (address) done(address);
    });
  });
}

/** Runs the suite and returns the statuses of its checks. */
async function run(name, args, env = {}) {
  const out = join(world, name.replaceAll(/[^a-z0-9]+/gi, '-'));
  await new Promise((done) => {
    const child = spawn(process.execPath, [suite, ...args, '-o', out], { stdio: 'ignore', cwd: lab, env: { ...process.env, ...env, XDG_STATE_HOME: `${out}-state` } });
    child.on('exit', done);
  });
  const checks = new Map();
  const visit = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) visit(path);
      if (entry.name !== 'checks.json') continue;
      const scenario = path.slice(out.length + 1).replace(/-?\d{4}-\d\d-\d\dT.*$/, '');
      for (const check of JSON.parse(readFileSync(path))) {
        // Several checks can have one id.
        const known = checks.get(`${scenario} ${check.id}`) ?? { passed: 0, failed: 0, why: '' };
        if (check.status === 'SUCCESS') known.passed += 1;
        if (check.status === 'FAILURE') {
          known.failed += 1;
          known.why = check.errorMessage ?? '';
        }
        checks.set(`${scenario} ${check.id}`, known);
      }
    }
  };
  visit(out);
  return checks;
}

/** Lists everything in one session. The pack accepts what the first session sees, and the suite has many sessions. */
async function pin(url) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const post = (method, params = {}) => fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: method, method, params }) });
  const response = await post('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'pins', version: '1' } });
  headers['mcp-session-id'] = response.headers.get('mcp-session-id');
  for (const list of ['tools', 'prompts', 'resources', 'resources/templates']) {
    if (!(await (await post(`${list}/list`)).text()).includes('"result"')) throw new Error(`${url} does not list ${list}`);
  }
}

const count = (checks, field) => [...checks.values()].reduce((sum, check) => sum + check[field], 0);
let worse = 0;

/** Reports checks that are worse than directly. */
function compare(name, direct, proxied, isExcluded = () => false) {
  const lost = [...direct].filter(([id, check]) => {
    const other = proxied.get(id) ?? { passed: 0, failed: 0 };
    return !isExcluded(id) && check.passed > 0 && (other.passed < check.passed || other.failed > check.failed);
  });
  const left = [...direct.keys()].filter(isExcluded).length;
  console.log(`${name}: directly ${count(direct, 'passed')} passed, ${count(direct, 'failed')} failed; through Midrail ${count(proxied, 'passed')} passed, ` +
    `${count(proxied, 'failed')} failed; worse: ${lost.length}${left ? `; not compared: ${left} ids` : ''}`);
  for (const [id] of lost) console.log(`  worse: ${id}: ${proxied.get(id)?.why ?? 'did not run'}`);
  worse += lost.length;
  if (count(direct, 'passed') === 0) throw new Error('no check passed directly: the suite did not run');
}

const direct = await start(process.execPath, [join(lab, 'server.mjs'), '0']);
writeFileSync(join(world, 'pack.yaml'), `pack: conformance
mcp:
  first_seen: pin
  sampling: allow
  elicitation: allow
  servers:
    suite: {url: "${direct}"}
`);
const home = { ...process.env, HOME: world, XDG_STATE_HOME: join(world, 'state'), MIDRAIL: midrail, MIDRAIL_PACK: join(world, 'pack.yaml') };
const service = await start(midrail, ['serve', '--mcp', '--memory', '--listen', '127.0.0.1:0', '--pack', join(world, 'pack.yaml')], { env: home });
const bridge = await start(process.execPath, [join(lab, 'bridge.mjs'), midrail, 'mcp', 'wrap', '--server', 'suite', '--url', direct, '--pack', join(world, 'pack.yaml'), '--store', join(world, 'wrap.db')], { env: home });

await pin(`${service}/mcp/suite`);
await pin(bridge);

// The bridge, not Midrail, answers what concerns HTTP.
const ofHttp = (id) => /dns-rebinding|session-lifecycle|sse-|header|stateless/.test(id);
for (const revision of ['2025-11-25', '2026-07-28']) {
  const of = (name, url) => run(`server-${name}-${revision}`, ['server', '--url', url, '--requirements', revision]);
  const checks = await of('direct', direct);
  compare(`server ${revision}, serve --mcp`, checks, await of('serve', `${service}/mcp/suite`));
  compare(`server ${revision}, wrap --url`, checks, await of('wrap', bridge), ofHttp);
}
const scenarios = { '2025-11-25': ['initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry'],
  '2026-07-28': ['tools_call', 'request-metadata', 'http-standard-headers', 'http-custom-headers', 'http-invalid-tool-headers', 'sep-2322-client-request-state', 'json-schema-ref-no-deref'] };
for (const [revision, names] of Object.entries(scenarios)) {
  for (const name of names) {
    const of = (kind) => run(`client-${kind}-${revision}-${name}`, ['client', '--command', `${process.execPath} ${join(lab, 'client.mjs')}`, '--scenario', name, '--spec-version', revision],
      { ...home, MCP_PROXY: kind === 'wrap' ? '1' : '', MCP_REVISION: revision });
    compare(`client ${revision} ${name}, wrap --url`, await of('direct'), await of('wrap'));
  }
}
console.log(worse ? `${worse} ids are worse through Midrail` : 'no check is worse through Midrail');
process.exit(worse ? 1 : 0);
