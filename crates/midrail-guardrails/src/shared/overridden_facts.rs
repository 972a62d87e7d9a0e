//! Facts of the project that the event's own command line overrides. A probe reads the state before the line; a line that selects
//! another cluster, repository, branch or value of a variable makes the fact unknown for its event.

mod cluster;
mod elsewhere;

use midrail_core::{Action, CommandCall, Context, Missing};

use self::cluster::{selects_by_name, selects_cluster};
use self::elsewhere::{NAMING, PASSIVE, PASSIVE_GIT, is_elsewhere, is_start_variable, sets_unknown};
use super::file_access::{known_actions, project_scripts};
use super::file_paths::is_temporary;
use super::git::{GitCall, is_builtin_command, is_other_repository};
use super::objections::all;

/// Whether the event's command line overrides what a fact such as `kube.context` names. Missing: the line is not known.
pub fn overrides_fact(context: &Context<'_>, name: &str) -> Result<bool, Missing> {
    if context.event.tool.is_none() {
        return Ok(false);
    }
    if project_overrides(context, name)? {
        return Ok(true);
    }
    let actions = known_actions(context)?;
    let mut actions = actions.into_iter().map(|(_, action)| action);
    match name.split_once('.') {
        Some(("env", variable)) => Ok(actions.any(|action| sets_variable(action, variable))),
        Some(("kube", _)) => Ok(actions.any(selects_cluster)),
        Some(("git", fact)) => {
            for action in actions {
                if changes_repository(context, action, fact)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Ok(false),
    }
}

/// Whether a script of the project that the line runs selects another cluster, branch or value by name. What else it runs is the
/// project's own, and does not count.
fn project_overrides(context: &Context<'_>, name: &str) -> Result<bool, Missing> {
    let does = match project_scripts(context, context.action()?) {
        Err(missing) if context.has_pending_needs() => return Err(missing),
        found => found.ok().flatten().map(|(_, does)| does),
    };
    let Some(action) = does else { return Ok(false) };
    Ok(match name.split_once('.') {
        Some(("env", variable)) => action.sets.iter().any(|name| name == variable),
        Some(("kube", _)) => selects_by_name(action),
        Some(("git", fact)) => {
            let gits: Vec<&CommandCall> =
                action.commands.iter().filter(|call| call.program == "git").collect();
            let changes: Vec<bool> =
                all(gits.iter().map(|call| changes_fact(context, &GitCall::new(call), fact)))?;
            changes.contains(&true)
        }
        _ => false,
    })
}

/// Whether a line sets, removes or hides a variable for one of its commands.
fn sets_variable(action: &Action, variable: &str) -> bool {
    let is_own = |set: &String| set == variable || is_start_variable(set);
    let has_setting = |arg: &String| {
        arg.match_indices(variable).any(|(at, _)| {
            let before = arg.get(..at).and_then(|before| before.chars().next_back());
            let after = arg.get(at + variable.len()..).is_some_and(|after| after.starts_with('='));
            after && !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let clears = |call: &CommandCall| {
        let letters =
            |arg: &String| arg.strip_prefix('-').filter(|it| !it.starts_with('-')).map(str::to_owned);
        let is_option = |arg: &String| {
            arg == "-"
                || arg == "--ignore-environment"
                || arg.ends_with(variable)
                || letters(arg).is_some_and(|letters| letters.contains('i'))
        };
        match call.program.as_str() {
            "env" => call.args.iter().any(is_option),
            "exec" => call.args.iter().any(|arg| letters(arg).is_some_and(|letters| letters.contains('c'))),
            program => NAMING.contains(&program) && call.args.iter().any(|arg| arg == variable),
        }
    };
    action.sets.iter().any(is_own)
        || action.commands.iter().any(|call| {
            is_elsewhere(call) || sets_unknown(call) || clears(call) || call.args.iter().any(has_setting)
        })
}

/// Variables of git that select no repository, branch or address.
const HARMLESS_VARIABLES: &[&str] = &[
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_TERMINAL_PROMPT",
    "GIT_TRACE",
    "GIT_OPTIONAL_LOCKS",
    "GIT_MERGE_AUTOEDIT",
    "GIT_ASKPASS",
    "GIT_LFS_SKIP_SMUDGE",
    "GIT_REFLOG_ACTION",
];

/// Whether a line uses another repository, or changes what `git.FACT` names before another command.
fn changes_repository(context: &Context<'_>, action: &Action, fact: &str) -> Result<bool, Missing> {
    let is_setting = |name: &String| {
        name.starts_with("GIT_") && !HARMLESS_VARIABLES.iter().any(|harmless| name.starts_with(harmless))
    };
    let is_state = |file: &String| file.split('/').any(|part| part == ".git");
    if action.sets.iter().any(is_setting) || action.writes.iter().any(is_state) {
        return Ok(true);
    }
    let is_work = |file: &String| !is_temporary(file) && !file.starts_with("/dev/");
    let is_git = |call: &CommandCall| call.program == "git";
    let runs_git = action.commands.iter().any(is_git);
    // `echo x > a; release`, not `release > log`.
    let mut acting = action.commands.iter().filter(|call| call.program != "cd");
    let is_followed = acting.next().is_some() && acting.any(|call| !is_passive(call));
    let changes_work = action.writes.iter().chain(&action.sweeps).any(is_work);
    if fact == "dirty" && (runs_git || is_followed) && changes_work {
        return Ok(true);
    }
    let is_root = |file: &String| matches!(file.as_str(), "" | "." | "./");
    let replaces_root = action.copies.iter().map(|copy| &copy.to).chain(&action.sweeps).any(is_root);
    if runs_git && (replaces_root || uses_new_folder(action)) {
        return Ok(true);
    }
    let is_in_order = action.command.as_deref().is_some_and(runs_in_order);
    for (at, call) in action.commands.iter().enumerate() {
        let is_other = |other: usize| if is_in_order { other > at } else { other != at };
        let others = action.commands.iter().enumerate().filter(|(other, _)| is_other(*other));
        // `git switch main; echo x > a.txt`
        let changes_work = action.writes.iter().any(is_work);
        let is_followed = others.map(|(_, call)| call).any(|call| changes_work || !is_passive(call));
        let git = GitCall::new(call);
        let is_changed = match call.program.as_str() {
            "ssh" | "mosh" => true,
            "git" => {
                is_other_repository(context, &git)?
                    || git.settings.iter().any(|setting| is_repository_setting(setting))
                    || (fact == "remote" && names_remote(context, &git)?)
                    || (is_followed && changes_fact(context, &git, fact)?)
            }
            "gh" | "glab" | "hub" => {
                let names_repository =
                    |arg: &String| arg.starts_with("-R") || arg.split('=').next() == Some("--repo");
                (fact == "remote" && call.args.iter().any(names_repository))
                    || (is_followed && call.args.iter().any(|arg| arg == "checkout" || arg == "sync"))
            }
            "jj" | "sl" | "gt" | "hg" => is_followed,
            _ => false,
        };
        if is_changed {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the commands of a line run in the order in which they are written: not in a loop, and not at the same time.
fn runs_in_order(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let has_loop =
        words.any(|word| matches!(word, "while" | "until" | "for" | "select" | "repeat" | "trap" | "watch"));
    let mut plain = line.to_owned();
    for sign in ["&&", ">&", "<&", "&>"] {
        plain = plain.replace(sign, " ");
    }
    !has_loop && !plain.contains('&')
}

/// Whether a line makes a repository or a work tree, and runs git in another folder, which is not there yet.
fn uses_new_folder(action: &Action) -> bool {
    let git = |call: &CommandCall| (call.program == "git").then(|| GitCall::new(call).command.to_owned());
    let makes = |command: &String| matches!(command.as_str(), "clone" | "worktree" | "init" | "submodule");
    let is_elsewhere = |call: &CommandCall| {
        call.program == "git"
            && (call.folder.as_deref() != Some("") || !GitCall::new(call).folders.is_empty())
    };
    action.commands.iter().filter_map(git).any(|command| makes(&command))
        && action.commands.iter().any(is_elsewhere)
}

fn is_passive(call: &CommandCall) -> bool {
    let git = || PASSIVE_GIT.contains(&GitCall::new(call).command);
    PASSIVE.contains(&call.program.as_str()) || (call.program == "git" && git())
}

/// Whether a setting selects a repository, a remote or an address: `remote.origin.url=…`.
fn is_repository_setting(setting: &str) -> bool {
    let key = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
    let sections = ["remote.", "url.", "branch.", "include.", "includeif.", "core.worktree", "core.bare"];
    sections.iter().any(|section| key.starts_with(section))
}

/// Whether a call pushes to or pulls from another remote than the usual one.
fn names_remote(context: &Context<'_>, git: &GitCall<'_>) -> Result<bool, Missing> {
    if !matches!(git.command, "push" | "pull" | "send-pack") {
        return Ok(false);
    }
    let Some(word) = git.value(&["--repo"]).or_else(|| git.operand(0)) else { return Ok(false) };
    let upstream = context.git()?.and_then(|git| git.upstream.as_deref());
    let is_usual = match upstream {
        Some(upstream) => upstream.strip_prefix(word.text).is_some_and(|rest| rest.starts_with('/')),
        None => word.text == "origin",
    };
    Ok(!word.is_known || !is_usual)
}

/// Whether a call changes what a fact names, for the commands after it.
fn changes_fact(context: &Context<'_>, git: &GitCall<'_>, fact: &str) -> Result<bool, Missing> {
    if git.is_unknown || git.has(&["--help", "-h"]) {
        return Ok(git.is_unknown);
    }
    let alias = if is_builtin_command(git.command) {
        None
    } else {
        // An alias of the user's configuration, which is not read, may be any command.
        let state = context.git()?;
        let body = state.and_then(|state| state.aliases.get(&git.command.to_ascii_lowercase()));
        let first = body.and_then(|body| body.split_whitespace().next());
        match first.filter(|first| !first.starts_with('!')) {
            Some(first) => Some(first),
            None => return Ok(true),
        }
    };
    let operand = |at: usize| git.operand(at).map_or("", |word| word.text);
    let command = alias.unwrap_or(git.command);
    let switches = match command {
        "switch" | "bisect" | "init" => true,
        "checkout" => git.before_dashes.is_none_or(|before| before == git.operands.len()),
        "symbolic-ref" => git.operands.len() > 1 || git.has(&["-d", "--delete"]),
        "rebase" => git.operands.len() > 1,
        "branch" => git.has(&["-m", "-M", "--move", "-c", "-C", "--copy", "-u", "--set-upstream-to"]),
        "stash" => operand(0) == "branch",
        _ => alias.is_some() && !is_builtin_command(command),
    };
    let reads = ["--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch"];
    Ok(match fact {
        "branch" => switches,
        "remote" => {
            let sets = command == "config"
                && !git.has(&reads)
                && !matches!(operand(0), "get" | "list")
                && (git.operands.iter().any(|word| !word.is_known || is_repository_setting(word.text))
                    || git.has(&["-e", "--edit"]));
            let remotes = ["add", "set-url", "rename", "remove", "rm", "set-head"];
            switches || sets || (command == "remote" && remotes.contains(&operand(0)))
        }
        "ahead" => {
            let moves = [
                "commit",
                "merge",
                "pull",
                "fetch",
                "push",
                "reset",
                "rebase",
                "cherry-pick",
                "revert",
                "am",
                "update-ref",
            ];
            switches || moves.contains(&command)
        }
        "dirty" => match command {
            "stash" => matches!(operand(0), "pop" | "apply" | "branch"),
            "apply" | "restore" | "rm" | "mv" | "reset" | "update-index" | "read-tree" | "checkout-index" => {
                true
            }
            "cherry-pick" | "revert" | "merge" => git.has(&["-n", "--no-commit"]),
            _ => false,
        },
        _ => switches,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail_shell::command::analyse;

    #[test]
    fn lines_that_select_a_cluster() {
        for line in [
            "kubectl --context prod-eu delete pod x",
            "kubectl delete pod x --context=prod",
            "kubectl --kubeconfig f delete pod x",
            "kubectl --cluster prod delete pod x",
            "kubectl -s https://prod delete pod x",
            "kubectl -shttps://prod delete pod x",
            "kubectl delete pods -As https://prod",
            "kubectl --server=https://prod delete pod x",
            "KUBECONFIG=f kubectl delete pod x",
            "export KUBECONFIG=f; kubectl delete pod x",
            "env KUBECONFIG=f kubectl delete pod x",
            "read KUBECONFIG < f; export KUBECONFIG; kubectl delete pod x",
            "HOME=/x kubectl delete pod x",
            "kubectl config use-context prod && kubectl delete pod x",
            "kubectl config set-context --current --cluster prod; kubectl delete pod x",
            "kubectx prod && kubectl delete pod x",
            "ssh prod kubectl delete pod x",
            "sudo kubectl delete pod x",
            "helm --kube-context prod upgrade a b",
            "HELM_KUBECONTEXT=prod helm upgrade a b",
            "cp prod.yaml ~/.kube/config && kubectl delete pod x",
            "source prod.env && kubectl delete pod x",
            "kubectl $(cat f) delete pod x",
            "cat f | xargs kubectl delete pod",
            "aws eks update-kubeconfig --name prod && kubectl delete pod x",
            "bash -c 'kubectl --context prod delete pod x'",
            "kubectl config set current-context prod && kubectl delete pod x",
            "kubectl config use-context prod -n view && kubectl delete pod x",
            "export $(cat .env); kubectl delete pod x",
            "env $(cat .env) kubectl delete pod x",
            "BASH_ENV=f bash -c 'kubectl delete pod x'",
            "direnv exec . kubectl delete pod x",
            "eval \"$(cat x)\"; kubectl delete pod x",
            "cp -r ~/kprod ~/.kube; kubectl delete pod x",
            "git -C ~/.kube checkout prod && kubectl delete pod x",
            "k3s kubectl delete pod x",
            "kubectl exec pod -- kubectl delete pod x",
            "python3 -c 'import os; os.environ[\"KUBECONFIG\"]=\"f\"; os.system(\"kubectl delete pod x\")'",
        ] {
            assert!(selects_cluster(&analyse(line)), "{line}");
        }
        for line in [
            "kubectl get pods",
            "kubectl -n shop delete pod x",
            "kubectl apply --server-side -f a.yaml",
            "kubectl exec pod -- psql -s --context x",
            "kubectl config current-context",
            "kubectl delete pod x -l app=shop",
            "kubectl delete pod/$NAME",
            "A=b kubectl get pods",
            "helm template -s templates/a.yaml x",
            "cargo test --server",
        ] {
            assert!(!selects_cluster(&analyse(line)), "{line}");
        }
    }

    #[test]
    fn loops_and_background_jobs_have_no_order() {
        for line in ["git commit -m x && git switch main", "make 2>&1; git push", "a &> log; echo ok"] {
            assert!(runs_in_order(line), "{line}");
        }
        for line in ["while true; do a; done", "(sleep 1; a) & b", "for x in 1 2; do a; done", "a & b"] {
            assert!(!runs_in_order(line), "{line}");
        }
        assert!(uses_new_folder(&analyse("git worktree add wt main; cd wt; git commit")));
        assert!(uses_new_folder(&analyse("git clone . y && git -C y commit")));
        assert!(!uses_new_folder(&analyse("git worktree add ../wt main && git commit")));
    }

    #[test]
    fn lines_that_set_a_variable() {
        for line in [
            "DEPLOY_ENV=prod deploy",
            "export DEPLOY_ENV=prod; deploy",
            "export 'DEPLOY_ENV=prod'; deploy",
            "declare -x DEPLOY_ENV=prod; deploy",
            "env DEPLOY_ENV=prod deploy",
            "env -u DEPLOY_ENV deploy",
            "env -i deploy",
            "unset DEPLOY_ENV; deploy",
            "read DEPLOY_ENV < f; deploy",
            "printf -v DEPLOY_ENV prod; deploy",
            "for DEPLOY_ENV in prod; do deploy; done",
            ": ${DEPLOY_ENV:=prod}; deploy",
            "bash -c 'DEPLOY_ENV=prod deploy'",
            "eval DEPLOY_ENV=prod; deploy",
            "make DEPLOY_ENV=prod",
            "cross-env DEPLOY_ENV=prod deploy",
            "docker run -e DEPLOY_ENV=prod x",
            ". ./prod.env; deploy",
            "sudo deploy",
            "export $Y=prod; deploy",
            "export \"$Y\"; deploy",
            "read $Y < f; deploy",
            "unset $X; deploy",
            "env -vi deploy",
            "exec -c deploy",
            "export -n DEPLOY_ENV; deploy",
            "declare +x DEPLOY_ENV; deploy",
            "fish -c 'set -x DEPLOY_ENV prod; deploy'",
            "cat f | xargs -I{} env {} deploy",
            "xargs -a f env deploy",
        ] {
            assert!(sets_variable(&analyse(line), "DEPLOY_ENV"), "{line}");
        }
        for line in [
            "deploy",
            "MY_DEPLOY_ENV=prod deploy",
            "echo $DEPLOY_ENV",
            "DEPLOY_ENV_2=x deploy",
            "env deploy",
            "export PATH=$HOME/bin:$PATH; deploy",
            "env A=$B deploy $X",
        ] {
            assert!(!sets_variable(&analyse(line), "DEPLOY_ENV"), "{line}");
        }
    }
}
