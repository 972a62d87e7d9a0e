// Midrail for OpenCode: puts every prompt, tool call, result and end of a turn before `midrail hook opencode`.
// Where no answer comes, or none that can be read, nothing happens. Written by `midrail init`; `midrail uninstall` takes it
// away again.
import { spawnSync } from "node:child_process";

const PROGRAM = "@PROGRAM@";
const NO_ANSWER = "Midrail did not answer, so this does not happen. Run: midrail doctor";
const SECONDS = { "tool.execute.before": 330, "tool.execute.after": 660 };

// One object, or a thrown refusal.
function ask(event, payload) {
  const seconds = SECONDS[event] ?? 60;
  const run = spawnSync(PROGRAM, ["hook", "opencode", event, "--timeout", String(seconds)], {
    input: JSON.stringify({ hook_event_name: event, ...payload }),
    encoding: "utf8",
    timeout: seconds * 1000,
    killSignal: "SIGKILL",
    maxBuffer: 64 * 1024 * 1024,
    windowsHide: true,
  });
  if (run.error || run.signal || (run.status !== 0 && run.status !== 2)) throw new Error(NO_ANSWER);
  if (run.status === 2) throw new Error(run.stderr.trim() || NO_ANSWER);
  if (run.stdout.trim() === "") return {};
  let answer;
  try {
    answer = JSON.parse(run.stdout);
  } catch {
    throw new Error(NO_ANSWER);
  }
  if (answer === null || typeof answer !== "object" || Array.isArray(answer)) throw new Error(NO_ANSWER);
  return answer;
}

// Puts a text in place of all that a result told. A tool of an MCP server has parts where others have one text.
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
  const parents = new Map(); // session of a sub-agent -> session that started it
  const owed = new Map(); // session -> notes that no answer could carry yet
  const sentBack = new Set(); // sessions that were sent back to work since their last prompt
  const own = new Set(); // sessions whose next prompt is our own

  const about = (session) => ({ cwd: directory, session, parent: parents.get(session) });
  const owe = (session, notes) => {
    if (Array.isArray(notes) && notes.length) owed.set(session, [...(owed.get(session) ?? []), ...notes]);
  };
  const told = (session) => {
    const notes = owed.get(session) ?? [];
    owed.delete(session);
    return notes;
  };

  async function idle(session) {
    // What a sub-agent returned is with the agent that started it.
    if (parents.has(session)) return;
    let text;
    try {
      text = ask("session.idle", { ...about(session), stop_hook_active: sentBack.has(session) }).continue;
    } catch (refusal) {
      text = sentBack.has(session) ? undefined : refusal.message;
    }
    if (typeof text !== "string" || text === "") return;
    sentBack.add(session);
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
          owe(session, ask(event.type, about(session)).notes);
        } else if (event.type === "session.deleted") {
          ask(event.type, about(session));
        } else if (event.type === "session.error") {
          ask(event.type, { ...about(session), error: event.properties.error });
        } else if (event.type === "session.idle") {
          await idle(session);
        }
      } catch {
        // These only tell. What comes after them is asked about.
      }
    },
    "chat.message": async (input, output) => {
      if (own.delete(input.sessionID)) return;
      sentBack.delete(input.sessionID);
      owe(input.sessionID, ask("chat.message", { ...about(input.sessionID), input, output }).notes);
      const text = output.parts?.findLast((part) => part.type === "text");
      if (text) text.text = [text.text, ...told(input.sessionID)].join("\n\n");
    },
    "tool.execute.before": async (input, output) => {
      const payload = { ...about(input.sessionID), tool_name: input.tool, input, output };
      const answer = ask("tool.execute.before", payload);
      if (answer.args) {
        // The object itself is what OpenCode goes on with.
        for (const name of Object.keys(output.args)) delete output.args[name];
        Object.assign(output.args, answer.args);
      }
      owe(input.sessionID, answer.notes);
    },
    "tool.execute.after": async (input, output) => {
      try {
        const answer = ask("tool.execute.after", { ...about(input.sessionID), tool_name: input.tool, input, output });
        if (answer.replace !== undefined) replace(output, String(answer.replace));
        owe(input.sessionID, answer.notes);
      } catch (refusal) {
        // The tool has run: what is left is to keep its result from the model.
        replace(output, refusal.message);
      }
      const notes = told(input.sessionID);
      if (notes.length && !append(output, notes)) owe(input.sessionID, notes);
    },
  };
};
