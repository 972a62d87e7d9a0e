// The agents, in the order of the table.

import { acpAgents } from './acp.mjs';
import claudeCode from './claude-code.mjs';
import codex from './codex.mjs';
import copilotCli from './copilot-cli.mjs';
import cursor from './cursor.mjs';
import geminiCli from './gemini-cli.mjs';
import opencode from './opencode.mjs';

export const AGENTS = [claudeCode, codex, geminiCli, copilotCli, opencode, cursor, ...acpAgents];
