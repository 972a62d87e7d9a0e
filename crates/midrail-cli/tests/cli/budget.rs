//! The instructions of frequent events, compared with `benches/budget.toml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde::Deserialize;
use tempfile::TempDir;

use crate::callgrind::{self, Instructions};
use crate::events::{FILE, Numbered, event, payload, read_result};
use crate::world::{ended, repository};

const PROGRAM: &str = env!("CARGO_BIN_EXE_midrail");

const EVENTS: [&str; 6] = ["shell", "read", "write", "result-3k", "page-3k", "prompt"];
const HOOKS: [(&str, &str); 2] = [("hook-before", "PreToolUse"), ("hook-after", "PostToolUse")];

/// Events of each kind in every replay, and those that one replay has in addition.
const EACH: u64 = 2;
const MORE: u64 = 10;

/// The statistical model: it classifies the words of a text from outside of the project.
const MODEL: &str = "midrail_scan::injection::model::classify";
/// The most instructions of the model for 1,000 bytes in a release build.
const MODEL_LIMIT: i64 = 15_000;

/// Percent that a case may grow by.
const TOLERANCE: i64 = 5;

const HEAD: &str = "\
# Instructions of frequent events, without SHA-256: each decision through `midrail replay`, whole hook processes, and the MCP
# proxy: its start with one list, and each call with its result. `model-kb` is the statistical model alone, which classifies the
# words of text from outside of the project, for 1,000 bytes.
# A test fails when a case grows by more than 5%. To accept new figures:
#   MIDRAIL_WRITE=1 cargo test -p midrail-cli --test cli budget
#   MIDRAIL_WRITE=1 cargo test --release -p midrail-cli --test cli budget
";

const PROXY_PACK: &str = "pack: p\nextends: default\nmcp: {first_seen: pin}\n";

/// An MCP server with one tool.
const SERVER: &str = r#"while read -r line; do
  id=${line#*\"id\":}
  id=${id%%,*}
  case "$line" in
    *tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"add","description":"Adds two numbers."}]}}\n' "$id" ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"The sum is 3."}]}}\n' "$id" ;;
  esac
done
"#;

/// The figures of one profile.
#[derive(Debug, Default, Deserialize)]
struct Profile {
    /// The compiler that they were measured with.
    rustc: String,
    cases: BTreeMap<String, i64>,
}

#[test]
fn instructions_stay_within_the_budget() {
    let path = repository().join("benches/budget.toml");
    let mut budget: BTreeMap<String, Profile> =
        toml::from_str(&fs::read_to_string(&path).unwrap_or_default()).unwrap();
    let (profile, flag) = if cfg!(debug_assertions) { ("dev", "") } else { ("release", "--release ") };
    let how = format!("MIDRAIL_WRITE=1 cargo test {flag}-p midrail-cli --test cli budget");
    let (rustc, is_written) = (rustc(), std::env::var_os("MIDRAIL_WRITE").is_some());
    if !callgrind::is_installed() {
        return println!("skipped: valgrind is not installed");
    }
    let known = budget.remove(profile).unwrap_or_default();
    if known.rustc != rustc && !is_written {
        return println!("skipped: no budget for {profile} with {rustc}; `{how}` writes one");
    }
    let cases = Place::new().measure();
    let model = cases.get("model-kb").copied().unwrap_or_default();
    assert!(model > 0, "the model classified nothing: is `{MODEL}` a function of its own?");
    assert!(
        cfg!(debug_assertions) || model <= MODEL_LIMIT,
        "the model takes {model} instructions for 1,000 bytes"
    );
    let mut grown = String::new();
    for (case, count) in &cases {
        let Some(before) = known.cases.get(case).copied().or(is_written.then_some(0)) else {
            println!("{case}: {count} instructions, without a budget; `{how}` writes one");
            continue;
        };
        let line = format!("{case}: {count} instructions, budget {before}");
        println!("{line}");
        if *count > before + before * TOLERANCE / 100 {
            let _ = writeln!(grown, "{line}");
        } else if *count < before - before * TOLERANCE / 100 {
            println!("{case} became more than {TOLERANCE}% cheaper; `{how}` lowers its budget");
        }
    }
    if is_written {
        budget.insert(profile.to_owned(), Profile { rustc, cases });
        fs::write(&path, written(&budget)).unwrap();
        return;
    }
    assert!(grown.is_empty(), "more than {TOLERANCE}% over the budget; `{how}` accepts it:\n{grown}");
}

fn written(budget: &BTreeMap<String, Profile>) -> String {
    let mut text = HEAD.to_owned();
    for (name, profile) in budget {
        let _ = write!(text, "\n[{name}]\nrustc = {:?}\n\n[{name}.cases]\n", profile.rustc);
        for (case, count) in &profile.cases {
            let _ = writeln!(text, "{case} = {count}");
        }
    }
    text
}

