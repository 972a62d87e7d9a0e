//! What destroys infrastructure that is described as code, and the secrets that it relies on.

use midrail_core::Severity::{Critical, High, Medium};

use super::super::rule::{Rule, rule};

const TERRAFORM: &[&str] = &["terraform", "tofu", "terragrunt", "tf", "terramate", "tfctl"];

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("terraform-destroy", TERRAFORM, Critical, "Destroys the infrastructure that the state knows")
        .when(&[
            "destroy", "apply -destroy", "run-all|run|stack destroy", "... destroy", "apply -destroy=true",
            "run @destroy",
        ])
        .unless(&["plan", "run-all plan", "... plan"])
        .safer("terraform plan -destroy shows what would go")
        .stops(&[
            "terraform destroy", "terraform destroy -auto-approve", "terraform -chdir=x destroy",
            "tofu apply -destroy", "terragrunt run-all destroy", "terraform destroy -target=a.b",
        ])
        .passes(&[
            "terraform plan", "terraform plan -destroy", "terraform init", "terraform validate",
            "terraform show",
        ]),
    rule(
        "terraform-apply",
        TERRAFORM,
        Medium,
        "Changes infrastructure, and may replace or delete parts of it",
    )
        .when(&["apply|import|taint|untaint", "run-all|stack apply", "run --all apply"])
        .unless(&["run-all plan|validate|init|output", "import --help"])
        .safer("terraform plan, and let a person apply it")
        .stops(&[
            "terraform apply", "terraform apply -auto-approve", "terraform taint a.b",
            "terragrunt run-all apply",
        ])
        .passes(&["terraform plan -out p", "terraform fmt", "terraform output", "terragrunt run-all plan"]),
    rule(
        "terraform-state",
        TERRAFORM,
        High,
        "Lets the state forget or mix up infrastructure that still exists",
    )
        .when(&[
            "state rm|push|mv|replace-provider", "workspace delete", "force-unlock",
            "init -migrate-state|-reconfigure -force-copy", "workspace delete -force",
        ])
        .safer("terraform state pull keeps a copy")
        .stops(&[
            "terraform state rm a.b", "terraform workspace delete x", "terraform state push a.tfstate",
            "terraform force-unlock 1",
        ])
        .passes(&[
            "terraform state list", "terraform workspace list", "terraform state show a.b",
            "terraform workspace select x", "terraform state pull",
        ]),
    rule(
        "stack-destroy",
        &[
            "pulumi", "cdk", "sam", "serverless", "sls", "copilot", "amplify", "cdktf", "sst", "chalice",
            "zappa", "eb", "ecs-cli", "cdk8s", "cdklocal", "samlocal", "ampx", "azd", "encore", "nitric",
            "wing", "sceptre", "runway", "stacker", "claudia", "shep", "osls", "winglang", "jets", "rain",
            "cargo-lambda", "garden", "opta", "atmos", "terraspace", "spacectl", "env0",
        ],
        Critical,
        "Destroys everything that the stack has made",
    )
        .when(&[
            "destroy|remove|delete|down|terminate|undeploy|nuke|rm",
            "stack|env|environment|svc|service|job|app|pipeline|task|cluster delete|rm|remove|destroy|\
             down",
            "sandbox delete", "local cleanup", "terraform destroy", "cleanup", "all down|destroy",
            "compose down|service-rm",
        ])
        .unless(&["up", "down --preview-only|--preview", "destroy --preview-only", "remove --noDeploy"])
        .safer("look at a preview first")
        .stops(&[
            "pulumi destroy --yes", "pulumi down", "cdk destroy -f --all", "sam delete --no-prompts",
            "serverless remove --stage prod", "sls remove", "copilot app delete", "amplify delete --force",
            "eb terminate x", "npx cdk destroy", "azd down --purge", "pulumi stack rm x", "sst remove",
        ])
        .passes(&[
            "pulumi preview", "cdk diff", "sam build", "serverless info", "pulumi up", "cdk synth",
            "npx cdk deploy", "pulumi destroy --preview-only",
        ]),
    rule("stack-state", &["pulumi"], High, "Lets the state forget infrastructure that still exists")
        .when(&[
            "state delete|unprotect|edit|move|rename", "cancel", "stack import", "config rm|rm-all",
            "org|policy|plugin rm|remove|disable", "refresh --yes|-y|-f",
        ])
        .safer("pulumi stack export keeps a copy")
        .stops(&["pulumi state delete urn:x", "pulumi cancel", "pulumi stack import --file a"])
        .passes(&["pulumi stack ls", "pulumi config get a", "pulumi stack export"]),
    rule(
        "stack-deploy-unasked",
        &["pulumi", "cdk", "cdktf", "sst", "azd"],
        Medium,
        "Changes infrastructure without showing what it would replace",
    )
        .when(&[
            "up|update -y|--yes|-f|--skip-preview",
            "deploy --require-approval=never|--auto-approve|--force|-f",
            "deploy --require-approval --stage=prod*", "deploy --stage=prod*",
        ])
        .safer("show the difference, and let a person approve it")
        .stops(&[
            "pulumi up --yes", "cdk deploy --require-approval=never", "cdktf deploy --auto-approve",
            "sst deploy --stage=production",
        ])
        .passes(&["pulumi preview", "cdk deploy", "pulumi up"]),
    rule("ansible-removes", &["ansible"], High, "Deletes files, packages or services on other machines")
        .when(&[
            "-a=*state=absent*|--args=*state=absent*|-a=*rm*-*r*|-a=*rm*-*f*|-a=*reboot*|\
             -a=*shutdown*|-a=*mkfs*|-a=*state=stopped*|--args=*state=stopped*",
            "-m=reboot|--module-name=reboot|-m=ansible.builtin.reboot",
            "-m=user|-m=mysql_db|-m=postgresql_db -a=*absent*",
        ])
        .safer("ansible --check shows what would change")
        .stops(&[
            "ansible all -m file -a 'path=/x state=absent'", "ansible web -m shell -a 'rm -rf /x'",
            "ansible all -m reboot",
        ])
        .passes(&["ansible all -m ping", "ansible all --list-hosts", "ansible all -C -m ping"])
        .unless(&["-C|--check"]),
    rule(
        "configuration-manager",
        &[
            "salt", "salt-key", "salt-ssh", "knife", "puppet", "puppetserver", "cfn", "foreman-rake",
            "hammer", "chef-server-ctl", "spacewalk-remove-channel", "juju", "maas", "bosh", "fleetctl",
        ],
        High,
        "Deletes machines, keys or settings of many hosts",
    )
        .when(&[
            "-d|-D|--delete|--delete-all",
            "* file.remove|pkg.remove|pkg.purge|system.reboot|system.shutdown|system.poweroff|\
             service.stop|user.delete|disk.format",
            "... file.remove|pkg.remove|pkg.purge|system.reboot|system.shutdown|service.stop",
            "node|client|environment|role|cookbook|data|user|ec2|tag|vault delete|bulk|purge|bag",
            "... delete|destroy|purge", "cert|node|ca clean|purge|deactivate|revoke|destroy",
            "remove-*|destroy-*|kill-*|detach-storage|unregister", "machine release|delete",
            "delete-deployment|delete-*|deld|clean-up|stop", "cleanse|reindex", "org-delete|user-delete",
        ])
        .safer("list what it would hit first")
        .stops(&[
            "salt '*' cmd.run x file.remove /y", "salt-key -D -y", "knife node delete x -y",
            "puppet node purge x", "juju destroy-model x", "bosh delete-deployment -d x",
            "juju remove-application x",
        ])
        .passes(&[
            "salt '*' test.ping", "knife node list", "juju status", "puppet agent --test",
            "bosh deployments",
        ]),
    rule("vault-destroy", &["vault", "bao"], Critical, "Deletes secrets, or cuts services off from them")
        .when(&[
            "delete @*", "secrets|auth|audit disable|move", "kv delete|destroy", "kv metadata delete",
            "policy delete", "lease|token revoke", "token revoke", "lease revoke",
            "operator seal|rekey|rotate|step-down|raft|generate-root|migrate", "namespace delete|lock",
            "plugin deregister",
        ])
        .unless(&[
            "operator raft list-peers|autopilot|snapshot", "operator rotate -status",
            "operator rekey -status",
        ])
        .safer("vault kv get only reads")
        .stops(&[
            "vault secrets disable secret/", "vault kv destroy -versions=1 secret/x",
            "vault kv metadata delete secret/x", "vault delete secret/x", "vault lease revoke -prefix aws/",
            "vault token revoke x", "vault operator seal", "vault audit disable file",
            "vault -address=x delete a",
        ])
        .passes(&[
            "vault kv get secret/x", "vault status", "vault secrets list", "vault token lookup",
            "vault login", "vault kv list secret/",
        ]),
    rule("vault-overwrite", &["vault", "bao"], Medium, "Replaces a secret or who may read it")
        .when(&["kv put|rollback|patch", "write @*", "policy write", "auth tune"])
        .likely()
        .safer("vault kv get first")
        .stops(&["vault kv put secret/x a=b", "vault policy write x a.hcl"])
        .passes(&["vault kv get secret/x", "vault read secret/x"]),
    rule(
        "password-manager",
        &[
            "op", "bw", "pass", "gopass", "lpass", "keepassxc-cli", "doppler", "infisical", "chamber",
            "berglas", "teller", "rbw", "dcli", "passbolt",
        ],
        High,
        "Deletes secrets",
    )
        .when(&[
            "item|vault|document|user|group|connect|service-account|events-api delete|remove|suspend|\
             revoke",
            "delete|rm|remove|purge|rmdir @*", "secrets|configs|projects|environments|activity delete",
            "purge",
        ])
        .unless(&["rm --help"])
        .safer("leave secrets to their owner")
        .stops(&[
            "op item delete x", "bw delete item 1", "pass rm -r work", "doppler secrets delete X",
            "chamber delete svc key",
        ])
        .passes(&["op item list", "bw list items", "pass show x", "doppler run -- x", "op read op://a/b"]),
];
