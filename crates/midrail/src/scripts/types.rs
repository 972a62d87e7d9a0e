//! The types of a script, for editors and for the guide: one table.

use std::fmt::Write;

/// A member of `ctx`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    /// Where it is: `tool.name`.
    pub(crate) path: &'static str,
    /// Its type, in TypeScript.
    pub(crate) kind: &'static str,
    /// What it is, in a line.
    pub(crate) about: &'static str,
}

const fn member(path: &'static str, kind: &'static str, about: &'static str) -> Member {
    Member { path, kind, about }
}

/// All members of `ctx`, in the order of the guide. `result` is there in output hooks alone.
pub(crate) const MEMBERS: &[Member] = &[
    member("tool.name", "string", "The name of the tool."),
    member("tool.args", "Record<string, any>", "What the tool is called with."),
    member("result.content", "string", "What the tool returned."),
    member("result.isError", "boolean", "Whether the call failed."),
    member("history.messages", "Message[]", "The main conversation so far. Sub-agents have their own."),
    member("history.lastUserMessage", "string | null", "The text that the user wrote last."),
    member(
        "feedback",
        "Feedback",
        "The calls of this prompt so far, what feedback providers said last, and when it has to be done.",
    ),
    member(
        "memory.snapshot",
        "Map<string, string>",
        "The files that were read in any agent loop, with the checksum of what was read.",
    ),
    member(
        "system.fs.readFile",
        "(path: string) => Promise<string>",
        "Reads a text file of the working directory.",
    ),
    member(
        "system.fs.getChecksum",
        "(path: string) => Promise<string | null>",
        "The SHA-256 of a file of the working directory, or null where there is none.",
    ),
    member(
        "system.cmd.exec",
        "(command: string) => Promise<ExecResult>",
        "Runs a shell command in the working directory. It is stopped when the hook ends.",
    ),
    member("workingDirectory", "string", "The root of the project, as an absolute path."),
    member(
        "std.checkStaleContext",
        "(diff: string) => Promise<string[]>",
        "The files of a diff that changed since they were read, were never read, or cannot be looked at.",
    ),
    member(
        "std.parseUnifiedDiff",
        "(diff: string) => string[]",
        "The files that a diff touches: unified, git's and apply_patch.",
    ),
    member(
        "std.isGitClean",
        "(cmd?: { exec: (command: string) => Promise<ExecResult> }) => Promise<boolean>",
        "Whether git knows of no change in the working directory.",
    ),
    member("std.computeChecksum", "(content: string) => string", "The SHA-256 of a text."),
    member(
        "std.argMatches",
        "(args: Record<string, any> | null | undefined, key: string, regex: RegExp | string) => boolean",
        "Whether an argument matches. Of a list, any item may.",
    ),
    member(
        "std.isFileStale",
        "(path: string) => Promise<boolean>",
        "Whether a file changed since it was read, is there and was never read, or cannot be looked at.",
    ),
];

const HEAD: &str = "\
// The types of guardrails.js. In a script: /** @type {import('./guardrails').Guardrails} */

/** A message of the conversation. */
export interface Message {
  role: string;
  content?: any;
  [key: string]: unknown;
}

/** How a command ended. */
export interface ExecResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** The calls of a prompt so far, and what feedback providers said. */
export interface Feedback {
  calls: number;
  callsSince: number;
  last: string | null;
  lastProvider: string | null;
  recentCalls: { tool: string; ok: boolean }[];
  deadline: string | null;
  session: string;
  prompt: string | null;
}

/** What an input hook may return. */
export type InputResult =
  | { allowed: true }
  | { allowed: false; message: string; suggestion?: string; request?: ApprovalRequest };

/** What a person is asked. The call waits for the answer; no script answers for them. */
export interface ApprovalRequest {
  /** Why the call is needed, in words that a person can judge. */
  reason: string;
  /** \"normal\" unless set. */
  urgency?: \"normal\" | \"urgent\" | \"emergency\";
}

/** What an output hook may return. */
export type OutputResult =
  | { override: false }
  | { override: true; result: string; isError?: boolean };
";

const TAIL: &str = "
/** What a guardrails.js exports as its default. */
export interface Guardrails {
  /** Called before a tool runs, for at most 1 second. */
  input?: (ctx: InputContext) => InputResult | Promise<InputResult>;
  /** Called with the result of a tool, for at most 10 minutes. */
  output?: (ctx: OutputContext) => OutputResult | Promise<OutputResult>;
}
";

/// The text of `guardrails.d.ts`.
pub(crate) fn declarations() -> String {
    let is_result = |member: &&Member| member.path.starts_with("result.");
    let mut text = HEAD.to_owned();
    text.push_str("\n/** What an input hook is given. */\nexport interface InputContext {\n");
    tree(&mut text, MEMBERS.iter().filter(|member| !is_result(member)));
    text.push_str(
        "}\n\n/** What an output hook is given. */\nexport interface OutputContext extends InputContext {\n",
    );
    tree(&mut text, MEMBERS.iter().filter(is_result));
    text.push_str("}\n");
    text.push_str(TAIL);
    text
}

/// Members as nested objects. Those of one object follow each other in the table.
fn tree<'m>(text: &mut String, members: impl Iterator<Item = &'m Member>) {
    let mut open: Vec<&str> = Vec::new();
    for member in members {
        let mut parts: Vec<&str> = member.path.split('.').collect();
        let name = parts.pop().unwrap_or_default();
        let shared = open.iter().zip(&parts).take_while(|(open, part)| open == part).count();
        close(text, &mut open, shared);
        for part in parts.iter().skip(shared) {
            let _ = writeln!(text, "{}readonly {part}: {{", indent(open.len()));
            open.push(part);
        }
        let indent = indent(open.len());
        let _ = writeln!(text, "{indent}/** {} */\n{indent}readonly {name}: {};", member.about, member.kind);
    }
    close(text, &mut open, 0);
}

fn close(text: &mut String, open: &mut Vec<&str>, until: usize) {
    while open.len() > until {
        open.pop();
        let _ = writeln!(text, "{}}};", indent(open.len()));
    }
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth + 1)
}
