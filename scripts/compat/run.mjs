// Runs real coding agents with Midrail against a scripted model, and prints which behaviours pass.
//   node scripts/compat/run.mjs --help

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { acpAgents } from './agents/acp.mjs';
import claudeCode from './agents/claude-code.mjs';
import codex from './agents/codex.mjs';
import copilotCli from './agents/copilot-cli.mjs';
import cursor from './agents/cursor.mjs';
import geminiCli from './agents/gemini-cli.mjs';
import opencode from './agents/opencode.mjs';
import { behaviours, unguarded } from './behaviours.mjs';
import { Lab, version } from './lab.mjs';
import { Model } from './model.mjs';
import { endAll, inside, insideNamespace, run } from './process.mjs';
import { legend, markdown, notes, table } from './report.mjs';
import { World } from './world.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const AGENTS = [claudeCode, codex, geminiCli, copilotCli, opencode, cursor, ...acpAgents];
const LIMIT = 150;
const AT_ONCE = 2;

const HELP = `node scripts/compat/run.mjs [OPTIONS]

  --agent NAME        only this agent; can be given several times
  --behaviour NAME    only this behaviour; can be given several times
  --midrail PATH      the program [default: target/release/midrail, else target/debug/midrail]
  --lab DIR           where the agents are installed and run [default: $MIDRAIL_COMPAT_LAB, else target/compat]
  --json FILE         write the outcome as JSON
  --markdown FILE     write the matrix as Markdown
  --keep              keep the folders of all runs, not only of failed ones
  --list              list agents and behaviours, and run nothing
  --help              show this help

Exit codes: 0 every behaviour passed, 1 one failed, 2 could not be run.`;

const OPTIONS = {
  agent: { type: 'string', multiple: true, default: [] },
  behaviour: { type: 'string', multiple: true, default: [] },
  midrail: { type: 'string' },
  lab: { type: 'string', default: process.env.MIDRAIL_COMPAT_LAB || path.join(ROOT, 'target', 'compat') },
  json: { type: 'string' },
  markdown: { type: 'string' },
  keep: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

const say = (text) => process.stderr.write(`${text}\n`);

function stop(text) {
  say(text);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    return stop(`${error.message}\n\n${HELP}`);
  }
}

/** The named items in the order of the list; all if none is named. */
function chosen(list, names, what) {
  const unknown = names.find((name) => !list.some((each) => each.name === name));
  if (unknown) stop(`unknown ${what} \`${unknown}\`; there are: ${list.map((each) => each.name).join(', ')}`);
  return names.length ? list.filter((each) => names.includes(each.name)) : list;
}

function program(given) {
  const places = given ? [path.resolve(given)] : ['release', 'debug'].map((each) => path.join(ROOT, 'target', each, 'midrail'));
  return places.find((place) => fs.existsSync(place)) ?? stop(`there is no ${places.join(' and no ')}: build Midrail, or name it with --midrail`);
}

/** Midrail allows deletion below temporary folders, so a lab there would prove nothing. */
function settled(folder) {
  const lab = path.resolve(folder);
  const temporary = ['/tmp', '/var/tmp', process.env.TMPDIR].filter(Boolean).find((each) => `${lab}/`.startsWith(`${path.resolve(each)}/`));
  return temporary ? stop(`the lab cannot be below ${temporary}, where Midrail allows deletion: choose another folder with --lab`) : lab;
}

class Kit {
  constructor(lab, midrail, keep) {
    Object.assign(this, { lab, midrail, keep, controls: new Map() });
  }

  /** One run of one agent. Turns of the script store what they see in `seen`. */
  async play(agent, name, { guarded, scripts, prompt, completion, before, hostLimit, limit: ownLimit }) {
    const world = new World(this.lab, agent.name, name, guarded ? this.midrail : undefined);
    const seen = {};
    const model = new Model(scripts(world, agent, seen), world.path('model'));
    seen.model = model;
    await model.start();
    try {
      agent.prepare?.(world, model);
      if (guarded) await this.guard(agent, world, completion, hostLimit);
      if (guarded) await before?.(world);
      const limit = Math.min(ownLimit ?? Infinity, agent.limit ?? LIMIT);
      const result = agent.drive
        ? await agent.drive(world, model, prompt, { guarded, limit, hostLimit })
        : await this.headless(agent, world, model, prompt, limit);
      return { world, model, seen, result };
    } finally {
      await model.stop();
    }
  }

