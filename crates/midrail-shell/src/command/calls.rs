//! The commands of a line: every program that it starts, with its arguments.

use midrail_core::{Action, CommandCall};

use super::invocation::{Arg, Folder, Invocation};
use super::usual_name;
use crate::words::shell::STATUS_KEEPERS;

/// How many commands of one line are kept.
const MAX_CALLS: usize = 1_000;

/// How many bytes of one argument are kept. Names of branches and folders are shorter; messages need not be whole.
const MAX_WORD: usize = 1_024;

/// The programs whose calls guardrails judge by the state of the repository: none of them may be dropped silently.
const REPOSITORY_PROGRAMS: &[&str] = &["git", "gh", "glab"];

/// Keeps a command, which is called by this name. `decides`: the line succeeds only if it does.
pub(super) fn add_call(analysis: &mut Action, invocation: &Invocation, name: &str, decides: bool) {
    if analysis.commands.len() >= MAX_CALLS {
        analysis.has_more_commands = true;
        analysis.is_partial |= REPOSITORY_PROGRAMS.contains(&invocation.program.as_str());
        return;
    }
    let (mut program, mut args) = (invocation.program.clone(), invocation.args.clone());
    usual_name::rename(&mut program, &mut args);
    let places = |is_it: fn(&Arg) -> bool| {
        let args = args.iter().enumerate().filter(move |(_, arg)| is_it(arg));
        args.map(|(at, _)| at).collect()
    };
    let call = CommandCall {
        path: name.contains('/').then(|| shortened(name)),
        unknown: places(|arg| !arg.is_known() || arg.is_glob || arg.may_split),
        splits: places(|arg| arg.is_glob || arg.may_split),
        args: args.iter().map(|arg| shortened(&arg.text)).collect(),
        program,
        has_more_args: invocation.has_more_args,
        folder: match &invocation.folder {
            Folder::Known(folder) if !invocation.is_remote => Some(folder.clone()),
            Folder::Known(_) | Folder::Unknown(_) => None,
        },
        decides,
        wraps: false,
    };
    // A loop is walked more than once.
    if analysis.commands.last() != Some(&call) {
        analysis.commands.push(call);
    }
}

/// Marks the command that was added as number `at` as a wrapper, if it started others and ends as they do.
pub(super) fn mark_wrapper(analysis: &mut Action, program: &str, at: usize) {
    let starts_others = analysis.commands.len() > at.saturating_add(1);
    if let Some(call) = analysis.commands.get_mut(at)
        && call.program == program
        && (program == "eval" || STATUS_KEEPERS.contains(program))
    {
        call.wraps = starts_others;
    }
}

fn shortened(word: &str) -> String {
    word.get(..word.floor_char_boundary(MAX_WORD)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use crate::command::analyse;

    fn calls(line: &str) -> Vec<String> {
        let calls = analyse(line).commands;
        let shown = |folder: Option<String>| folder.unwrap_or("?".to_owned());
        calls
            .into_iter()
            .filter(|call| matches!(call.program.as_str(), "git" | "gh"))
            .map(|call| format!("{}: {} {}", shown(call.folder), call.program, call.args.join(" ")))
            .collect()
    }

    #[test]
    fn calls_are_found_at_any_depth() {
        for line in [
            "git push origin main",
            "bash -c 'git push origin main'",
            "sudo env A=b git push origin main",
            "true && (git push origin main)",
            "B=main; git push origin $B",
            "g() { git push origin main; }; g",
            "git-push origin main",
            "python3 -c \"import subprocess; subprocess.run(['git', 'push', 'origin', 'main'])\"",
        ] {
            assert_eq!(calls(line), [": git push origin main"], "{line}");
        }
    }

    #[test]
    fn the_folder_and_unknown_words_are_kept() {
        assert_eq!(calls("cd sub && gh pr merge 3"), ["sub: gh pr merge 3"]);
        assert_eq!(calls("ssh host git pull"), ["?: git pull"]);
        let call = analyse("git push origin $1").commands.pop().unwrap();
        assert_eq!(call.unknown, [2]);
        assert_eq!(analyse("echo x | xargs git push").commands.pop().unwrap().args[0], "push");
    }

    #[test]
    fn wrappers_are_marked() {
        let inner = |line: &str| {
            let calls = analyse(line).commands.into_iter().filter(|call| !call.wraps);
            calls.map(|call| format!("{} {}", call.program, call.args.join(" "))).collect::<Vec<_>>()
        };
        for line in [
            "make -j2",
            "timeout 5 make -j2",
            "sudo -u x nice env A=b make -j2",
            "bash -lc 'make -j2'",
            "time make -j2",
            "command make -j2",
            "exec make -j2",
            "eval 'make -j2'",
            "A=b nohup make -j2",
        ] {
            assert_eq!(inner(line), ["make -j2"], "{line}");
        }
        assert_eq!(inner("timeout 5"), ["timeout 5"]);
        assert_eq!(inner("bash build.sh"), ["build.sh "]);
        assert_eq!(inner("ssh host make"), ["ssh host make", "make "]);
        assert_eq!(inner("echo a | xargs make"), ["echo a", "xargs make", "make a"]);
    }

    #[test]
    fn text_is_no_call() {
        assert_eq!(calls("echo git push origin main"), Vec::<String>::new());
        assert_eq!(calls("legit push"), Vec::<String>::new());
    }

    /// The programs whose success the success of a line implies.
    fn deciding(line: &str) -> Vec<String> {
        let calls = analyse(line).commands.into_iter().filter(|call| call.decides);
        calls.map(|call| call.program).collect()
    }

    #[test]
    fn success_of_a_line_implies_that_of_some_commands() {
        for line in [
            "cargo test",
            "cd sub && cargo test",
            "cargo fmt; cargo test",
            "cargo test && true",
            "(cargo test)",
            "bash -c 'cargo test'",
            "timeout 60 env A=b cargo test",
            "f() { cargo test; }; f",
            "cat log | cargo test",
            "exec cargo test",
            "cargo test > log 2>&1",
        ] {
            assert!(deciding(line).contains(&"cargo".to_owned()), "{line}");
        }
        for line in [
            "cargo test; true",
            "cargo test || true",
            "true || cargo test",
            "cargo test | tail",
            "cargo test &",
            "! cargo test",
            "if cargo test; then true; fi",
            "for x in a; do cargo test; done",
            "echo $(cargo test)",
            "exit 0; cargo test",
            "true && exit 0; cargo test",
            "find . -exec cargo test ';'",
            "echo x | xargs cargo test",
            "f() { cargo test; }",
            "python3 -c \"import subprocess; subprocess.run(['cargo', 'test'])\"",
            "bash -c 'cargo test; true'",
            "tmux new -d cargo test",
            "cargo test | tee log && true",
        ] {
            assert!(!deciding(line).contains(&"cargo".to_owned()), "{line}");
        }
    }
}
