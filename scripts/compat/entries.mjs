// The settings of coding agents with the verdicts of the agent itself (crates/midrail-adapters/tests/policies/data).

import fs from 'node:fs';

/** An entry begins with `== NAME`, then come the settings, a line `--`, and one line per call: VERDICT CALL. */
export function parse(text) {
  return text.split(/^== /m).slice(1).map((part) => {
    const [name, ...rest] = part.split('\n');
    const at = rest.indexOf('--');
    const lines = rest.slice(at + 1).map((line) => line.trim()).filter((line) => line && !line.startsWith('#'));
    const calls = lines.filter((line) => !/^(left out|dead): /.test(line)).map((line) => {
      const [, verdict, call] = /^(\S+)\s+(.*)$/.exec(line);
      return { verdict: verdict.replace('!', ''), call };
    });
    return { name: name.trim(), settings: `${rest.slice(0, at).join('\n')}\n`, calls };
  });
}

/** The version in the head of a file: `# version: …`. */
export const versionIn = (text) => /^# version: (.+)$/m.exec(text)?.[1];

export const read = (file) => fs.readFileSync(file, 'utf8');

/** Whether a verdict of a program is the recorded one. Without a rule, a program asks, or allows what is harmless. */
export const agrees = (recorded, found) => (recorded === '-' ? found === 'ask' || found === 'allow' : recorded === found);
