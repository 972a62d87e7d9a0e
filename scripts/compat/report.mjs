// Formats an outcome as a table for terminals and as the page of the documentation.
//   node scripts/compat/report.mjs OUTCOME.json [...]    write the page from outcomes of several runs

import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { AGENTS } from './agents/index.mjs';
import { behaviours } from './behaviours.mjs';
import { version } from './lab.mjs';
import { FAILED, HOLDS, HOST, NOT_RUN, UNPROVED } from './verdict.mjs';

const MEANINGS = {
  [HOLDS]: 'holds',
  [FAILED]: 'fails',
  [HOST]: 'the host cannot do it',
  [UNPROVED]: 'not proved: the control or the broken guard did not behave as expected',
  [NOT_RUN]: 'not run',
};

export const legend = Object.entries(MEANINGS).map(([value, meaning]) => `${value} ${meaning}`).join('   ');

const find = (outcome, agent, behaviour) => outcome.cells.find((cell) => cell.agent === agent.name && cell.behaviour === behaviour.name)
  ?? { value: NOT_RUN, why: 'not part of this run' };

export function table(outcome) {
  const wide = Math.max(...outcome.behaviours.map((each) => each.name.length));
  const head = ['', ...outcome.agents.map((agent) => agent.name)];
  const rows = outcome.behaviours.map((behaviour) => [
    behaviour.name,
    ...outcome.agents.map((agent) => find(outcome, agent, behaviour).value),
  ]);
  const width = (column) => (column === 0 ? wide : head[column].length);
  return [head, ...rows].map((row) => row.map((text, column) => text.padEnd(width(column))).join('  ').trimEnd()).join('\n');
}

/** The reasons of cells, with the agents that share them. */
function reasons(outcome) {
  const found = new Map();
  for (const cell of outcome.cells.filter(({ why }) => why)) {
    const key = `${cell.value} ${cell.behaviour}: ${cell.why}`;
    found.set(key, { ...cell, agents: [...(found.get(key)?.agents ?? []), cell.agent] });
  }
  return [...found.values()];
}

const explain = ({ why, instead }) => (instead ? `${why}. Instead: ${instead}` : why);

export function notes(outcome) {
  return reasons(outcome)
    .map((each) => `${each.value} ${each.behaviour}, ${each.agents.join(', ')}: ${explain(each)}${each.folder ? `\n    ${each.folder}` : ''}`)
    .join('\n');
}

const row = (cells) => `| ${cells.join(' | ')} |`;
const escaped = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ').replaceAll('<', '&lt;');

/** A section for each kind of cell that needs an explanation. */
function section(outcome, value, title, intro) {
  const found = reasons(outcome).filter((each) => each.value === value);
  const items = found.map((each) => `- \`${each.behaviour}\`, ${each.agents.join(', ')}: ${escaped(explain(each))}`);
  return found.length ? [`### ${title}`, '', ...(intro ? [intro, ''] : []), ...items, ''] : [];
}

export function markdown(outcome) {
  const cell = (agent, behaviour) => {
    const { value, why } = find(outcome, agent, behaviour);
    return value === HOLDS && why ? `${value}*` : value;
  };
  return [
    `${outcome.midrail}, ${outcome.date}${outcome.loopback_only ? ', without a network except loopback' : ''}.`,
    '',
    row(['', ...outcome.agents.map((agent) => agent.title)]),
    row(['---', ...outcome.agents.map(() => ':-:')]),
    row(['version', ...outcome.agents.map((agent) => agent.version)]),
    ...outcome.behaviours.map((each) => row([`${escaped(each.title)} (\`${each.name}\`)`, ...outcome.agents.map((agent) => cell(agent, each))])),
    '',
    `${legend}.`.replaceAll('   ', '; '),
    '',
    ...section(outcome, HOLDS, 'Holds, with a remark'),
    ...section(outcome, HOST, 'The host cannot do it', 'What the host lacks, and the stricter effect that is used instead, if there is one.'),
    ...section(outcome, FAILED, 'Fails'),
    ...section(outcome, UNPROVED, 'Not proved'),
    ...section(outcome, NOT_RUN, 'Not run'),
  ].join('\n');
}

/** Joins outcomes of several runs; a later one replaces the cells of an earlier one. */
export function merge(outcomes) {
  const unique = (lists, key) => [...new Map(lists.flat().map((each) => [key(each), each])).values()];
  const names = (key) => unique(outcomes.map((each) => each[key]), ({ name }) => name);
  return {
    ...outcomes.at(-1),
    loopback_only: outcomes.every((each) => each.loopback_only),
    proved: outcomes.every((each) => each.proved),
    agents: names('agents'),
    behaviours: names('behaviours'),
    cells: unique(outcomes.map((each) => each.cells), ({ agent, behaviour }) => `${agent} ${behaviour}`),
  };
}

/** Replaces the matrix of the page. */
export function writePage(file, outcome) {
  if (!outcome.proved) throw new Error('the page needs a run with controls: run without --quick');
  const [before, rest] = fs.readFileSync(file, 'utf8').split('<!-- matrix -->\n');
  const after = rest.split('<!-- /matrix -->')[1];
  fs.writeFileSync(file, `${before}<!-- matrix -->\n${markdown(outcome).trimEnd()}\n<!-- /matrix -->${after}`);
}

/** An outcome with all agents and behaviours, in their order; cells without a result were not run. */
export function complete(outcome, agents, behaviours) {
  const cells = agents.flatMap((agent) => behaviours.map((behaviour) => {
    const { value, why, ...more } = find(outcome, agent, behaviour);
    return { agent: agent.name, behaviour: behaviour.name, value, why, ...more };
  }));
  return {
    ...outcome,
    agents: agents.map(({ name, title, needs }) => ({ name, title, version: version(needs[0][0]) })),
    behaviours: behaviours.map(({ name, title }) => ({ name, title })),
    cells,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const outcomes = process.argv.slice(2).map((file) => JSON.parse(fs.readFileSync(file, 'utf8')));
  writePage(fileURLToPath(new URL('../../docs/guide/compatibility.md', import.meta.url)), complete(merge(outcomes), AGENTS, behaviours));
}