  async headless(agent, world, model, prompt, limit) {
    const { program: file, args, env } = agent.command(world, model, prompt);
    const result = await run(file, args, { cwd: world.proj, env: { ...world.env, ...env }, limit });
    world.write('stdout.txt', result.stdout);
    world.write('stderr.txt', result.stderr);
    return result;
  }

  /** Installs Midrail as a user does. */
  async guard(agent, world, completion, hostLimit) {
    world.pack({ completion });
    if (agent.proxied) return;
    const flags = agent.initialise ?? [];
    const { code, stdout, stderr } = await run(world.program, ['init', '--yes', '--agent', agent.name, ...flags], { cwd: world.proj, env: world.env });
    world.write('init.txt', stdout + stderr);
    if (code !== 0) throw new Error(`midrail init ended with ${code}: ${(stderr || stdout).trim().split('\n')[0]}`);
    if (!hostLimit) return;
    agent.settings.filter((file) => world.has(file)).forEach((file) => shorten(world, file, hostLimit));
    world.isShortened = true;
  }

  /** The same without Midrail: one run for all behaviours that need none of their own. */
  control(agent, behaviour) {
    const name = behaviour.alone ? `unguarded-${behaviour.name}` : 'unguarded';
    const key = `${agent.name} ${name}`;
    if (!this.controls.has(key)) {
      const { scripts, prompt } = behaviour.alone ? behaviour : unguarded;
      this.controls.set(key, this.play(agent, name, { guarded: false, scripts, prompt }));
    }
    return this.controls.get(key);
  }

  async cell(agent, behaviour) {
    if (agent.missing) return { value: '?', why: agent.missing };
    const why = agent.cannot?.[behaviour.name];
    if (why) return { value: '–', why };
    if (behaviour.name === 'sub-agent' && !agent.calls.delegate) return { value: '–', why: 'it has no sub-agents' };
    try {
      const control = await this.control(agent, behaviour);
      if (control.model.turnsOf('main') === 0) {
        return { value: '?', why: `it does not reach the model, even without Midrail: ${last(control.world, control.result)}` };
      }
      if (behaviour.control && !behaviour.control(control.world, control.model)) {
        return { value: '–', why: 'the agent refuses it itself, so there is nothing to block' };
      }
      const { world, model, seen, result } = await this.play(agent, behaviour.name, { guarded: true, ...behaviour });
      const cell = await this.judge(behaviour, world, model, seen, result, agent);
      if (cell.value === '✓' && !this.keep) fs.rmSync(world.dir, { recursive: true, force: true });
      else cell.folder = world.dir;
      return cell;
    } catch (error) {
      return { value: '?', why: error.message };
    }
  }

  async judge(behaviour, world, model, seen, result, agent) {
    if (model.turnsOf('main') === 0 && !behaviour.silent) {
      return { value: '✗', why: `the model cannot be reached any more: ${last(world, result)}` };
    }
    const { held, why, isHost } = await behaviour.judge(world, model, seen);
    const open = agent.open?.[behaviour.name];
    if (isHost && open) return { value: '–', why: open };
    if (!held) return { value: '✗', why };
    if (result.late && behaviour.patient) return { value: '✓', why: 'the agent waits as long as the program' };
    if (result.late) return { value: '✗', why: 'it passed, but the agent did not end in time' };
    const silent = behaviour.tells && !model.saw(behaviour.tells);
    return { value: '✓', why: silent ? 'but the model did not receive the reason' : '' };
  }
}

/** The last output of a client. */
function last(world, result) {
  if (result.late) return 'the time was over';
  const output = result.failed || world.read('stderr.txt').trim() || world.read('stdout.txt').trim();
  return (output.split('\n').pop() || `it ended with ${result.code} without output`).slice(0, 200);
}

