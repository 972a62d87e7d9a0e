// Midrail for OpenCode: calls `midrail hook opencode` for every prompt, tool call, result and end of a turn. Without a valid
// answer, the action is blocked. `midrail init` writes this file, and `midrail uninstall` removes it.
import { spawnSync } from "node:child_process";

const PROGRAM = "@PROGRAM@";
const NO_ANSWER = "Midrail did not answer, so this is blocked. Run: midrail doctor";
const SECONDS = { "tool.execute.before": 330, "tool.execute.after": 660 };

// Returns the answer, or throws a refusal.
function decide(event, payload) {
  const seconds = SECONDS[event] ?? 60;
  const nonce = Math.floor(Math.random() * 2 ** 31);
  const args = ["hook", "opencode", event, "--timeout", String(seconds), "--proof", String(nonce)];
  const run = spawnSync(PROGRAM, args, {
    input: JSON.stringify({ hook_event_name: event, ...payload }),
    encoding: "utf8",
    timeout: seconds * 1000,
    killSignal: "SIGKILL",
    maxBuffer: 64 * 1024 * 1024,
    windowsHide: true,
  });
  if (run.error || run.signal || (run.status !== 0 && run.status !== 2)) throw new Error(NO_ANSWER);
  if (run.status === 2) throw new Error(run.stderr.trim() || NO_ANSWER);
  // Another program may print nothing, or anything.
  const [text, rest] = run.stdout.trimEnd().split(`midrail:${31 * nonce + 17}`);
  if (rest !== "") throw new Error(NO_ANSWER);
  if (text.trim() === "") return {};
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Error(NO_ANSWER);
  }
  if (answer === null || typeof answer !== "object" || Array.isArray(answer)) throw new Error(NO_ANSWER);
  return answer;
}

// Replaces the whole content of a result. Tools of MCP servers return parts, other tools return one text.
function replace(output, text) {
  if (output.content !== undefined && typeof output.output !== "string") {
    let parts;
    try {
      parts = JSON.parse(text);
    } catch {}
    const isWhole = parts !== null && typeof parts === "object" && Array.isArray(parts.content);
    output.content = isWhole ? parts.content : [{ type: "text", text }];
    if (isWhole && parts.structuredContent !== undefined) output.structuredContent = parts.structuredContent;
    else delete output.structuredContent;
  } else {
    output.output = text;
  }
  if (output.metadata) output.metadata = { exit: output.metadata.exit, truncated: output.metadata.truncated };
}

function append(output, notes) {
  if (typeof output.output === "string") output.output = [output.output, ...notes].join("\n\n");
  else if (Array.isArray(output.content)) output.content.push({ type: "text", text: notes.join("\n\n") });
  else return false;
  return true;
}

export const Midrail = async ({ client, directory }) => {
  const parents = new Map(); // session of a sub-agent -> session of its parent
  const pending = new Map(); // session -> notes for the next answer
  const continued = new Set(); // sessions that had to continue since their last prompt
  const own = new Set(); // sessions whose next prompt is Midrail's

  const context = (session) => ({ cwd: directory, session, parent: parents.get(session) });
  const addNotes = (session, notes) => {
    if (Array.isArray(notes) && notes.length) pending.set(session, [...(pending.get(session) ?? []), ...notes]);
  };
  const takeNotes = (session) => {
    const notes = pending.get(session) ?? [];
    pending.delete(session);
    return notes;
  };

  async function idle(session) {
    // The parent already has the result of a sub-agent.
    if (parents.has(session)) return;
    let text;
    try {
      text = decide("session.idle", { ...context(session), stop_hook_active: continued.has(session) }).continue;
    } catch (refusal) {
      text = continued.has(session) ? undefined : refusal.message;
    }
    if (typeof text !== "string" || text === "") return;
    continued.add(session);
    own.add(session);
    await client.session.prompt({ path: { id: session }, body: { parts: [{ type: "text", text }] } });
  }

  return {
    event: async ({ event }) => {
      const info = event.properties?.info ?? {};
      const session = event.properties?.sessionID ?? info.id;
      try {
        if (event.type === "session.created") {
          if (info.parentID) parents.set(session, info.parentID);
          addNotes(session, decide(event.type, context(session)).notes);
        } else if (event.type === "session.deleted") {
          decide(event.type, context(session));
        } else if (event.type === "session.error") {
          decide(event.type, { ...context(session), error: event.properties.error });
        } else if (event.type === "session.idle") {
          await idle(session);
        }
      } catch {
        // These events only report something. Later actions are decided.
      }
    },
    "chat.message": async (input, output) => {
      if (own.delete(input.sessionID)) return;
      continued.delete(input.sessionID);
      addNotes(input.sessionID, decide("chat.message", { ...context(input.sessionID), input, output }).notes);
      const text = output.parts?.findLast((part) => part.type === "text");
      if (text) text.text = [text.text, ...takeNotes(input.sessionID)].join("\n\n");
    },
    "tool.execute.before": async (input, output) => {
      const payload = { ...context(input.sessionID), tool_name: input.tool, input, output };
      const answer = decide("tool.execute.before", payload);
      if (answer.args) {
        // OpenCode continues with the same object.
        for (const name of Object.keys(output.args)) delete output.args[name];
        Object.assign(output.args, answer.args);
      }
      addNotes(input.sessionID, answer.notes);
    },
    "tool.execute.after": async (input, output) => {
      try {
        const answer = decide("tool.execute.after", { ...context(input.sessionID), tool_name: input.tool, input, output });
        if (answer.replace !== undefined) replace(output, String(answer.replace));
        addNotes(input.sessionID, answer.notes);
      } catch (refusal) {
        // The tool has run: only its result can be withheld.
        replace(output, refusal.message);
      }
      const notes = takeNotes(input.sessionID);
      if (notes.length && !append(output, notes)) addNotes(input.sessionID, notes);
    },
  };
};
