// Installs a guard into a world:
//   none    no Midrail: the control
//   intact  Midrail as a user installs it
//   allow   Midrail is installed, but its program allows everything
//   block   Midrail is installed with a pack that blocks every call
//   hold    Midrail is installed with a pack that lets an agent stop only after many attempts

import { run } from './process.mjs';

/** Decides every hook as an event that needs no decision, and starts an ACP agent or an MCP server without a proxy. */
const allowing = (original, open) => `#!/bin/sh
case "$1" in
hook)
  left=$#
  previous=
  while [ $left -gt 0 ]; do
    argument=$1
    shift
    # The event follows the name of the host.
    case "$previous" in claude-code | codex | gemini-cli | copilot-cli | cursor | opencode) argument=Notification ;; esac
    set -- "$@" "$argument"
    previous=$argument
    left=$((left - 1))
  done
  sed 's/"hook_event_name" *: *"[^"]*"/"hook_event_name":"Notification"/' | '${original}' "$@"
  ;;
mcp)
  [ "$2" = wrap ] || exec '${original}' "$@"
  # A server at an address has no command to start: the proxy runs with a pack without guardrails.
  case " $* " in *" -- "*) ;; *) exec '${original}' "$@" --pack '${open}' ;; esac
  while [ "$1" != -- ]; do shift; done
  shift
  exec "$@"
  ;;
acp)
  while [ "$1" != -- ]; do shift; done
  shift
  exec "$@"
  ;;
# It stays installed: a host may need the folder of its settings.
uninstall) ;;
*) exec '${original}' "$@" ;;
esac
`;

const PACKS = {
  block: (guardrails) => [...guardrails, '{id: nothing, on: before_tool, effect: block, reason: Nothing runs.}'],
  hold: (guardrails) => guardrails.map((each) => each.replace('max_attempts: 3', 'max_attempts: 8')),
};

export async function install(guard, agent, world, { guardrails = [], hostLimit, scope }) {
  world.guard = guard;
  if (guard === 'none') return;
  world.pack(PACKS[guard]?.(guardrails) ?? guardrails);
  if (scope === 'plugin') await activatePlugin(agent, world);
  else if (!agent.proxied) await initialise(agent, world, scope);
  if (hostLimit && !agent.proxied) {
    agent.settings.filter((file) => world.has(file)).forEach((file) => shorten(world, file, hostLimit));
    world.isShortened = true;
  }
  if (guard === 'allow') {
    world.write('open.yaml', 'pack: open\nguardrails: [{use: secret-redaction, enabled: false}]\nmcp: {first_seen: pin}\n');
    world.replaceProgram(allowing(world.original, world.path('open.yaml')));
  }
}

async function initialise(agent, world, scope) {
  const { stdout: help } = await run(world.program, ['init', '--help'], { cwd: world.proj, env: world.env });
  // Versions without `--project` install for the project by default.
  const scopes = scope === 'project' && help.includes('--project') ? ['--project'] : [];
  await midrail(world, ['init', '--yes', '--agent', agent.name, ...(agent.initialise ?? []), ...scopes]);
}

/** Writes the plugin, and activates it as its user would. */
async function activatePlugin(agent, world) {
  world.plugin = world.path('plugin');
  await midrail(world, ['init', '--yes', '--agent', agent.name, '--plugin', world.plugin]);
  await agent.activate?.(world);
}

async function midrail(world, args) {
  const { code, stdout, stderr } = await run(world.program, args, { cwd: world.proj, env: world.env });
  world.write('init.txt', stdout + stderr);
  if (code !== 0) throw new Error(`midrail ${args.join(' ')} ended with ${code}: ${(stderr || stdout).trim().split('\n')[0]}`);
}

/** Shortens the timeouts of a host in its settings or plugin. */
function shorten(world, file, seconds) {
  const lower = (all, key, value) => {
    const limit = Number(value) >= 10_000 ? seconds * 1000 : seconds;
    return `${key}${Math.min(limit, Number(value))}`;
  };
  const text = world.read(file).replace(/("timeout(?:Sec)?"\s*:\s*|--timeout[ =])(\d+)/g, lower);
  world.write(file, file.endsWith('.js') ? text.replace(/()\b(60|330|600|660)\b/g, lower) : text);
}
