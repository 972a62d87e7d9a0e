//! Command lines that select another cluster than the current context of kubectl.

use midrail_core::{Action, CommandCall};

use super::elsewhere::{PASSIVE, is_elsewhere, is_start_variable, sets_unknown};

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
pub(super) fn selects_cluster(action: &Action) -> bool {
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

/// Whether a script of the project selects another cluster by name.
pub(super) fn selects_by_name(action: &Action) -> bool {
    let has_option = |call: &CommandCall| {
        let mut options = call.args.iter().map(|arg| arg.split('=').next().unwrap_or_default());
        CLUSTER_PROGRAMS.contains(&call.program.as_str())
            && options.any(|option| CLUSTER_OPTIONS.contains(&option))
    };
    action.sets.iter().any(|name| name.starts_with("KUBE"))
        || action.commands.iter().any(|call| switches_cluster(call) || has_option(call))
}