/** Shortens the timeouts of a host in its settings or plugin. */
function shorten(world, file, seconds) {
  const lower = (all, key, value) => {
    const limit = Number(value) >= 10_000 ? seconds * 1000 : seconds;
    return `${key}${Math.min(limit, Number(value))}`;
  };
  const text = world.read(file).replace(/("timeout(?:Sec)?"\s*:\s*|--timeout[ =])(\d+)/g, lower);
  world.write(file, file.endsWith('.js') ? text.replace(/()\b(60|330|600)\b/g, lower) : text);
}

async function main() {
  const given = options();
  if (given.help) return console.log(HELP);
  const agents = chosen(AGENTS, given.agent, 'agent');
  const asked = chosen(behaviours, given.behaviour, 'behaviour');
  if (given.list) {
    console.log(`agents\n${agents.map((each) => `  ${each.name.padEnd(14)} ${each.title} ${versionOf(each)}`).join('\n')}`);
    return console.log(`\nbehaviours\n${asked.map((each) => `  ${each.name.padEnd(14)} ${each.title}`).join('\n')}`);
  }
  const source = program(given.midrail);
  const lab = new Lab(settled(given.lab));
  const missing = Object.fromEntries(agents.flatMap((agent) => {
    const why = agent.needs.map(([folder, file]) => (inside() ? undefined : lab.install(folder, file))).find(Boolean);
    return why ? [[agent.name, why]] : [];
  }));
  if (!inside()) {
    const known = process.env.MIDRAIL_COMPAT_MISSING;
    process.env.MIDRAIL_COMPAT_MISSING = JSON.stringify(missing);
    const code = insideNamespace(process.argv.slice(1));
    if (code !== null) process.exit(code);
    process.env.MIDRAIL_COMPAT_MISSING = known ?? '';
    say('This machine allows no network namespace: the agents could reach the network.');
  }
  const absent = inside() ? JSON.parse(process.env.MIDRAIL_COMPAT_MISSING || '{}') : missing;
  for (const agent of agents) agent.missing = absent[agent.name] && `could not be installed: ${absent[agent.name]}`;

  fs.mkdirSync(lab.runs, { recursive: true });
  // A copy next to the runs: they link to it, and some of them remove it.
  const folder = fs.mkdtempSync(path.join(lab.runs, 'program-'));
  const copy = path.join(folder, 'midrail');
  fs.copyFileSync(source, copy);
  fs.chmodSync(copy, 0o755);
  const kit = new Kit(lab, copy, given.keep);
  const { stdout } = await run(copy, ['--version'], { env: process.env });
  const started = new Date();
  const cells = await inTurn(agents.flatMap((agent) => asked.map((behaviour) => ({ agent, behaviour }))), async ({ agent, behaviour }) => {
    const begun = Date.now();
    const cell = await kit.cell(agent, behaviour);
    const seconds = Math.round((Date.now() - begun) / 1000);
    say(`${cell.value} ${agent.name} ${behaviour.name} (${seconds} s)${cell.why ? `: ${cell.why}` : ''}`);
    return { agent: agent.name, behaviour: behaviour.name, ...cell, seconds };
  });
  fs.rmSync(folder, { recursive: true, force: true });

  const outcome = {
    midrail: stdout.trim(),
    date: started.toISOString().slice(0, 10),
    loopback_only: inside(),
    agents: agents.map((agent) => ({ name: agent.name, title: agent.title, version: versionOf(agent) })),
    behaviours: asked.map(({ name, title }) => ({ name, title })),
    cells,
  };
  console.log(`\n${table(outcome)}\n\n${legend}\n${notes(outcome)}`);
  if (given.json) fs.writeFileSync(given.json, `${JSON.stringify(outcome, null, 2)}\n`);
  if (given.markdown) fs.writeFileSync(given.markdown, markdown(outcome));
  process.exitCode = cells.some((cell) => cell.value === '✗') ? 1 : 0;
  return undefined;
}

const versionOf = (agent) => version(agent.needs[0][0]);

/** Runs a task for each item, a few at once; the results are in the order of the list. */
async function inTurn(list, work) {
  const answers = [];
  let next = 0;
  const worker = async () => {
    while (next < list.length) {
      const at = next;
      next += 1;
      answers[at] = await work(list[at]);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return answers;
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => { endAll(); process.exit(130); });
process.once('exit', endAll);
await main();
