// Runs real coding agents with Midrail against a scripted model, and prints which behaviours pass.
//   node scripts/compat/run.mjs --help

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { AGENTS } from './agents/index.mjs';
import { behaviours, combine, NEXT_PROMPT } from './behaviours.mjs';
import { install } from './guards.mjs';
import { Lab, version } from './lab.mjs';
import { AddressServers } from './mcp-address.mjs';
import { Model } from './model.mjs';
import { endAll, inside, insideNamespace, run } from './process.mjs';
import { complete, legend, notes, table, writePage } from './report.mjs';
import { exitCode, HOLDS, HOST, NOT_RUN, proof, verdict } from './verdict.mjs';
import { World } from './world.mjs';
import { referenceServers } from './proxied.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MCP_SERVER = fileURLToPath(new URL('mcp-server.mjs', import.meta.url));
const PAGE = path.join(ROOT, 'docs', 'guide', 'compatibility.md');
const LIMIT = 150;
const SECONDS_PER_TURN = 8;

const HELP = `node scripts/compat/run.mjs [OPTIONS]

  --agent NAME        only this agent; can be given several times
  --behaviour NAME    only this behaviour; can be given several times
  --midrail PATH      the program [default: target/release/midrail, else target/debug/midrail]
  --lab DIR           where the agents are installed and run [default: $MIDRAIL_COMPAT_LAB, else target/compat]
  --quick             skip the controls and the broken guards: a pass then proves little
  --allow-missing     accept agents that could not be installed
  --jobs N            how many agents run at the same time [default: 2]
  --json FILE         write the outcome as JSON
  --page              write the outcome to docs/guide/compatibility.md
  --keep              keep the folders of all runs, not only of failed ones
  --list              list agents and behaviours, and run nothing
  --help              show this help

Exit codes: 0 every cell holds or shows a known limit of its host; 1 a cell failed, is not proved or was not run; 2 nothing was run.`;

const OPTIONS = {
  agent: { type: 'string', multiple: true, default: [] },
  behaviour: { type: 'string', multiple: true, default: [] },
  midrail: { type: 'string' },
  lab: { type: 'string', default: process.env.MIDRAIL_COMPAT_LAB || path.join(ROOT, 'target', 'compat') },
  quick: { type: 'boolean', default: false },
  'allow-missing': { type: 'boolean', default: false },
  jobs: { type: 'string', default: '2' },
  json: { type: 'string' },
  page: { type: 'boolean', default: false },
  keep: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

const log = (text) => process.stderr.write(`${text}\n`);

function fail(text) {
  log(text);
  process.exit(2);
}

function parseOptions() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    return fail(`${error.message}\n\n${HELP}`);
  }
}

/** The named items in the order of the list; all if none is named. */
function select(list, names, what) {
  const unknown = names.find((name) => !list.some((each) => each.name === name));
  if (unknown) fail(`unknown ${what} \`${unknown}\`; there are: ${list.map((each) => each.name).join(', ')}`);
  return names.length ? list.filter((each) => names.includes(each.name)) : list;
}

function findProgram(given) {
  const places = given ? [path.resolve(given)] : ['release', 'debug'].map((each) => path.join(ROOT, 'target', each, 'midrail'));
  return places.find((place) => fs.existsSync(place)) ?? fail(`there is no ${places.join(' and no ')}: build Midrail, or name it with --midrail`);
}

/** Midrail allows deletion below temporary folders, so a lab there would prove nothing. */
function checkLab(folder) {
  const lab = path.resolve(folder);
  const temporary = ['/tmp', '/var/tmp', process.env.TMPDIR].filter(Boolean).find((each) => `${lab}/`.startsWith(`${path.resolve(each)}/`));
  return temporary ? fail(`the lab cannot be below ${temporary}, where Midrail allows deletion: choose another folder with --lab`) : lab;
}

class Kit {
  constructor(lab, midrail, asked, { keep, quick }) {
    Object.assign(this, { lab, midrail, asked, keep, quick, shared: new Map() });
  }

