//! What destroys projects, sites and settings on hosted services.

use midrail_core::Severity::{Critical, High, Medium};

use super::super::rule::{Rule, rule};

const FLY: &[&str] = &["fly", "flyctl"];
const VERCEL: &[&str] = &["vercel", "vc", "now"];

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("heroku-destroy", &["heroku"], Critical, "Deletes an app, a database or a part of it")
        .when(&[
            "*:destroy|destroy|pg:reset|pg:push|pg:copy|repo:reset|repo:purge_cache|*:delete|*:remove|\
             *:revoke|*:clear|*:rm|*:cancel|pg:kill|pg:killall|pg:unfollow|redis:cli-flush|\
             *:uninstall|*:invalidate",
            "apps|addons|pg|spaces|teams|pipelines|domains|certs|webhooks|keys|drains|members|access|\
             container|labs destroy|delete|remove|reset",
        ])
        .unless(&["keys:clear-local|plugins:uninstall"])
        .safer("take a backup first; let the owner delete")
        .stops(&[
            "heroku apps:destroy -a x --confirm x", "heroku pg:reset DATABASE", "heroku addons:destroy x",
            "heroku domains:remove x", "heroku -a x pg:reset", "heroku members:remove x",
            "heroku container:rm web",
        ])
        .passes(&["heroku logs", "heroku apps:info", "heroku pg:info", "heroku config"]),
    rule("heroku-change", &["heroku"], Medium, "Changes or stops an app that others use")
        .when(&[
            "*:detach|*:disable|maintenance:on|ps:kill|ps:stop|ps:restart|ps:scale|apps:leave|\
             apps:rename|apps:transfer|config:unset|*:rotate|access:update|clients:update|*:promote|\
             rollback|releases:rollback|*:unset|leave|rename|restart|*:downgrade|*:resize|\
             certs:update|pg:promote|pg:maintenance:run|buildpacks:clear|*:update|dyno:kill|dyno:stop|\
             dyno:restart|ps:resize|apps:lock|features:enable|pipelines:promote|*:unlink|stop|kill",
        ])
        .unless(&["update|plugins:update|ps:scale !@*|autocomplete:*|*:wait", "ps:scale !@*"])
        .likely()
        .safer("leave it to the owner of the app")
        .stops(&[
            "heroku ps:kill web.1", "heroku config:unset X", "heroku rollback v2", "heroku addons:detach x",
        ])
        .passes(&["heroku ps", "heroku config:get X", "heroku releases", "heroku update"]),
    rule("fly-destroy", FLY, Critical, "Deletes an app, a machine or a volume")
        .when(&[
            "apps|app|volumes|volume|vol|machine|machines|m|postgres|pg|redis|certs|secrets|wireguard|\
             orgs|ips|tokens|mysql|tigris|storage|litefs-cloud|extensions|ext|consul|domains destroy|\
             delete|remove|rm|release|revoke|detach|unset @*",
            "apps|app|volumes|volume|vol|machine|machines|postgres|pg|redis|orgs|storage|mpg destroy|\
             delete|remove|rm",
            "destroy", "destroy-pipeline|destroy-team", "ext|extensions * destroy", "volumes|volume|vol snapshots delete",
            "mpg backup-delete",
        ])
        .safer("fly volumes snapshots create first; let the owner delete")
        .stops(&[
            "fly apps destroy x -y", "flyctl volumes destroy vol_1", "fly volume destroy",
            "fly -a x machine destroy 1 --force", "fly secrets unset X", "fly destroy x",
            "fly postgres destroy x",
        ])
        .passes(&[
            "fly apps list", "fly volumes list", "fly deploy", "fly secrets list", "fly secrets set A=b",
        ]),
    rule("package-platform", &["pio", "platformio", "cli4"], High, "Deletes something that others use")
        .when(&["pkg unpublish", "team|org destroy", "access revoke", "--delete"])
        .unless(&["--undo"])
        .safer("leave the deletion to the owner")
        .stops(&["pio pkg unpublish x", "pio team destroy o:t", "cli4 --delete /zones/:x/dns_records/:y"])
        .passes(&["pio pkg list", "pio team list", "cli4 --get /zones"]),
    rule("fly-change", FLY, Medium, "Stops or scales an app that others use")
        .when(&[
            "scale count 0", "scale @0", "machine|machines|m stop|kill|suspend",
            "apps|app|machine restart|suspend|move", "suspend|move @*", "autoscale disable",
            "postgres|pg failover|restart",
        ])
        .safer("leave it to the owner of the app")
        .stops(&["fly scale count 0", "fly machine stop 1", "fly suspend x"])
        .passes(&["fly status", "fly scale show", "fly machine list"]),
    rule("vercel-remove", VERCEL, High, "Deletes deployments, projects, names or settings")
        .when(&[
            "remove|rm",
            "project|projects|domains|domain|env|dns|certs|cert|secrets|secret|teams|alias|aliases|\
             integration|blob|redirects|edge-config rm|remove|delete|del @*",
            "project|projects|domains|domain|dns|certs|integration|alias rm|remove",
            "integration-resource remove|disconnect", "blob del|store", "rollback", "env rm|remove @*",
            "domains transfer-*|move",
        ])
        .unless(&["env rm|remove !@*"])
        .safer("vercel ls shows what is there")
        .stops(&[
            "vercel remove x --yes", "vercel rm x", "vercel project rm x", "vercel env rm X production",
            "vercel domains rm x.io", "vercel --scope t rm x", "vercel rollback",
        ])
        .passes(&[
            "vercel list --next 5", "vercel deploy", "vercel env pull", "vercel", "vercel project ls",
        ]),
    rule("netlify-delete", &["netlify", "ntl"], High, "Deletes a site or its settings")
        .when(&[
            "sites:delete|env:unset|env:clone|functions:delete|blobs:delete|addons:delete|*:delete|\
             db:delete",
            "sites|site|env|blobs|blob|addons|db|functions delete|unset|clone", "rollback",
        ])
        .safer("netlify env:list keeps a copy")
        .stops(&[
            "netlify sites:delete x", "netlify env:unset X", "netlify env:clone --to x",
            "netlify blobs:delete s k",
        ])
        .passes(&["netlify deploy", "netlify env:list", "netlify status", "netlify unlink"]),
    rule(
        "hosting-delete",
        &[
            "railway", "render", "wrangler", "firebase", "neonctl", "neon", "pscale", "turso", "convex",
            "fastly", "cloudflared", "gigalixir", "dokku", "clever", "scalingo", "platform", "upsun",
            "koyeb", "surge", "deployctl", "porter", "nhost", "appwrite", "kamal", "eas", "expo",
            "northflank", "zeabur", "qovery", "cyclic", "deta", "shuttle", "modal", "replicate", "caprover",
            "piku", "lagoon", "acli", "terminus", "bref", "tsuru", "edgio", "trigger", "inngest", "upstash",
            "ngrok", "tailscale", "zerotier-cli", "nebula", "twingate", "teleport", "tctl", "tsh",
            "dagster", "prefect", "airflow", "mlflow", "kedro", "dbt", "astro", "sqlmesh",
        ],
        High,
        "Deletes a project, a site or a part of it",
    )
        .when(&[
            "down|delete|remove|destroy|unlink-service|teardown|unpublish|purge|nuke|terminate|\
             undeploy|uninstall",
            "... delete|destroy|remove|rm|*:delete|*:destroy|*:remove|*:rm|*:disable|*:unset|delete-*|\
             purge|erase|*-delete|*-destroy|*-remove|teardown|reset|disable",
            "kv|r2|d1|queues|pages|secret|hyperdrive|vectorize|dispatch-namespace|workflows|kv:key|\
             kv:namespace|kv:bulk|r2:bucket|versions|tail|deployments|pipelines delete|bulk-delete|\
             remove|rollback|purge|rm|terminate",
            "rollback|restore-backup", "kv|r2|d1|pages|queues * delete|bulk|rm|remove",
            "env|secret|secrets|variables unset|unset-*", "scale @*=0",
            "apps:destroy|postgres:destroy|*:destroy|ps:stop|apps:purge", "backup|restore restore|delete",
            "firestore:delete|hosting:disable|functions:delete|database:remove|projects:delete|\
             auth:import|hosting:sites:delete|database:set|apphosting:*:delete|remoteconfig:rollback|\
             *:delete",
            "service version activate|deactivate",
            "db|database|branch|org|password|service-token|backup|deploy-request|group|tokens|replica|\
             deploy destroy|delete|revoke|promote|demote|cancel|close",
            "app remove|stop|maintenance", "logout --all", "db reset|clean|downgrade|drop-archived",
            "dags|connections|variables|pools|users|roles|tasks delete|clear", "tasks clear",
            "deployment|pool|work-pool|work-queue|flow-run|block|profile|variable|flow|schedule|\
             concurrency-limit delete|clear",
            "gc", "clean",
        ])
        .unless(&[
            "... list|ls|get|show|info|status|describe",
            "login|logout|auth|init|dev|whoami|link|logs|open|run|up|deploy|serve|build|start|config|\
             version|ssh|compile|docs|debug",
            "clean !-*",
        ])
        .safer("list or show it first; let the owner delete")
        .stops(&[
            "railway down", "railway delete", "wrangler delete", "wrangler kv namespace delete --binding X",
            "wrangler d1 delete x", "firebase firestore:delete --all-collections",
            "firebase hosting:disable", "firebase functions:delete f", "neonctl projects delete x",
            "pscale branch delete db b", "turso db destroy x", "fastly service delete -f",
            "fastly logging s3 delete --name x", "dokku apps:destroy x", "wrangler r2 bucket delete x",
            "fastly service version activate --version 12", "cloudflared tunnel delete x",
            "surge teardown x.surge.sh", "kamal remove", "airflow db reset", "expo --org x delete",
            "terminus site:delete x", "airflow dags delete x",
        ])
        .passes(&[
            "railway up", "wrangler deploy", "wrangler dev", "firebase deploy", "fastly service list",
            "dokku apps:list", "turso db list", "kamal deploy", "dbt run", "airflow dags list",
            "wrangler kv namespace list", "dbt clean",
        ]),
    rule(
        "operations-delete",
        &[
            "pd", "datadog-ci", "circleci", "unleash", "ldcli", "sentry-cli", "stripe", "twilio", "shopify",
            "square", "auth0", "okta", "sfdx", "sf", "buildkite-agent", "bk", "travis", "gitlab-runner",
            "newrelic", "nr1", "opsgenie", "grafana-cli", "grafana", "dog", "splunk", "rollbar", "bugsnag",
            "launchdarkly", "flagsmith", "flipt", "flarectl", "cfcli", "lexicon", "godaddy", "namecheap",
            "gandi", "flagd", "growthbook", "jira", "acli", "linear", "hubspot", "hs", "mailgun",
            "sendgrid", "postmark", "contentful", "sanity", "strapi", "directus", "prismic", "storyblok",
            "ghost", "drone", "woodpecker-cli", "codefresh", "semaphore", "snyk", "osc", "ssm", "vsts",
            "bitrise", "appcenter", "fastlane", "chromatic", "percy",
        ],
        High,
        "Deletes something that others rely on at a hosted service",
    )
        .when(&[
            "... delete|remove|archive|destroy|remove-secret|delete-*|unregister|revoke|purge|cancel|\
             rm|del|disable-*|deactivate|*:delete|*:remove|*:destroy|*-delete|unpublish",
            "unregister", "refunds create", "... delete_record|hard_delete|uninstall",
            "releases|sourcemaps|deploys delete|archive", "files delete", "dataset delete|purge",
            "space|environment|content-type|entry|asset delete|unpublish", "-X|--delete|--remove",
            "match nuke", "nuke", "clean eventdata|all",
        ])
        .unless(&["... list|ls|get|show|info|status|describe|search", "login|logout|auth|init|dev|whoami"])
        .safer("list or show it first; let the owner delete")
        .stops(&[
            "pd service delete X", "datadog-ci monitors delete 1", "circleci context delete a b",
            "circleci context remove-secret a b C", "unleash features archive x",
            "sentry-cli releases delete v1", "gitlab-runner unregister --all-runners --url x",
            "gitlab-runner unregister -n x", "fastlane match nuke distribution",
            "sf org delete scratch -o x", "stripe customers delete cus_1", "auth0 apps delete x",
        ])
        .passes(&[
            "pd service list", "circleci config validate", "unleash features list",
            "sentry-cli releases list", "gitlab-runner list", "stripe listen", "unleash features disable x",
        ]),
    rule(
        "deployer-rollback",
        &["cap", "dep", "mina", "deployer", "envoy", "fab", "shipit", "capistrano"],
        Medium,
        "Takes a deployment back, or cleans it up",
    )
        .when(&["... deploy:rollback|deploy:cleanup|rollback|deploy:revert|setup:clobber"])
        .safer("look at the releases first; let the owner decide")
        .stops(&["cap production deploy:rollback", "dep rollback"])
        .passes(&["cap production deploy", "dep deploy"]),
];
