//! What destroys things that a cloud provider runs or keeps.

use midrail_core::Severity::{Critical, High, Medium};

use super::super::rule::{Rule, rule};

const AWS: &[&str] = &["aws", "awslocal"];
const GCLOUD: &[&str] = &["gcloud"];
const AZ: &[&str] = &["az"];

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("aws-s3-remove", AWS, Critical, "Deletes a bucket, or all objects below a path")
        .when(&["s3 rb", "s3 rm --recursive", "s3api delete-bucket|delete-objects", "s3api delete-bucket*"])
        .safer("aws s3 rm --dryrun shows what would go")
        .stops(&[
            "aws s3 rb s3://x --force", "aws s3 rm s3://x/ --recursive",
            "aws --profile p s3 rm --recursive s3://x", "aws s3api delete-bucket --bucket x",
        ])
        .passes(&[
            "aws s3 ls", "aws s3 cp a s3://x/a", "aws s3 rm s3://x --recursive --dryrun",
            "aws s3 sync a s3://x", "aws s3api list-buckets",
        ]),
    rule("aws-s3-object", AWS, Medium, "Deletes or moves objects of a bucket")
        .when(&[
            "s3 rm|mv", "s3 sync --delete",
            "s3api put-bucket-lifecycle*|put-bucket-policy|put-bucket-versioning|put-bucket-acl|\
             put-public-access-block|put-object-acl",
        ])
        .unless(&["... help"])
        .safer("aws s3 ls shows what is there")
        .stops(&["aws s3 rm s3://x/a", "aws s3 sync a s3://x --delete", "aws s3 mv s3://x/a s3://y/a"])
        .passes(&["aws s3 sync a s3://x", "aws s3 sync --delete --dryrun a s3://x"]),
    rule("aws-delete", AWS, Critical, "Deletes something that runs or is kept in the cloud")
        .when(&[
            "* delete-*|terminate-*|purge-*|destroy-*|batch-delete-*|schedule-key-deletion|\
             disable-key|force-delete-*|bulk-delete-*|admin-delete-*|delete",
            "deploy delete-*",
        ])
        .unless(&[
            "* delete-tags|delete-message|delete-message-batch|delete-item|delete-objects-tagging|\
             delete-object-tagging",
        ])
        .safer("list or describe it first; let the owner delete")
        .stops(&[
            "aws ec2 terminate-instances --instance-ids i-1",
            "aws rds delete-db-instance --db-instance-identifier x",
            "aws --region eu-west-1 cloudformation delete-stack --stack-name x",
            "aws iam delete-user --user-name x", "aws dynamodb delete-table --table-name x",
            "aws kms schedule-key-deletion --key-id x", "aws sqs purge-queue --queue-url x",
            "aws lambda delete-function --function-name x",
            "aws secretsmanager delete-secret --secret-id x --force-delete-without-recovery",
            "aws ecr batch-delete-image --repository-name x",
            "aws route53 delete-traffic-policy --id x --version 1",
        ])
        .passes(&[
            "aws ec2 describe-instances", "aws iam list-users", "aws lambda invoke --function-name x out",
            "aws sts get-caller-identity", "aws rds help",
            "aws ec2 terminate-instances --dry-run --instance-ids i-1",
        ]),
    rule("aws-take-away", AWS, High, "Stops or takes apart something that runs in the cloud")
        .when(&[
            "* remove-*|admin-disable-*|admin-remove-*|admin-reset-*|deregister-*|detach-*|\
             disassociate-*|revoke-*|stop-*|disable-*|reboot-*|release-*|reject-*|deactivate-*|\
             unassign-*|cancel-*|reset-*|restore-*|failover-*|shutdown-*|decrease-*|delete-tags|\
             delete-item|delete-message|batch-disassociate-*|untag-*",
            "ec2 modify-instance-attribute|replace-*",
            "autoscaling set-desired-capacity|update-auto-scaling-group", "s3control delete-*",
        ])
        .unless(&["* stop-query-execution|stop-query|cancel-*-query|untag-*"])
        .safer("describe it first; let the owner decide")
        .stops(&[
            "aws ec2 stop-instances --instance-ids i-1", "aws ecs deregister-task-definition x",
            "aws ec2 revoke-security-group-ingress --group-id x",
            "aws rds stop-db-instance --db-instance-identifier x",
            "aws iam detach-role-policy --role-name x",
            "aws secretsmanager remove-regions-from-replication --secret-id x",
        ])
        .passes(&["aws ec2 start-instances --instance-ids i-1", "aws logs tail x"]),
    rule("aws-overwrite", AWS, Medium, "Replaces secrets, names or rights that services rely on")
        .when(&[
            "secretsmanager update-secret*|put-secret-value|rotate-secret|put-resource-policy|\
             restore-secret",
            "route53 change-resource-record-sets", "cloudfront create-invalidation|update-distribution",
            "iam put-*|attach-*|create-access-key|update-*|create-login-profile|add-user-to-group|\
             create-policy-version",
            "ssm put-parameter --overwrite", "kms put-key-policy|update-*",
            "ec2 authorize-security-group-ingress", "s3api put-bucket*",
            "organizations leave-organization|close-account|move-account|remove-*",
            "lambda update-function-code|update-function-configuration|remove-permission",
            "ecs update-service --desired-count=0", "rds modify-db-instance|modify-db-cluster",
            "athena start-query-execution --query-string=*DROP*|--query-string=*DELETE*|\
             --query-string=*drop*|--query-string=*delete*|--query-string=*TRUNCATE*|\
             --query-string=*truncate*",
            "cloudtrail stop-logging|update-trail|put-event-selectors", "guardduty update-detector",
            "config stop-*", "cloudformation update-stack|deploy|execute-change-set",
            "dynamodb update-table|delete-item", "ec2 modify-*",
        ])
        .likely()
        .safer("read the current value first")
        .stops(&[
            "aws secretsmanager update-secret --secret-id x --description y",
            "aws route53 change-resource-record-sets --hosted-zone-id Z",
            "aws iam attach-user-policy --user-name x", "aws cloudtrail stop-logging --name x",
            "aws ssm put-parameter --name x --overwrite",
        ])
        .passes(&[
            "aws secretsmanager get-secret-value --secret-id x", "aws route53 list-hosted-zones",
            "aws iam get-user", "aws ssm get-parameter --name x",
        ]),
    rule("gcloud-delete", GCLOUD, Critical, "Deletes something that runs or is kept in the cloud")
        .when(&[
            "... delete|destroy|purge|delete-*|wipe|disable-and-delete", "storage rm",
            "... buckets|objects delete", "projects delete",
        ])
        .unless(&["config configurations|unset"])
        .safer("list or describe it first; let the owner delete")
        .stops(&[
            "gcloud projects delete x", "gcloud compute instances delete x --zone y -q",
            "gcloud --project p sql instances delete x", "gcloud storage rm -r gs://x",
            "gcloud container clusters delete x", "gcloud iam service-accounts delete x",
            "gcloud beta run services delete x", "gcloud kms keys versions destroy 1 --key x",
        ])
        .passes(&[
            "gcloud compute instances list", "gcloud projects list", "gcloud storage ls gs://x",
            "gcloud run deploy x", "gcloud auth login",
        ]),
    rule("gcloud-take-away", GCLOUD, High, "Stops or takes apart something that runs in the cloud")
        .when(&[
            "... remove-*|stop|reset|disable|suspend|detach-disk|revoke|cancel|rollback|failover|\
             restore|drain|abandon|deprecate|undeploy|remove-iam-policy-binding|set-iam-policy|\
             clear-*|shutdown",
            "storage rsync --delete-unmatched-destination-objects",
            "sql|spanner|firestore import|restore-backup|promote-replica",
        ])
        .unless(&["auth|config|components", "... list|describe|get-iam-policy|start|enable"])
        .safer("describe it first; let the owner decide")
        .stops(&[
            "gcloud compute instances stop x", "gcloud services disable x",
            "gcloud projects remove-iam-policy-binding x", "gcloud secrets versions disable 1 --secret x",
            "gcloud compute instances reset x",
        ])
        .passes(&[
            "gcloud compute instances start x", "gcloud auth revoke", "gcloud config unset project",
            "gcloud services enable x",
        ]),
    rule("gsutil-remove", &["gsutil"], Critical, "Deletes buckets or objects")
        .when(&["rb|rm", "rsync -d"])
        .unless(&["rsync -n"])
        .safer("gsutil ls shows what is there")
        .stops(&[
            "gsutil rm -r gs://x", "gsutil -m rm gs://x/**", "gsutil rb gs://x", "gsutil rsync -d a gs://x",
        ])
        .passes(&[
            "gsutil ls", "gsutil cp a gs://x", "gsutil rsync a gs://x", "gsutil rsync -n -d a gs://x",
        ]),
    rule("gsutil-change", &["gsutil"], Medium, "Changes who may read a bucket, or how long it keeps things")
        .when(&[
            "lifecycle|retention|versioning|iam|acl|defacl|cors|kms|website|logging set|ch|clear|lock",
            "setmeta|mv",
        ])
        .unless(&["... get"])
        .safer("gsutil iam get shows who may read it now")
        .stops(&[
            "gsutil iam ch allUsers:objectViewer gs://x", "gsutil versioning set off gs://x",
            "gsutil lifecycle set a.json gs://x",
        ])
        .passes(&["gsutil iam get gs://x"]),
    rule("bigquery-remove", &["bq"], Critical, "Deletes tables or datasets")
        .when(&["... rm|truncate", "... load|query|cp|mk|extract --replace", "... update --expiration*"])
        .safer("bq show only shows")
        .stops(&["bq rm -r -f d", "bq --project_id=x rm -t d.t", "bq load --replace d.t a.csv"])
        .passes(&["bq ls", "bq show d.t", "bq query x", "bq load d.t a.csv"]),
    rule("azure-delete", AZ, Critical, "Deletes something that runs or is kept in the cloud")
        .when(&["... delete|purge|delete-batch|delete-*|destroy|remove-all|batch-delete"])
        .unless(&["account|config|cache|extension clear|remove|purge"])
        .safer("list or show it first; let the owner delete")
        .stops(&[
            "az group delete -n x --yes", "az aks delete --name x", "az storage blob delete-batch -s x",
            "az keyvault purge --name x", "az --subscription s vm delete -n x", "az sql db delete -n x",
        ])
        .passes(&["az group list", "az vm start -n x", "az login", "az account show", "az cache purge"]),
    rule("azure-take-away", AZ, High, "Stops or takes apart something that runs in the cloud")
        .when(&[
            "... remove|remove-*|revoke-*|stop|deallocate|untag|unassign|disable|revoke|detach|reset|\
             failover|restart|abandon|cancel|regenerate*|renew|reimage|force-failover|redeploy|\
             restore|swap|sync",
        ])
        .unless(&[
            "account|config|extension|cloud|configure|devops|feature|storage-preview",
            "... list|show|start|list-keys|remove-value",
        ])
        .safer("show it first; let the owner decide")
        .stops(&[
            "az vm deallocate -n x", "az webapp stop -n x", "az acr repository untag --image x",
            "az network vnet peering sync -n x",
        ])
        .passes(&["az vm list", "az account clear", "az vm start -n x"]),
    rule(
        "cloud-delete",
        &[
            "doctl", "hcloud", "linode-cli", "oci", "ibmcloud", "scw", "exo", "vultr-cli", "aliyun",
            "tccli", "yc", "openstack", "civo", "upctl", "cf", "nova", "swift", "ccloud", "confluent",
            "cinder", "glance", "neutron", "ovhcloud", "outscale", "hcp", "metal", "triton", "stackit",
            "otc", "katapult", "brev", "runpodctl", "vastai", "paperspace", "gradient", "ionosctl",
            "kamatera", "dcos", "databricks", "atlas", "mongocli", "astro", "cdp", "starburst", "aiven",
            "avn", "ecctl", "akamai", "cloudsmith", "jfrog", "jf",
        ],
        High,
        "Deletes something that runs or is kept in the cloud",
    )
        .when(&[
            "... delete|destroy|terminate|purge|rm|remove|remove-*|delete-*|del|erase|cancel|\
             bulk-delete|del-*|d|rmi",
            "... *-delete|*-rm|*-remove|*-destroy|*-cancel|*-terminate|*-purge",
            "* Delete*|Terminate*|Remove*|Release*|Destroy*",
            "... delete-org|delete-space|delete-service|purge-service-*|unbind-service|\
             delete-orphaned-routes|stop|undeploy|disable-*|reset",
            "workspace|fs|jobs|clusters|secrets|repos|pipelines|unity-catalog|tables|\
             catalogs permanent-delete|rm|delete|delete-scope",
            "server stop|poweroff|reset|shutdown|rebuild|reboot|suspend|rescue",
        ])
        .unless(&[
            "... list|show|get|describe|ls|create|start|info|download|upload",
            "auth|login|logout|config|profile|context|plugin|update|version",
        ])
        .safer("list or show it first; let the owner delete")
        .stops(&[
            "doctl compute droplet delete x -f", "hcloud server delete x", "linode-cli linodes delete 1",
            "oci compute instance terminate --instance-id x", "ibmcloud ks cluster rm -c x",
            "scw instance server delete x", "aliyun ecs DeleteInstance --InstanceId x",
            "openstack server delete x", "civo kubernetes remove x", "cf delete app -f",
            "hcloud volume delete x", "ibmcloud resource service-instance-delete x",
            "databricks fs rm -r dbfs:/x", "atlas clusters delete x --force", "hcloud server poweroff x",
            "avn service terminate x",
        ])
        .passes(&[
            "doctl compute droplet list", "hcloud server list", "oci compute instance list",
            "ibmcloud login", "cf push", "openstack server create x", "databricks fs ls",
        ]),
    rule("aws-sql", AWS, High, "Deletes data or tables by a statement")
        .when(&[
            "rds-data|redshift-data execute-statement|batch-execute-statement --sql=*DROP*|--sql=*drop*|\
             --sql=*TRUNCATE*|--sql=*truncate*|--sql=*DELETE*|--sql=*delete*",
        ])
        .safer("select what it would delete first")
        .stops(&["aws rds-data execute-statement --resource-arn x --sql 'DROP TABLE users'"])
        .passes(&["aws rds-data execute-statement --sql 'select 1'"]),
    rule("gcloud-owner-grant", GCLOUD, Medium, "Gives an account all rights in a project")
        .when(&["... add-iam-policy-binding --role=roles/owner|--role=roles/editor|--role=*Admin|--role=*admin"])
        .safer("give a role that allows only what is needed")
        .stops(&["gcloud projects add-iam-policy-binding p --member user:x --role roles/owner"])
        .passes(&["gcloud projects add-iam-policy-binding p --member user:x --role roles/viewer"]),
    rule("azure-owner-grant", AZ, Medium, "Gives an account all rights in a subscription")
        .when(&["role assignment create --role=Owner|--role=Contributor|--role=User*Access*Administrator"])
        .safer("give a role that allows only what is needed")
        .stops(&["az role assignment create --assignee x --role Owner"])
        .passes(&["az role assignment create --assignee x --role Reader", "az role assignment list"]),
    rule("azure-deploy-complete", AZ, High, "Deletes all resources that the template does not name")
        .when(&["deployment ... create --mode=Complete|--mode=complete"])
        .safer("az deployment group what-if shows what would go")
        .stops(&["az deployment group create -g x --mode Complete -f a.bicep"])
        .passes(&["az deployment group create -g x -f a.bicep", "az deployment group create --mode Incremental"]),
];
