// The behaviours of MCP servers behind the proxy: the reference servers and that of the kit, which `midrail init` puts behind it in the
// file of the agent. Except for `proxy-once`, the hooks of the agent are removed, so that the proxy decides alone.

import fs from 'node:fs';
import { resultOf, TOOL } from './mcp-address.mjs';
import { FROZEN, lines, OLD_TEXT, SECRETS } from './world.mjs';

const NAMES = ['proxy-call', 'proxy-guard', 'proxy-changed', 'proxy-once', 'proxy-address'];
const CHANGED = 'Show the configuration of every project';
const ECHO = 'through the proxy';

const turn = (...calls) => ({ calls });
const end = { text: 'All is done.' };
const listIf = (condition, text) => (condition ? [text] : []);

/** The limits of an agent that starts no servers in this kit. */
export const PROXY_ROWS = (why) => Object.fromEntries(NAMES.map((name) => [name, { skip: true, why, instead: 'the rows `mcp` and `mcp-secret`' }]));

/** The servers of a world. */
export function referenceServers(world, kit) {
  const server = (...args) => ({ command: process.execPath, args });
  return {
    files: server(world.lab.filesystemServer, world.proj),
    everything: server(world.lab.everythingServer, 'stdio'),
    kit: server(kit, world.path('description.txt')),
  };
}

/** Removes the hooks of the agent, and keeps its other settings. */
function removeHooks(world, agent) {
  for (const file of agent.settings.filter((each) => world.has(each))) {
    if (file === agent.servers) {
      const { hooks, ...rest } = JSON.parse(world.read(file));
      world.write(file, JSON.stringify(rest, null, 2));
    } else {
      fs.rmSync(world.path(file));
    }
  }
}

/** What is missing if the agent's own file does not start each server behind the proxy. */
const unwrapped = (world, agent) => listIf(
  world.guard !== 'none' && (world.read(agent.servers).match(/\bwrap\b/g) ?? []).length < Object.keys({ ...world.servers, ...world.addresses }).length,
  'the file of the agent starts a server without the proxy',
);

const row = (behaviour) => ({
  alone: true,
  servers: !behaviour.addresses,
  before: (world, agent) => { world.missing = unwrapped(world, agent); removeHooks(world, agent); },
  ...behaviour,
  lacks: (world, model, seen) => [...(world.missing ?? []), ...(behaviour.lacks?.(world, model, seen) ?? [])],
});

export const proxied = [
  row({
    name: 'proxy-call',
    title: 'the reference MCP servers `filesystem` and `everything` work behind the proxy',
    permits: true,
    broken: 'block',
    scripts: (world, agent) => ({
      main: [
        turn(agent.calls.mcp('read_text_file', { path: world.path('proj/notes.txt') }, 'files')),
        turn(agent.calls.mcp('echo', { message: ECHO }, 'everything')),
      ],
    }),
    items: ['the model did not receive the file', 'the model did not receive the echo'],
    bad(world, model) {
      return [...listIf(!model.saw(OLD_TEXT.trim()), this.items[0]), ...listIf(!model.saw(`Echo: ${ECHO}`), this.items[1])];
    },
  }),
  row({
    name: 'proxy-guard',
    title: 'behind the proxy, a denied call of an MCP tool is refused with the reason, and a secret in `content` and `structuredContent` does not reach the model',
    guardrails: [`{id: no-writes, tools: "mcp__files__write_file", effect: block, reason: ${FROZEN}}`],
    scripts(world, agent) {
      world.write('proj/settings.txt', SECRETS.mcp.text);
      return {
        main: [
          turn(agent.calls.mcp('read_text_file', { path: world.path('proj/settings.txt') }, 'files')),
          turn(agent.calls.mcp('write_file', { path: world.path('proj/denied.txt'), content: 'x' }, 'files')),
        ],
      };
    },
    items: ['the model received the secret', 'the denied call was made'],
    bad(world, model) {
      const { id, key } = SECRETS.mcp;
      return [...listIf(model.saw(id) || model.saw(key), this.items[0]), ...listIf(world.has('proj/denied.txt'), this.items[1])];
    },
    lacks: (world, model) => [
      ...listIf(!model.saw(SECRETS.mcp.region), 'the model did not receive the rest of the result'),
      ...listIf(!model.saw(FROZEN), 'the model did not receive the reason'),
    ],
  }),
  row({
    name: 'proxy-changed',
    title: 'a definition of an MCP tool that changed between two sessions does not reach the model, and the other tools work',
    scripts: (world, agent) => ({
      main: [
        turn(agent.calls.mcp('show_config', {})),
        async () => { world.write('description.txt', CHANGED); return end; },
      ],
      next: [...(agent.calls.load ? [turn(agent.calls.load('show_config'))] : []), turn(agent.calls.mcp('run_command', { command: 'echo done > proxied.log' }))],
    }),
    items: ['the model received the changed definition'],
    bad(world, model) { return listIf(model.saw(CHANGED), this.items[0]); },
    lacks: (world, model) => [
      ...listIf(!model.saw(SECRETS.mcp.region), 'the tool did not work before the change'),
      ...listIf(!world.has('proj/proxied.log'), 'another tool of the server did not work after the change'),
    ],
  }),
  row({
    name: 'proxy-once',
    title: 'a call that hook and proxy see has one record, and so has its result',
    before: (world, agent) => { world.missing = unwrapped(world, agent); },
    scripts: (world, agent, seen) => ({
      main: [
        turn(agent.calls.mcp('echo', { message: ECHO }, 'everything')),
        async () => {
          seen.kinds = world.original ? kinds(lines((await world.midrail('audit', 'list', '--json')).stdout)) : [];
          return end;
        },
      ],
    }),
    items: ['the call and its result do not have one record each'],
    bad(world, model, { kinds: found = [] }) { return listIf(found.join() !== 'after_tool,before_tool', this.items[0]); },
    lacks: (world, model) => listIf(!model.saw(`Echo: ${ECHO}`), 'the model did not receive the result'),
  }),
  row({
    name: 'proxy-address',
    title: 'MCP servers at an address work behind the proxy in each form that the agent reads, and a secret in their results does not reach the model',
    addresses: true,
    scripts: (world, agent) => ({
      main: Object.keys(world.addresses).flatMap((name) => [
        ...(agent.calls.load ? [turn(agent.calls.load(TOOL, name))] : []),
        turn(agent.calls.mcp(TOOL, {}, name)),
      ]),
    }),
    items: ['the model received the secret'],
    bad(world, model) {
      const { id, key } = SECRETS.mcp;
      // Without Midrail, all servers must answer: each entry has a form that the agent reads.
      const isMeant = world.guard !== 'none' || silent(world, model).length === 0;
      return listIf(isMeant && (model.saw(id) || model.saw(key)), this.items[0]);
    },
    lacks: (world, model) => silent(world, model).map((name) => `the model did not receive the result of the server \`${name}\``),
  }),
];

/** The servers at an address whose results the model did not receive. */
const silent = (world, model) => Object.keys(world.addresses).filter((name) => !model.saw(resultOf(name)));

/** The kinds of the records about the call, whose tool each agent spells in its own way. */
const kinds = (records) => records.filter(({ tool }) => /everything.*echo/.test(tool ?? '')).map(({ kind }) => kind).sort();
