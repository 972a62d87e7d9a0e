// Converts recorded sessions with a member `calls` into events: node scripts/corpora/sessions.mjs FILE… | midrail replay --report -
//
// Each line of a file is one session: `id`, and `calls` with `tool`, `args`, `cwd`, `ok`, `exit_code` and `output`.
import { readFileSync } from "node:fs";

/** The tool and its arguments under the names that coding agents use. A tool that is not here keeps its own. */
function named(tool, args) {
  if (tool === "run" || tool === "swe-agent") return ["Bash", { command: args.command }];
  if (tool === "read") return ["Read", { file_path: args.path }];
  if (tool === "browse") return ["WebFetch", args];
  if (tool === "edit" && args.command === "create") {
    return ["Write", { file_path: args.path, content: args.file_text }];
  }
  if (tool === "edit") {
    return ["Edit", { file_path: args.path, old_string: args.old_str ?? "", new_string: args.new_str }];
  }
  return [tool, args];
}

function events({ id, calls }) {
  return calls.flatMap(({ tool, args, cwd, ok, exit_code, output }, at) => {
    const [name, known] = named(tool, args);
    const event = { session: id, tool: { name, args: known, id: `${id}:${at}` }, ...(cwd ? { cwd } : {}) };
    // Every program that fails says so, but some recordings call all calls that returned a success.
    const result = { content: output ?? "", exit_code, ok: exit_code ? false : ok };
    return [
      { kind: "before_tool", ...event },
      { kind: "after_tool", ...event, result },
    ];
  });
}

for (const file of process.argv.slice(2)) {
  for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    for (const event of events(JSON.parse(line))) console.log(JSON.stringify(event));
  }
}
