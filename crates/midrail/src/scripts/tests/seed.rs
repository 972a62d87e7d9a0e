//! The examples that people start from, as they stand.

use super::*;

pub(super) const BAD: &str = r#"input: async (ctx) => {
  if (ctx.tool.name === "patch") {
    // This misses sub-task reads!
    const hasRead = ctx.history.messages.some((m) =>
      m.content?.includes("read_file"),
    );
    if (!hasRead) return { allowed: false, message: "Read first" };
  }
  return { allowed: true };
}"#;

pub(super) const GOOD: &str = r#"input: async (ctx) => {
  if (ctx.tool.name === "patch") {
    const staleFiles = await ctx.std.checkStaleContext(
      ctx.tool.args.unified_diff,
    );
    if (staleFiles.length > 0) {
      return { allowed: false, message: `Re-read: ${staleFiles.join(", ")}` };
    }
  }
  return { allowed: true };
}"#;

pub(super) const RETRIES_TOP: &str = r#"// Module-level state (persists across tool calls within a session)
const outputRetryCounters = new Map();
const MAX_RETRIES = 5;
"#;

pub(super) const RETRIES: &str = r#"output: async (ctx) => {
    const retryKey = `${ctx.tool.name}_output`;
    const currentRetries = outputRetryCounters.get(retryKey) ?? 0;

    if (currentRetries >= MAX_RETRIES) {
      outputRetryCounters.set(retryKey, 0); // Reset for next sequence
      return { override: false };
    }

    // Your verification logic
    if (ctx.tool.name === "patch" && !ctx.result.isError) {
      const { exitCode } = await ctx.system.cmd.exec("npm test");
      if (exitCode !== 0) {
        outputRetryCounters.set(retryKey, currentRetries + 1);
        return { override: true, isError: true, result: "Tests failed" };
      }
    }

    outputRetryCounters.set(retryKey, 0); // Reset on success
    return { override: false };
  }"#;

pub(super) const PATTERN: &str = r#"if (ctx.std.argMatches(ctx.tool.args, "path", /\.prod\.env$/)) {
  return { allowed: false, message: "Cannot modify production env files" };
}"#;

/// A patch of a file that a sub-task has read, and that has not changed since.
fn patched_by_another() -> (Value, TestHost) {
    let world = TestHost::default();
    world.write("a.rs", "1");
    world.note_read("a.rs");
    (json!({"unified_diff": "--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-1\n+2\n"}), world)
}

#[test]
fn the_history_misses_what_a_sub_task_read() {
    let (args, world) = patched_by_another();
    let bench = Bench::in_world(world, &format!("export default {{ {BAD} }};"));
    assert_eq!(bench.refusal(args), "Read first");
}

#[test]
fn the_snapshot_knows_what_a_sub_task_read() {
    let (args, world) = patched_by_another();
    let bench = Bench::in_world(world, &format!("export default {{ {GOOD} }};"));
    assert_eq!(bench.input(args.clone()).unwrap().answer, HookAnswer::Pass);
    // The sub-task writes what it had read: it is to be read again.
    bench.world.write("a.rs", "2");
    assert_eq!(bench.refusal(args.clone()), "Re-read: a.rs");
    bench.world.note_read("a.rs");
    assert_eq!(bench.input(args).unwrap().answer, HookAnswer::Pass);
}

#[test]
fn retries_are_counted_across_processes() {
    let source = format!("{RETRIES_TOP}\nexport default {{\n  {}\n}};", RETRIES.replace("npm test", "false"));
    let bench = Bench::new(&source);
    let mut state = None;
    let mut answers = Vec::new();
    for _ in 0..7 {
        let call = Call { state: text_of(state.clone()), ..bench.call(Hook::Output) };
        let end = Scripts::default().call(&bench.script, "s", call).unwrap();
        answers.push(end.answer != HookAnswer::Pass);
        state = end.state.or(state);
    }
    assert_eq!(answers, [true, true, true, true, true, false, true]);
}

#[test]
fn files_are_protected_by_pattern() {
    let bench = Bench::new(&format!(
        "export default {{ input: async (ctx) => {{ {PATTERN} return {{ allowed: true }}; }} }};"
    ));
    assert_eq!(bench.refusal(json!({"path": "conf/a.prod.env"})), "Cannot modify production env files");
    assert_eq!(bench.input(json!({"path": "a.prod.env.md"})).unwrap().answer, HookAnswer::Pass);
}