fn rustc() -> String {
    let program = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(program).arg("--version").current_dir(repository()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A home and a project in a folder with a fixed name, so that paths cost the same in every run: what a random name contains
/// decides how long a scan for secrets takes.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let create = |number: u32| {
            let name = format!("midrail-budget-{number:02}");
            tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir_in("/tmp").ok()
        };
        // A test that was killed, or that runs elsewhere, has the first ones.
        let place = Place((1..100).find_map(create).unwrap());
        fs::create_dir_all(place.project().join("src")).unwrap();
        fs::write(place.project().join("src/main.rs"), FILE).unwrap();
        place
    }

    fn project(&self) -> PathBuf {
        self.0.path().join("project")
    }

    /// The instructions of all cases, measured by two threads.
    fn measure(&self) -> BTreeMap<String, i64> {
        thread::scope(|scope| {
            let left =
                scope.spawn(|| ["none", "shell", "read", "write"].map(|more| (more, self.replay(more))));
            let right = ["result-3k", "page-3k", "prompt"].map(|more| (more, self.replay(more)));
            let model = ("model-kb".to_owned(), self.model());
            let hooks = HOOKS.map(|(case, event)| (case.to_owned(), self.hook(event).without_sha256()));
            let proxy = Place::new().proxy();
            let [(_, base), left @ ..] = left.join().unwrap();
            let difference = |(case, counts): &(&str, Instructions)| {
                (
                    (*case).to_owned(),
                    (counts.without_sha256() - base.without_sha256()) / i64::try_from(MORE).unwrap(),
                )
            };
            left.iter().chain(&right).map(difference).chain(hooks).chain(proxy).chain([model]).collect()
        })
    }

    /// Replays events of each kind, and more of one.
    fn replay(&self, more: &str) -> Instructions {
        let mut lines = format!("{}\n", read_result("src/main.rs", &self.project())).into_bytes();
        for name in EVENTS {
            let mut event = Numbered::new(&event(name, &self.project()));
            for number in 0..if name == more { EACH + MORE } else { EACH } {
                lines.extend(event.with(number));
                lines.push(b'\n');
            }
        }
        callgrind::count(&lines, |command| self.prepare(command.arg(PROGRAM), &["replay", "--json", "-"]))
    }

    /// The model, for 1,000 bytes of a page.
    fn model(&self) -> i64 {
        let mut page = Numbered::new(&event("page-3k", &self.project()));
        let mut lines = Vec::new();
        for number in 0..MORE {
            lines.extend(page.with(number));
            lines.push(b'\n');
        }
        let counts = callgrind::count_within(Some(MODEL), &lines, |command| {
            self.prepare(command.arg(PROGRAM), &["replay", "--json", "-"]);
        });
        counts.without_sha256() / (3 * i64::try_from(MORE).unwrap())
    }

    /// A hook process that is not the first.
    fn hook(&self, event: &str) -> Instructions {
        let input = payload(event, &self.project()).to_string();
        let args = ["hook", "claude-code", event];
        for _ in 0..2 {
            let mut command = Command::new(PROGRAM);
            self.prepare(&mut command, &args);
            ended(&mut command, input.clone().into()).code(0);
        }
        callgrind::count(input.as_bytes(), |command| self.prepare(command.arg(PROGRAM), &args))
    }

    /// The proxy in front of an MCP server: its start, and each call with its result.
    fn proxy(&self) -> [(String, i64); 2] {
        fs::create_dir(self.project().join(".midrail")).unwrap();
        fs::write(self.project().join(".midrail/pack.yaml"), PROXY_PACK).unwrap();
        fs::write(self.project().join("server.sh"), SERVER).unwrap();
        let args = ["mcp", "wrap", "--server", "toy", "--", "/bin/sh", "server.sh"];
        let lines = |calls: u64| -> Vec<u8> {
            let request = |(id, method): (u64, &str)| {
                let params = r#"{"name":"add","arguments":{"a":1,"b":2}}"#;
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
            };
            let calls = (1..=calls).map(|id| (id, "tools/call"));
            [(0, "tools/list")].into_iter().chain(calls).map(request).collect::<String>().into_bytes()
        };
        // The first process pins the tool.
        let mut command = Command::new(PROGRAM);
        self.prepare(&mut command, &args);
        let answers = ended(&mut command, lines(EACH)).code(0).out;
        assert_eq!(answers.matches("The sum is 3.").count(), 2, "{answers}");
        let count = |calls: u64| {
            callgrind::count(&lines(calls), |command| self.prepare(command.arg(PROGRAM), &args))
                .without_sha256()
        };
        let [start, few, many] = [0, EACH, EACH + MORE].map(count);
        let each = (many - few) / i64::try_from(MORE).unwrap();
        [("mcp-start".to_owned(), start), ("mcp-call".to_owned(), each)]
    }

    fn prepare(&self, command: &mut Command, args: &[&str]) {
        let home: &Path = self.0.path();
        command
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", callgrind::PATH)
            .env("HOME", home);
        command.env("XDG_CONFIG_HOME", home.join("config")).env("XDG_STATE_HOME", home.join("state"));
    }
}
