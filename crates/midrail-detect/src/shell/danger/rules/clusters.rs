//! What destroys clusters and what runs in them.

use midrail_core::Severity::{Critical, High, Medium};

use super::super::rule::{Rule, rule};

const KUBECTL: &[&str] = &["kubectl", "k", "oc", "kubecolor"];

/// A single pod is named.
const ONE_POD: &str = "delete pod|pods|po * !@* !--force|--all|-l|--selector|-A|--all-namespaces";

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule(
        "cluster-delete-all",
        KUBECTL,
        Critical,
        "Deletes whole namespaces, nodes, volumes or kinds, with all that is in them",
    )
        .when(&[
            "delete ns|namespace|namespaces|project|projects|ns/*|namespace/*|node|nodes|node/*|no|pv|\
             pvc|persistentvolume|persistentvolumes|persistentvolumeclaim|persistentvolumeclaims|\
             pvc/*|pv/*|crd|crds|crd/*|customresourcedefinition|customresourcedefinitions|sc|\
             storageclass|all|clusterrole|clusterrolebinding|statefulset|statefulsets|sts|sts/*|\
             statefulset/*|secret|secrets|volumesnapshot|*,*",
            "delete --all|-A|--all-namespaces", "delete --all=true", "... delete --all-namespaces",
        ])
        .unless(&["delete secret|secrets @*"])
        .safer("kubectl get shows what is there; --dry-run=client what would go")
        .stops(&[
            "kubectl delete namespace prod", "kubectl delete pods --all", "kubectl -n x delete pvc data",
            "k delete ns x", "oc delete project x", "kubectl delete all --all -n x",
            "kubectl --context c delete node n1", "kubectl delete deploy,svc -l app=x",
        ])
        .passes(&[
            "kubectl get pods", "kubectl delete ns x --dry-run=client", "kubectl get pods --all-namespaces",
            "kubectl describe ns x",
        ]),
    rule("cluster-delete", KUBECTL, High, "Deletes what runs in the cluster")
        .when(&["delete @*", "delete -f|--filename|-k|--kustomize|-l|--selector|--all", "delete"])
        .unless(&[ONE_POD, "delete pod/*|po/* !@* !-f|--force|--all"])
        .safer("kubectl delete --dry-run=client shows what would go")
        .stops(&[
            "kubectl delete pod x y", "kubectl delete -f a.yml", "kubectl delete -k overlays/prod",
            "kubectl -n prod delete deployment web", "kubectl delete ingressroute x",
        ])
        .passes(&[
            "kubectl apply -f a.yml", "kubectl logs x", "kubectl delete pod x --dry-run=server",
            "kubectl delete --help",
        ]),
    rule("cluster-delete-pod", KUBECTL, Medium, "Stops a pod; another may take its place")
        .when(&[ONE_POD, "delete pod/*|po/* !@*"])
        .safer("kubectl rollout restart starts pods anew one by one")
        .stops(&["kubectl delete pod web-1", "kubectl -n x delete po/web-1", "kubectl delete pod/web-1"])
        .passes(&["kubectl get pod web-1", "kubectl delete pod x --dry-run=client"]),
    rule("cluster-admin-grant", KUBECTL, Medium, "Gives an account all rights in the cluster")
        .when(&["create clusterrolebinding|rolebinding --clusterrole=cluster-admin|--clusterrole=admin"])
        .safer("give a role that allows only what is needed")
        .stops(&["kubectl create clusterrolebinding x --clusterrole=cluster-admin --user=me"])
        .passes(&["kubectl create clusterrolebinding x --clusterrole=view --user=me"]),
    rule("cluster-scale-to-none", KUBECTL, High, "Stops all copies of what runs in the cluster")
        .when(&["scale --replicas=0"])
        .safer("kubectl scale with at least one replica keeps it running")
        .stops(&["kubectl scale deploy/x --replicas=0", "kubectl scale --replicas 0 deploy x"])
        .passes(&["kubectl scale deploy/x --replicas=3"]),
    rule("cluster-drain", KUBECTL, High, "Takes work away from nodes, or lets it stop")
        .when(&[
            "drain|adm @*", "replace --force", "taint @*NoExecute*", "delete --force",
            "apply --prune|--force", "rollout undo",
        ])
        .unless(&["adm top|policy|inspect|must-gather|release|node-logs|manage-node --list-pods"])
        .safer("leave nodes to whoever runs the cluster")
        .stops(&[
            "kubectl drain n1 --ignore-daemonsets",
            "kubectl replace --force -f a.yml",
            "kubectl rollout undo deploy/x", "kubectl taint nodes n1 a=b:NoExecute",
        ])
        .passes(&[
            "kubectl scale deploy/x --replicas=3", "kubectl replace -f a.yml", "kubectl uncordon n1",
            "kubectl rollout status deploy/x", "kubectl apply --force-conflicts -f a.yml",
        ]),
    rule("cluster-change", KUBECTL, Medium, "Changes what runs in the cluster")
        .when(&[
            "scale|cordon|taint|edit", "rollout restart|pause|resume",
            "set image|env|resources|serviceaccount|subject|selector @*", "patch @*",
            "config delete-context|delete-cluster|delete-user|unset|rename-context",
            "label|annotate --overwrite", "auth reconcile", "certificate deny", "autoscale @*",
            "debug node/*", "policy @*", "adm policy",
        ])
        .safer("change the manifests, and let kubectl diff show what differs")
        .stops(&[
            "kubectl rollout restart deploy/x", "kubectl cordon n1",
            "kubectl scale deploy x --replicas=3 -n prod", "kubectl patch deploy x -p {}",
            "kubectl edit deploy x",
        ])
        .passes(&[
            "kubectl get nodes -o wide", "kubectl rollout history deploy/x", "kubectl diff -f a.yml",
            "kubectl config use-context x",
        ])
        .unless(&[
            "scale --replicas=1|--replicas=2|--replicas=3|--replicas=4|--replicas=5 !-n|--namespace|\
             --context",
        ]),
    rule("manifest-delete", &["ko", "loft", "vcluster", "tye"], High, "Deletes what runs in a cluster")
        .when(&["delete @*", "delete -f|--filename|-R", "undeploy"])
        .safer("list what would go first; let the owner delete")
        .stops(&["ko delete -f app.yaml", "loft delete vcluster x", "vcluster delete x", "tye undeploy"])
        .passes(&["ko apply -f app.yaml", "vcluster list", "ko build ."]),
    rule(
        "helm-uninstall",
        &["helm", "helmfile", "helmsman", "helm3"],
        High,
        "Removes what a chart has installed, or takes it back",
    )
        .when(&[
            "uninstall|delete|del|un|destroy|rollback", "upgrade --force|--reset-values",
            "plugin|repo remove|rm|uninstall --all",
        ])
        .safer("helm get all shows what would go")
        .stops(&[
            "helm uninstall x", "helm -n prod delete x", "helm rollback x 2",
            "helm upgrade --force x chart", "helmfile destroy",
        ])
        .passes(&[
            "helm list", "helm upgrade x chart", "helm install x chart", "helm history x",
            "helm uninstall x --dry-run",
        ]),
    rule(
        "delivery-delete",
        &[
            "argocd", "flux", "fluxctl", "kubectl-argo-rollouts", "argo", "tkn", "kn", "spin", "werf",
            "skaffold", "devspace", "tilt", "kapp", "kpt", "kubectx", "kubens", "ytt", "kudo", "crossplane",
            "porter",
        ],
        High,
        "Removes what is deployed",
    )
        .when(&[
            "app|appset|cluster|proj|project|repo|account|cert|gpg|repocreds|application delete|rm|\
             remove|terminate-op|rollback|delete-resource|delete-token|delete-*",
            "app sync --prune|--force|--replace",
            "delete|uninstall|remove|purge|destroy|terminate|stop|cleanup|dismiss", "undo|abort @*",
            "pipeline|pipelinerun|task|taskrun|service|revision|trigger|broker|pr|tr|p|t|\
             clustertask delete|rm",
            "live destroy", "app-group delete", "-d", "down",
        ])
        .safer("look at the difference first")
        .stops(&[
            "argocd app delete x", "argocd app rollback x 1", "flux delete kustomization x",
            "flux uninstall", "tkn pipeline delete x -f", "skaffold delete", "kapp delete -a x",
            "kubectx -d x",
        ])
        .passes(&[
            "argocd app list", "flux get all", "argocd app sync x", "skaffold dev", "tkn pipeline list",
            "tilt up",
        ]),
    rule(
        "mesh-uninstall",
        &[
            "istioctl", "linkerd", "cilium", "velero", "kubevela", "vela", "cmctl", "osm", "calicoctl",
            "antctl", "longhornctl", "rook",
        ],
        High,
        "Removes a part that the cluster relies on, or its backups",
    )
        .when(&[
            "uninstall|delete|del|reset|purge", "x uninstall",
            "backup|restore|schedule|snapshot|backup-location|snapshot-location|repo|bsl|vsl|\
             data-upload delete",
            "... delete",
        ])
        .unless(&["get|describe|logs|version|create|install|check"])
        .safer("velero backup get only lists")
        .stops(&[
            "istioctl uninstall --purge", "velero backup delete x --confirm", "velero uninstall",
            "cilium uninstall", "velero schedule delete x", "calicoctl delete ippool x",
        ])
        .passes(&["velero backup get", "istioctl install", "velero backup create x", "cilium status"]),
    rule(
        "local-cluster-delete",
        &[
            "kind", "minikube", "k3d", "ctlptl", "microk8s", "k0s", "vcluster", "crc", "talosctl",
            "kubeadm", "rke", "rke2", "k0sctl", "kurl",
        ],
        High,
        "Deletes a cluster with all that is in it",
    )
        .when(&[
            "delete|destroy|remove|reset|uninstall|down",
            "cluster|clusters|node|nodes|registry|registries delete|destroy|rm",
            "etcd-snapshot delete|prune|restore", "... reset|wipe", "token delete",
        ])
        .unless(&[
            "list|get|status|start|create|version|stop|init|up|enable|kubectl|load|profile|dashboard|\
             config|service|ssh|ip|image|addons|join|upgrade|certs",
        ])
        .safer("stop it instead")
        .stops(&[
            "kind delete cluster", "minikube delete --all", "k3d cluster delete x", "kubeadm reset -f",
            "vcluster delete x", "talosctl -n x reset", "microk8s reset",
        ])
        .passes(&[
            "kind create cluster", "minikube start", "k3d cluster list", "kubeadm init", "minikube stop",
        ]),
    rule(
        "managed-cluster-delete",
        &[
            "eksctl", "kops", "rosa", "ocm", "tanzu", "rancher", "clusterctl", "gardenctl", "tkgi",
            "openshift-install", "kubermatic",
        ],
        Critical,
        "Deletes a cluster with all that is in it",
    )
        .when(&["delete|destroy|drain|uninstall", "... delete|rm|destroy|remove"])
        .unless(&["get|list|describe|create"])
        .safer("leave clusters to whoever runs them")
        .stops(&[
            "eksctl delete cluster --name x", "kops delete cluster x --yes", "rosa delete cluster -c x",
            "openshift-install destroy cluster", "eksctl drain nodegroup x", "rancher cluster delete x",
        ])
        .passes(&["eksctl get cluster", "kops get clusters", "eksctl create cluster"]),
    rule("nomad-stop", &["nomad"], High, "Stops jobs, or deletes what they rely on")
        .when(&[
            "job stop|revert|deregister", "stop|system gc|@*", "stop @*",
            "node|namespace|volume|quota|acl|var|alloc|deployment|service|server|operator drain|purge|\
             delete|stop|detach|deregister|force-leave|fail|remove-peer",
            "node drain|eligibility", "acl token|policy|role delete", "var purge", "system gc|reconcile",
            "volume delete|deregister|detach|snapshot",
            "operator raft|snapshot|autopilot remove-peer|restore",
        ])
        .unless(&["node|volume|var|acl|namespace|job|alloc|deployment status|list|get"])
        .safer("nomad job status only shows")
        .stops(&[
            "nomad job stop -purge x", "nomad stop x", "nomad node drain -enable x",
            "nomad namespace delete x", "nomad system gc",
        ])
        .passes(&["nomad job status", "nomad job run a.hcl", "nomad node status"]),
    rule(
        "cluster-uninstall",
        &["k3s-uninstall.sh", "k3s-agent-uninstall.sh", "rke2-uninstall.sh", "k3s-killall.sh"],
        Critical,
        "Takes a cluster off the machine with all that is in it",
    )
        .safer("stop it instead")
        .stops(&["k3s-uninstall.sh", "/usr/local/bin/rke2-uninstall.sh"])
        .passes(&["k3s-uninstall.sh --help"]),
];