  /** One run of one agent: a session, and a second one if the script has a `next`. Turns of the script store what they see in `seen`. */
  async play(agent, name, guard, behaviour) {
    const world = new World(this.lab, agent.name, name, guard === 'none' ? undefined : this.midrail);
    world.guard = guard;
    world.asks = behaviour.asks;
    if (behaviour.mcp) world.mcp = { command: process.execPath, args: [MCP_SERVER] };
    if (behaviour.servers) world.servers = referenceServers(world, MCP_SERVER);
    const remote = behaviour.addresses && await new AddressServers().start();
    if (remote) world.addresses = agent.addresses((name) => remote.at(name));
    const seen = {};
    const model = new Model(behaviour.scripts(world, agent, seen), world.path('model'));
    seen.model = model;
    await model.start();
    try {
      agent.prepare?.(world, model);
      await install(guard, agent, world, behaviour);
      if (guard === 'intact') await behaviour.before?.(world, agent);
      const settings = (agent.settings ?? []).filter((file) => world.has(file)).map((file) => [file, world.read(file)]);
      const session = (prompt) => this.session(agent, world, model, prompt, behaviour);
      let result = await session(behaviour.prompt);
      if (model.scripts.next) {
        // A broken guard stays installed, whatever the first session removed.
        if (guard === 'allow') settings.forEach(([file, text]) => world.write(file, text));
        const next = await session(NEXT_PROMPT);
        result = { ...next, late: result.late || next.late };
      }
      return { world, model, seen, result };
    } finally {
      await remote?.stop();
      await model.stop();
    }
  }

  session(agent, world, model, prompt, { limit, hostLimit }) {
    const seconds = Math.min(limit ?? Infinity, Math.max(agent.limit ?? LIMIT, model.scripts.main.length * SECONDS_PER_TURN));
    return agent.drive
      ? agent.drive(world, model, prompt, { guarded: world.guard !== 'none', limit: seconds, hostLimit })
      : this.headless(agent, world, model, prompt, seconds);
  }

  async headless(agent, world, model, prompt, limit) {
    const { program: file, args, env } = agent.command(world, model, prompt);
    const result = await run(file, args, { cwd: world.proj, env: { ...world.env, ...env }, limit });
    world.write('stdout.txt', world.read('stdout.txt') + result.stdout);
    world.write('stderr.txt', world.read('stderr.txt') + result.stderr);
    return result;
  }

  /** The run of a control or of a broken guard: one for all behaviours that need none of their own. */
  reference(agent, behaviour, guard) {
    const isShared = ({ alone, broken, name }) => !alone && broken === behaviour.broken && !limitOf(agent, name)?.skip && isPossible(agent, name);
    const name = behaviour.alone ? `${guard}-${behaviour.name}` : `${guard}-for-${behaviour.broken}`;
    const key = `${agent.name} ${name}`;
    if (!this.shared.has(key)) {
      const played = behaviour.alone ? behaviour : combine(this.asked.filter(isShared));
      this.shared.set(key, this.play(agent, name, guard, played));
    }
    return this.shared.get(key);
  }

  async unproved(agent, behaviour) {
    if (this.quick) return '';
    const control = observe(behaviour, await this.reference(agent, behaviour, 'none'));
    const broken = observe(behaviour, await this.reference(agent, behaviour, behaviour.broken));
    return proof(behaviour, control, broken);
  }

  async cell(agent, behaviour) {
    if (agent.missing) return { value: NOT_RUN, why: agent.missing, missing: true };
    const limit = limitOf(agent, behaviour.name);
    if (behaviour.servers && this.lab.noServers) return { value: NOT_RUN, why: this.lab.noServers, missing: true };
    if (limit?.skip) return { value: HOST, why: limit.why, instead: limit.instead };
    if (!isPossible(agent, behaviour.name)) return { value: NOT_RUN, why: 'the kit cannot make this call with this agent' };
    try {
      const unproved = await this.unproved(agent, behaviour);
      const played = await this.play(agent, behaviour.name, 'intact', behaviour);
      const { mayStaySilent, patient } = behaviour;
      const cell = verdict({ guarded: observe(behaviour, played), limit, unproved, mayStaySilent, patient });
      if (cell.value === HOLDS && !this.keep) fs.rmSync(played.world.dir, { recursive: true, force: true });
      else cell.folder = played.world.dir;
      return cell;
    } catch (error) {
      return { value: NOT_RUN, why: error.message };
    }
  }
}

const limitOf = (agent, name) => agent.limits?.[name];
const isPossible = (agent, name) => (name !== 'sub-agent' || agent.calls.delegate) && (!/^(mcp|proxy)/.test(name) || agent.calls.mcp);

/** What a run showed about a behaviour. */
function observe(behaviour, { world, model, seen, result }) {
  return {
    reached: model.turnsOf('main') > 0,
    bad: behaviour.bad(world, model, seen),
    lacks: behaviour.lacks(world, model, seen),
    late: result.late,
    output: lastOutput(world, result),
  };
}

