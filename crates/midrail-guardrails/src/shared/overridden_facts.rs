//! Facts of the project that the event's own command line overrides. A probe reads the state before the line; a line that selects
//! another cluster, repository, branch or value of a variable makes the fact unknown for its event.

use midrail_core::{Action, CommandCall, Context, Missing};

use super::file_access::known_actions;
use super::file_paths::is_temporary;
use super::git::{GitCall, is_builtin_command, is_other_repository};

/// Whether the event's command line overrides what a fact such as `kube.context` names. Missing: the line is not known.
pub fn overrides_fact(context: &Context<'_>, name: &str) -> Result<bool, Missing> {
    if context.event.tool.is_none() {
        return Ok(false);
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

/// Programs that run others on another machine, in a container or as another user: with other variables and settings.
const ELSEWHERE: &[&str] = &[
    "ssh",
    "mosh",
    "docker",
    "podman",
    "nerdctl",
    "vagrant",
    "chroot",
    "nsenter",
    "lxc",
    "sudo",
    "su",
    "doas",
    "runuser",
    "pkexec",
    "machinectl",
    "flatpak-spawn",
    "distrobox",
    "distrobox-enter",
    "toolbox",
    "fish",
    "csh",
    "tcsh",
    "nu",
    "xonsh",
    "pwsh",
    "powershell",
    "cmd",
];

/// Programs that load variables and then run another one.
const LOADERS: &[&str] = &[
    "direnv",
    "mise",
    "asdf",
    "dotenv",
    "dotenvx",
    "op",
    "aws-vault",
    "chamber",
    "doppler",
    "infisical",
    "teller",
    "envchain",
    "systemd-run",
    "vault",
    "sops",
    "envconsul",
    "summon",
    "nix-shell",
    "nix",
];

/// Commands of a shell whose arguments are names of variables.
const NAMING: &[&str] = &[
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "unset",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "let",
    "set",
];

/// Languages whose code, as an argument, can set variables before it runs a command.
const LANGUAGES: &[&str] =
    &["python", "python3", "perl", "ruby", "node", "awk", "gawk", "mawk", "php", "lua", "deno", "bun"];

/// Options whose value is code.
const CODE_OPTIONS: &[&str] = &["-c", "-e", "-E", "-r", "--eval", "-p", "--print", "eval"];

/// Programs that only print, or that only change the folder.
const PASSIVE: &[&str] = &[
    "echo", "printf", "true", ":", "cd", "pwd", "ls", "cat", "head", "tail", "grep", "rg", "wc", "sort",
    "less", "sleep", "date", "test", "[",
];

/// Subcommands of git that only print or fetch.
const PASSIVE_GIT: &[&str] =
    &["status", "log", "diff", "show", "fetch", "rev-parse", "describe", "blame", "ls-files", "shortlog"];

fn is_elsewhere(call: &CommandCall) -> bool {
    ELSEWHERE.contains(&call.program.as_str())
}

/// Whether a call may set any variable: from a file that the line does not contain, by an unknown name, or in code of a language.
fn sets_unknown(call: &CommandCall) -> bool {
    let program = call.program.as_str();
    let names_unknown = |args: &[String]| {
        let mut args = args.iter().enumerate().filter(|(at, _)| call.unknown.contains(at));
        args.any(|(_, arg)| !names_variable(arg)) || call.has_more_args
    };
    match program {
        "source" | "." => true,
        "eval" => !call.unknown.is_empty(),
        "env" => {
            let is_own = |arg: &String| arg.starts_with(['-', '$', '`', '{']) || names_variable(arg);
            let own = call.args.iter().take_while(|arg| is_own(arg)).count();
            let own = call.args.get(..own).unwrap_or_default();
            names_unknown(own) || own.iter().any(|arg| arg.starts_with('{'))
        }
        "awk" | "gawk" | "mawk" => call.args.iter().any(|arg| arg.contains("system") || arg.contains('|')),
        _ if NAMING.contains(&program) => names_unknown(&call.args),
        _ if LANGUAGES.contains(&program) => call.args.iter().any(|arg| CODE_OPTIONS.contains(&arg.as_str())),
        _ => LOADERS.contains(&program) || call.args.iter().any(|arg| is_start_file(arg)),
    }
}

/// Whether a word is an assignment with a known name: `A=$B`.
fn names_variable(arg: &str) -> bool {
    let name = arg.split_once('=').map_or("", |(name, _)| name.trim_end_matches('+'));
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Options of shells that name a file to run first.
fn is_start_file(arg: &str) -> bool {
    matches!(arg.split('=').next(), Some("--rcfile" | "--init-file"))
}

/// Variables that name a file which shells run first.
fn is_start_variable(name: &str) -> bool {
    matches!(name, "BASH_ENV" | "ENV" | "ZDOTDIR")
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

/// Options of programs for clusters that select another one.
const CLUSTER_OPTIONS: &[&str] = &[
    "--context",
    "--kubeconfig",
    "--cluster",
    "--server",
    "--kube-context",
    "--kube-apiserver",
    "--kube-token",
];

/// Programs that use the current cluster.
const CLUSTER_PROGRAMS: &[&str] = &[
    "kubectl",
    "oc",
    "helm",
    "helmfile",
    "k9s",
    "flux",
    "argocd",
    "istioctl",
    "linkerd",
    "cilium",
    "skaffold",
    "tilt",
    "stern",
    "kustomize",
    "velero",
    "kapp",
    "werf",
    "kubecolor",
];

/// Programs that change the current cluster, with the word that does so. An empty word: any call.
const CLUSTER_SWITCHES: &[(&str, &str)] = &[
    ("kubectx", ""),
    ("kubie", ""),
    ("kubeswitch", ""),
    ("switcher", ""),
    ("kubesess", ""),
    ("kubech", ""),
    ("oc", "login"),
    ("oc", "logout"),
    ("oc", "project"),
    ("gcloud", "get-credentials"),
    ("aws", "update-kubeconfig"),
    ("az", "get-credentials"),
    ("doctl", "kubeconfig"),
    ("eksctl", "write-kubeconfig"),
    ("eksctl", "create"),
    ("kind", "create"),
    ("kind", "export"),
    ("kind", "delete"),
    ("k3d", "create"),
    ("k3d", "merge"),
    ("minikube", "start"),
    ("minikube", "profile"),
    ("minikube", "update-context"),
    ("tsh", "login"),
    ("rancher", "context"),
    ("k3s", ""),
    ("k0s", ""),
    ("rke2", ""),
    ("microk8s", ""),
    ("minikube", "kubectl"),
    ("vcluster", ""),
    ("kubectl-ctx", ""),
    ("kubectl-konfig", ""),
    ("kubectl-switch", ""),
    ("kcs", ""),
    ("kubecm", ""),
    ("kubelogin", ""),
    ("civo", "--switch"),
    ("scw", "kubeconfig"),
    ("oci", "create-kubeconfig"),
    ("linode-cli", "kubeconfig-view"),
    ("ibmcloud", "config"),
];

/// Subcommands of `kubectl config` that change nothing.
const CONFIG_READERS: &[&str] = &["view", "current-context", "get-contexts", "get-clusters", "get-users"];

/// Letters of options of `kubectl` without a value, after which `s` is the server: `-As URL`.
const BARE_LETTERS: &[char] = &['A', 'R', 'h', 'i', 'q', 't', 'w'];

/// Whether a line selects another cluster than the current context.
fn selects_cluster(action: &Action) -> bool {
    let is_setting = |name: &String| {
        name == "HOME" || name.starts_with("KUBE") || name.starts_with("HELM_KUBE") || is_start_variable(name)
    };
    let is_settings_file =
        |file: &String| file.split(['/', '=']).any(|part| part == ".kube") || file.contains("kubeconfig");
    let touches = |call: &CommandCall| {
        !PASSIVE.contains(&call.program.as_str()) && call.args.iter().any(is_settings_file)
    };
    action.sets.iter().any(is_setting)
        || action.writes.iter().any(is_settings_file)
        || action.commands.iter().any(|call| {
            is_elsewhere(call)
                || sets_unknown(call)
                || switches_cluster(call)
                || names_cluster(call)
                || touches(call)
        })
}

fn switches_cluster(call: &CommandCall) -> bool {
    let has = |word: &str| call.args.iter().any(|arg| arg == word);
    let is_plugin = call.program == "kubectl" && ["ctx", "konfig", "switch"].iter().any(|word| has(word));
    let is_kubectl = matches!(call.program.as_str(), "kubectl" | "oc" | "kubecolor");
    let after_config = call.args.iter().skip_while(|arg| *arg != "config").nth(1);
    let changes_config = is_kubectl
        && has("config")
        && !after_config.is_some_and(|word| CONFIG_READERS.contains(&word.as_str()));
    // What runs in a pod uses the cluster and the settings of the pod.
    let inside = call.args.iter().skip_while(|arg| *arg != "--");
    let runs_inside = is_kubectl && inside.into_iter().any(|arg| CLUSTER_PROGRAMS.contains(&arg.as_str()));
    let is_switch =
        |(program, word): &(&str, &str)| *program == call.program && (word.is_empty() || has(word));
    is_plugin || changes_config || runs_inside || CLUSTER_SWITCHES.iter().any(is_switch)
}

fn names_cluster(call: &CommandCall) -> bool {
    if !CLUSTER_PROGRAMS.contains(&call.program.as_str()) {
        return false;
    }
    let is_kubectl = matches!(call.program.as_str(), "kubectl" | "oc" | "kubecolor");
    let mut args = call.args.iter().enumerate().take_while(|(_, arg)| *arg != "--");
    let is_named = args.any(|(at, arg)| {
        let option = arg.split('=').next().unwrap_or_default();
        // A word that begins with an unknown value can be an option.
        let is_unknown = call.unknown.contains(&at) && arg.starts_with(['$', '`', '-', '*', '?', '[']);
        let letters = arg.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let is_server =
            letters.is_some_and(|letters| letters.trim_start_matches(BARE_LETTERS).starts_with('s'));
        CLUSTER_OPTIONS.contains(&option) || is_unknown || (is_kubectl && is_server)
    });
    is_named || (call.has_more_args && !call.args.iter().any(|arg| arg == "--"))
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
    if fact == "dirty" && runs_git && action.writes.iter().chain(&action.sweeps).any(is_work) {
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
