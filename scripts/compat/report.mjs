// Formats an outcome as a table for terminals and in Markdown.

export const legend = '✓ passed   ✗ failed   – not possible with this host   ? could not be run';

const find = (outcome, agent, behaviour) => outcome.cells.find((cell) => cell.agent === agent.name && cell.behaviour === behaviour.name);

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

export function notes(outcome) {
  return reasons(outcome)
    .map((each) => `${each.value} ${each.behaviour}, ${each.agents.join(', ')}: ${each.why}${each.folder ? `\n    ${each.folder}` : ''}`)
    .join('\n');
}

export function markdown(outcome) {
  const row = (cells) => `| ${cells.join(' | ')} |`;
  const escaped = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const cell = (agent, behaviour) => {
    const { value, why } = find(outcome, agent, behaviour);
    return value === '✓' && why ? '✓*' : value;
  };
  return [
    `${outcome.midrail}, ${outcome.date}${outcome.loopback_only ? ', without a network except loopback' : ''}.`,
    '',
    row(['', ...outcome.agents.map((agent) => agent.title)]),
    row(['---', ...outcome.agents.map(() => ':-:')]),
    row(['version', ...outcome.agents.map((agent) => agent.version)]),
    ...outcome.behaviours.map((behaviour) => row([escaped(behaviour.title), ...outcome.agents.map((agent) => cell(agent, behaviour))])),
    '',
    `${legend}.`.replaceAll('   ', '; '),
    '',
    ...reasons(outcome).map((each) => `- ${each.value} \`${each.behaviour}\`, ${each.agents.join(', ')}: ${escaped(each.why)}`),
    '',
  ].join('\n');
}