/** The last output of a client. */
function lastOutput(world, result) {
  if (result.late) return 'the time was over';
  const output = result.failed || world.read('stderr.txt').trim() || world.read('stdout.txt').trim();
  return (output.split('\n').pop() || `it ended with ${result.code} without output`).slice(0, 200);
}

async function main() {
  const given = parseOptions();
  if (given.help) return console.log(HELP);
  const agents = select(AGENTS, given.agent, 'agent');
  const asked = select(behaviours, given.behaviour, 'behaviour');
  if (given.list) {
    console.log(`agents\n${agents.map((each) => `  ${each.name.padEnd(14)} ${each.title} ${versionOf(each)}`).join('\n')}`);
    return console.log(`\nbehaviours\n${asked.map((each) => `  ${each.name.padEnd(21)} ${each.title}`).join('\n')}`);
  }
  const source = findProgram(given.midrail);
  const lab = new Lab(checkLab(given.lab));
  const missing = Object.fromEntries(agents.flatMap((agent) => {
    const why = agent.needs.map(([folder, file]) => (inside() ? undefined : lab.install(folder, file))).find(Boolean);
    return why ? [[agent.name, why]] : [];
  }));
  const noServers = !inside() && asked.some(({ servers }) => servers) && lab.install('servers', 'filesystemServer');
  if (noServers) missing.servers = noServers;
  if (!inside()) {
    const known = process.env.MIDRAIL_COMPAT_MISSING;
    process.env.MIDRAIL_COMPAT_MISSING = JSON.stringify(missing);
    const code = insideNamespace(process.argv.slice(1));
    if (code !== null) process.exit(code);
    process.env.MIDRAIL_COMPAT_MISSING = known ?? '';
    log('This machine allows no network namespace: the agents could reach the network.');
  }
  const absent = inside() ? JSON.parse(process.env.MIDRAIL_COMPAT_MISSING || '{}') : missing;
  for (const agent of agents) agent.missing = absent[agent.name] && `could not be installed: ${absent[agent.name]}`;

  lab.noServers = absent.servers && `the reference servers could not be installed: ${absent.servers}`;
  fs.mkdirSync(lab.runs, { recursive: true });
  // A copy next to the runs: they link to it, and some of them remove it.
  const folder = fs.mkdtempSync(path.join(lab.runs, 'program-'));
  const copy = path.join(folder, 'midrail');
  fs.copyFileSync(source, copy);
  fs.chmodSync(copy, 0o755);
  const kit = new Kit(lab, copy, asked, given);
  const { stdout } = await run(copy, ['--version'], { env: process.env });
  const started = new Date();
  const cells = [];
  const outcome = {
    midrail: stdout.trim(),
    date: started.toISOString().slice(0, 10),
    loopback_only: inside(),
    proved: !given.quick,
    agents: agents.map((agent) => ({ name: agent.name, title: agent.title, version: versionOf(agent) })),
    behaviours: asked.map(({ name, title }) => ({ name, title })),
    cells,
  };
  await runAll(agents.flatMap((agent) => asked.map((behaviour) => ({ agent, behaviour }))), Number(given.jobs) || 1, async ({ agent, behaviour }, at) => {
    const begun = Date.now();
    const cell = await kit.cell(agent, behaviour);
    const seconds = secondsSince(begun);
    log(`${cell.value} ${agent.name} ${behaviour.name} (${seconds} s)${cell.why ? `: ${cell.why}` : ''}`);
    cells[at] = { agent: agent.name, behaviour: behaviour.name, ...cell, seconds };
    // After each cell, so that an interrupted run leaves its results.
    if (given.json) fs.writeFileSync(given.json, `${JSON.stringify({ ...outcome, cells: cells.filter(Boolean), seconds: secondsSince(started) }, null, 2)}\n`);
  });
  fs.rmSync(folder, { recursive: true, force: true });
  console.log(`\n${table(outcome)}\n\n${legend}\n${notes(outcome)}\n${secondsSince(started)} seconds`);
  if (given.page) writePage(PAGE, complete(outcome, AGENTS, behaviours));
  process.exitCode = exitCode(cells, { allowMissing: given['allow-missing'] });
  return undefined;
}

const secondsSince = (time) => Math.round((Date.now() - time) / 1000);
const versionOf = (agent) => version(agent.needs[0][0]);

/** Runs a task for each item of a list, a few at the same time. */
async function runAll(list, jobs, task) {
  let next = 0;
  const worker = async () => {
    while (next < list.length) {
      const at = next;
      next += 1;
      await task(list[at], at);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => { endAll(); process.exit(130); });
process.once('exit', endAll);
await main();
