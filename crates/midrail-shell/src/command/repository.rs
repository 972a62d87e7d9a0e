//! Calls of git and of the programs of forges, kept with their words: what they mean depends on the repository's state,
//! which is not known here.

use midrail_core::{Action, RepositoryCall};

use super::invocation::{Folder, Invocation};

/// How many calls of one command line are kept.
const MAX_CALLS: usize = 256;

/// How many bytes of one argument are kept. Names of branches and folders are shorter; messages need not be whole.
const MAX_WORD: usize = 1_024;

/// The programs that are kept. `git-push` is `git push`.
const PROGRAMS: &[&str] = &["git", "gh", "glab"];

/// Keeps a call, if it is one of those.
pub(super) fn add_call(analysis: &mut Action, invocation: &Invocation) {
    let name = invocation.program.strip_suffix(".exe").unwrap_or(&invocation.program);
    let (program, command) = match name.split_once('-') {
        Some(("git", command)) => ("git", Some(command)),
        _ => (name, None),
    };
    if !PROGRAMS.contains(&program) {
        return;
    }
    if analysis.repository.len() >= MAX_CALLS {
        analysis.is_partial = true;
        return;
    }
    let shift = usize::from(command.is_some());
    let unknown = invocation.args.iter().enumerate().filter(|(_, arg)| !arg.is_known() || arg.is_glob);
    let call = RepositoryCall {
        program: program.to_owned(),
        unknown: unknown.map(|(at, _)| at + shift).collect(),
        args: command
            .into_iter()
            .chain(invocation.args.iter().map(|arg| arg.text.as_str()))
            .map(shortened)
            .collect(),
        has_more_args: invocation.has_more_args,
        folder: match &invocation.folder {
            Folder::Known(folder) if !invocation.is_remote => Some(folder.clone()),
            Folder::Known(_) | Folder::Unknown(_) => None,
        },
    };
    // A loop is walked more than once.
    if analysis.repository.last() != Some(&call) {
        analysis.repository.push(call);
    }
}

fn shortened(word: &str) -> String {
    word.get(..word.floor_char_boundary(MAX_WORD)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use crate::command::analyse;

    fn calls(line: &str) -> Vec<String> {
        let calls = analyse(line).repository;
        let shown = |folder: Option<String>| folder.unwrap_or("?".to_owned());
        calls
            .into_iter()
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
        let call = analyse("git push origin $1").repository.pop().unwrap();
        assert_eq!(call.unknown, [2]);
        assert!(analyse("echo x | xargs git push").repository.iter().all(|call| call.args[0] == "push"));
    }

    #[test]
    fn text_is_no_call() {
        assert_eq!(calls("echo git push origin main"), Vec::<String>::new());
        assert_eq!(calls("legit push"), Vec::<String>::new());
    }
}
