//! The types for editors: all of `ctx` is in them, and the examples fit.

use std::process::Command;

use super::super::TYPES;
use super::seed::{BAD, GOOD, PATTERN, RETRIES, RETRIES_TOP};
use super::*;

#[test]
fn every_member_is_there() {
    let source = "export default { output: (ctx) => {
        const paths = [];
        const walk = (value, path) => {
          if (value === null || typeof value !== 'object' || value instanceof Map || Array.isArray(value) || path === 'tool.args' || path === 'feedback') paths.push(path);
          else for (const key of Object.keys(value)) walk(value[key], path ? path + '.' + key : key);
        };
        walk(ctx, '');
        return { override: true, result: paths.sort().join('\\n') };
      } };";
    let HookAnswer::Replace { result, .. } = Bench::new(source).output().unwrap().answer else { panic!() };
    let mut members = context_members();
    members.sort_unstable();
    assert_eq!(result.lines().collect::<Vec<_>>(), members);
}

/// The members of `ctx` in the types, by path: `tool.name`.
fn context_members() -> Vec<String> {
    let contexts = TYPES.split("export interface ").filter(|part| part.contains("Context "));
    let mut members = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for line in contexts.flat_map(str::lines).map(str::trim) {
        match line.strip_prefix("readonly ").and_then(|member| member.split_once(": ")) {
            Some((name, "{")) => open.push(name),
            Some((name, _)) => members.push([open.as_slice(), &[name]].concat().join(".")),
            None if line == "};" => drop(open.pop()),
            None => {}
        }
    }
    members
}

/// Runs only where the compiler of TypeScript is: on the path, or where `MIDRAIL_TSC` says.
#[test]
fn the_examples_fit_the_types() {
    let compiler = std::env::var("MIDRAIL_TSC").unwrap_or_else(|_| "tsc".to_owned());
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!(
            "skipped: there is no `{compiler}` here; install the package `typescript` from npm to run this"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("guardrails.d.ts"), TYPES).unwrap();
    let body = |hook: &str| {
        format!(
            "import type {{ Guardrails }} from './guardrails';\n{RETRIES_TOP}\nexport default {{ {hook} }} satisfies Guardrails;\n"
        )
    };
    let pattern = format!("input: async (ctx) => {{ {PATTERN} return {{ allowed: true }}; }}");
    let check = |source: &str| {
        fs::write(folder.path().join("example.ts"), source).unwrap();
        let options = ["--noEmit", "--strict", "--target", "es2022", "--module", "es2022", "example.ts"];
        let out = Command::new(&compiler).args(options).current_dir(folder.path()).output().unwrap();
        (out.status.success(), String::from_utf8_lossy(&out.stdout).into_owned())
    };
    for hook in [BAD, GOOD, RETRIES, &pattern] {
        let (is_good, said) = check(&body(hook));
        assert!(is_good, "{hook}: {said}");
    }
    for hook in [
        "input: (ctx) => ({ allowed: 'yes' })",
        "input: (ctx) => ctx.tools.name",
        "output: () => ({ override: true })",
    ] {
        assert!(!check(&body(hook)).0, "{hook}");
    }
}
