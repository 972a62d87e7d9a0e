// The clients: pinned versions, installed once from npm into a separate folder.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const platform = `${process.platform}-${process.arch}`;

/** Folder below `npm/` of the lab, and what is installed into it. */
const PACKAGES = {
  'claude-code': ['@anthropic-ai/claude-code@2.1.325'],
  codex: ['@openai/codex@0.166.0'],
  gemini: ['@google/gemini-cli@0.61.0'],
  copilot: ['@github/copilot@1.0.102'],
  opencode: ['opencode-ai@1.18.33'],
  cursor: ['@cursor/sdk@1.0.32'],
  // The reference servers.
  servers: ['@modelcontextprotocol/server-filesystem@2026.8.31', '@modelcontextprotocol/server-everything@2026.8.31'],
  acp: ['@agentclientprotocol/claude-agent-acp@0.49.0'],
  // Cursor's engine needs Node 22 or newer.
  node24: [`node-${platform}@24.21.0`],
};

/** The version that is pinned for a folder. */
export const version = (folder) => PACKAGES[folder][0].split('@').pop();

export class Lab {
  constructor(folder) {
    this.folder = folder;
    this.runs = path.join(folder, 'runs');
  }

  at(folder, ...rest) {
    return path.join(this.folder, 'npm', folder, 'node_modules', ...rest);
  }

  get claude() { return this.at('claude-code', '@anthropic-ai', `claude-code-${platform}`, 'claude'); }
  get codex() { return this.first(this.at('codex', '@openai', `codex-${platform}`, 'vendor'), 'bin', 'codex'); }
  get gemini() { return this.at('gemini', '@google', 'gemini-cli', 'bundle', 'gemini.js'); }
  get copilot() { return this.at('copilot', '@github', `copilot-${platform}`, 'copilot'); }
  get opencode() { return this.at('opencode', `opencode-${platform}`, 'bin', 'opencode'); }
  get cursor() { return this.at('cursor', '@cursor', 'sdk', 'dist', 'esm'); }
  get claudeAcp() { return this.at('acp', '@agentclientprotocol', 'claude-agent-acp', 'dist', 'index.js'); }
  get filesystemServer() { return this.at('servers', '@modelcontextprotocol', 'server-filesystem', 'dist', 'index.js'); }
  get everythingServer() { return this.at('servers', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js'); }
  get node24() {
    return Number(process.versions.node.split('.')[0]) >= 22
      ? process.execPath
      : this.at('node24', `node-${platform}`, 'bin', 'node');
  }

  /** The one folder in `folder` (its name is that of a target) and what is in it. */
  first(folder, ...rest) {
    const name = fs.existsSync(folder) ? fs.readdirSync(folder).find((each) => !each.startsWith('.')) : undefined;
    return path.join(folder, name ?? 'missing', ...rest);
  }

  /** Installs what is missing. Returns the error, if any. */
  install(folder, program) {
    if (fs.existsSync(this[program])) return undefined;
    const into = path.join(this.folder, 'npm', folder);
    fs.mkdirSync(into, { recursive: true });
    const manifest = path.join(into, 'package.json');
    if (!fs.existsSync(manifest)) fs.writeFileSync(manifest, '{"private": true}\n');
    process.stderr.write(`installing ${PACKAGES[folder].join(' ')}\n`);
    // The kit needs no install script of any package, so none runs.
    const flags = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const npm = spawnSync('npm', [...flags, ...PACKAGES[folder]], { cwd: into, encoding: 'utf8', timeout: 600_000 });
    if (npm.error) return `npm could not be run: ${npm.error.message}`;
    if (npm.status !== 0) return `npm install ended with ${npm.status}: ${lastLine(npm.stderr)}`;
    return fs.existsSync(this[program]) ? undefined : `${PACKAGES[folder].join(' ')} has no build for ${platform}`;
  }
}

const lastLine = (text) => (text ?? '').trim().split('\n').pop().slice(0, 200);
