//! How programs read their arguments: which options take a value, and how options are spelt.

use std::sync::OnceLock;

/// How options are spelt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `-xf`, `--long`, `--long=value`.
    Usual,
    /// `-long`, `-long=value`; two dashes mean the same.
    SingleDash,
    /// Folders, then an expression: `find`.
    Search,
}

/// The grammar of some programs.
#[derive(Debug)]
pub(super) struct Grammar {
    /// Their names, with spaces between them.
    programs: &'static str,
    /// How options are spelt.
    pub(super) style: Style,
    /// Options that take a value, wherever they stand.
    pub(super) values: &'static str,
    /// Options that take a value only in front of the first operand.
    pub(super) leading: &'static str,
    /// Long options may be cut short: `--recurs`.
    pub(super) abbreviates: bool,
    /// Words mean the same in capitals.
    pub(super) ignores_case: bool,
    /// Capitals after a dash are the name of a signal: `-TERM`.
    pub(super) has_signals: bool,
}

/// Parts of a search that are followed by another command up to `;` or `+`.
pub(super) const COMMAND_OPTIONS: &[&str] = &["exec", "execdir", "ok", "okdir"];

const USUAL: Grammar = Grammar {
    programs: "",
    style: Style::Usual,
    values: "",
    leading: "",
    abbreviates: false,
    ignores_case: false,
    has_signals: false,
};

/// The grammar of a program. As with the rules about them, each letter of the alphabet has an index of its own.
pub(super) fn of(program: &str) -> &'static Grammar {
    static INDEX: [OnceLock<Vec<(&'static str, &'static Grammar)>>; 256] = [const { OnceLock::new() }; 256];
    let found = program.bytes().next().and_then(|initial| {
        let index = INDEX.get(usize::from(initial))?.get_or_init(|| build(initial));
        index.iter().find(|(known, _)| *known == program)
    });
    found.map_or(&USUAL, |(_, grammar)| grammar)
}

fn build(initial: u8) -> Vec<(&'static str, &'static Grammar)> {
    let names = GRAMMARS
        .iter()
        .flat_map(|grammar| grammar.programs.split_ascii_whitespace().map(move |program| (program, grammar)));
    names.filter(|(program, _)| program.as_bytes().first() == Some(&initial)).collect()
}

/// The names of all programs that have a grammar, sorted.
#[cfg(test)]
pub(super) fn names() -> Vec<&'static str> {
    let mut names: Vec<_> =
        GRAMMARS.iter().flat_map(|grammar| grammar.programs.split_ascii_whitespace()).collect();
    names.sort_unstable();
    names
}

/// Only what moves words out of place is written down here: an option whose value would be taken for an operand.
const GRAMMARS: &[Grammar] = &[
    Grammar {
        programs: "rm unlink rmdir tee sync chmod chown chgrp srm grm",
        values: "--reference",
        abbreviates: true,
        ..USUAL
    },
    Grammar {
        programs: "mv cp ln install gmv gcp",
        values: "-t --target-directory -S --suffix -m --mode -o --owner -g --group",
        abbreviates: true,
        ..USUAL
    },
    Grammar {
        programs: "midrail",
        values: "--color --pack --env --store --root --wait --decision --reason --urgency --guardrail --as --note \
            --key-fd --text --timeout --role --state --mine-role",
        ..USUAL
    },
    Grammar {
        programs: "truncate shred wipe",
        values: "-s --size -r --reference -n --iterations --random-source",
        abbreviates: true,
        ..USUAL
    },
    Grammar { programs: "sed gsed perl ruby", values: "-e --expression -f --file -l", ..USUAL },
    Grammar {
        programs: "claude gemini cursor-agent opencode amp qwen",
        values: "--settings --setting-sources --permission-mode --approval-mode --model --add-dir --allowedTools \
            --disallowedTools --mcp-config --append-system-prompt --system-prompt --output-format",
        ..USUAL
    },
    Grammar {
        programs: "codex",
        values: "-c --config --disable --enable -s --sandbox -m --model -p --profile -a --ask-for-approval -C --cd -i \
            --image --add-dir",
        ..USUAL
    },
    Grammar { programs: "vi vim nvim ex view", values: "-c --cmd -S -u", ..USUAL },
    Grammar { programs: "fallocate", values: "-o --offset -l --length", ..USUAL },
    Grammar { programs: "cmake", values: "-E -P -S -B -D -G -T -A -C --build --install --target", ..USUAL },
    Grammar { programs: "sort gsort", values: "-o --output -k --key -t -S -T", ..USUAL },
    Grammar { programs: "awk gawk mawk nawk", values: "-F -v -f --assign --field-separator --file", ..USUAL },
    Grammar {
        programs: "xargs gxargs",
        values: "-n -P -L -I -s -d -E -a --max-args --max-procs --max-lines --delimiter --arg-file",
        has_signals: true,
        ..USUAL
    },
    Grammar { programs: "usermod", values: "-G --groups -s -d -p -e -l -u -g -c", ..USUAL },
    Grammar { programs: "ssh autossh", values: "-R -L -D -i -p -o -F -J -l -W -M -w -b -c -E -S", ..USUAL },
    Grammar { programs: "setfacl", values: "-m -x -M -X --modify --remove", ..USUAL },
    Grammar {
        programs: "tar bsdtar gtar",
        values: "-f --file -C --directory --exclude -X -T",
        abbreviates: true,
        ..USUAL
    },
    Grammar {
        programs: "rsync",
        values: "-e --rsh --exclude --include --exclude-from --include-from --files-from -f --filter \
            --backup-dir --suffix --temp-dir -T --compare-dest --copy-dest --link-dest --port \
            --password-file --log-file --bwlimit --chown --chmod --max-size --min-size -B",
        ..USUAL
    },
    Grammar {
        programs: "find gfind bfs",
        style: Style::Search,
        values: "name iname path ipath wholename iwholename regex iregex lname ilname type xtype mtime atime \
            ctime mmin amin cmin newer anewer cnewer newermt size perm user group uid gid maxdepth \
            mindepth inum samefile links fstype regextype printf fprint fprint0 fprintf fls D",
        ..USUAL
    },
    Grammar {
        programs: "git",
        values: "-m --message --author --date -o --push-option --receive-pack --exec --repo --upload-pack \
            --onto",
        leading: "-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix \
            --attr-source",
        abbreviates: true,
        ..USUAL
    },
    Grammar {
        programs: "gh glab hub tea",
        values: "-R --repo --hostname -X --method -H --header -f -F --field --raw-field -q --jq -t \
            --template -e --env -o --org -g --group",
        ..USUAL
    },
    Grammar { programs: "hg svn jj", leading: "-R --repository --cwd --config", ..USUAL },
    Grammar {
        programs: "docker podman nerdctl docker-compose podman-compose buildah crictl ctr finch",
        values: "--filter",
        leading: "-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey -f --file -p \
            --project-name --project-directory --profile --env-file --ansi --parallel -n --namespace -a \
            --address --connection --url --root --runroot",
        ..USUAL
    },
    Grammar {
        programs: "kubectl k oc kubecolor microk8s.kubectl k9s",
        values: "-n --namespace --context --kubeconfig --cluster --user -l --selector -s --server --token \
            --as --as-group --field-selector -o --output --grace-period --timeout --cascade --replicas \
            -f --filename -k --kustomize -p --patch --type --cache-dir --certificate-authority \
            --client-key --client-certificate --request-timeout -v --clusterrole --serviceaccount",
        ..USUAL
    },
    Grammar {
        programs: "helm helmfile argocd flux istioctl velero kind minikube k3d eksctl kops rancher oc-mirror \
            linkerd cilium kustomize skaffold tilt ctlptl devspace werf",
        values: "-n --namespace --kube-context --kubeconfig --context --name --cluster --region -p --profile \
            --profiles -f --file -e --environment -l --selector --server --timeout --set --values \
            --version --state",
        ..USUAL
    },
    Grammar {
        programs: "terraform tofu terragrunt packer consul nomad vault bao boundary waypoint",
        style: Style::SingleDash,
        values: "target var var-file state chdir namespace ns address token http-addr terragrunt-working-dir \
            working-dir region mount",
        ..USUAL
    },
    Grammar {
        programs: "pulumi cdk sam serverless sls copilot amplify cdktf sst chalice zappa ask eb ecs-cli",
        values: "-s --stack -C --cwd -a --app --profile --region -c --context --stack-name --stage -e --env \
            -n --name -t --target",
        ..USUAL
    },
    Grammar {
        programs: "aws awslocal",
        values: "--profile --region --output --endpoint-url --query --cli-read-timeout --color \
            --cli-connect-timeout --query-string --ca-bundle --cli-input-json --exclude --include --sql \
            --desired-count",
        ..USUAL
    },
    Grammar {
        programs: "gcloud gsutil bq az doctl hcloud oci ibmcloud linode-cli scw exo vultr-cli aliyun tccli \
            yc openstack civo upctl ovhai cf nova swift ccloud confluent",
        values: "--project --account --configuration --region --zone --location --format --context -o \
            --output --subscription -g --resource-group -n --name --query --profile --compartment-id \
            --cluster --instance --access-token -t --billing-project --api-key --os-cloud --folder-id \
            --environment --role --member --mode --assignee",
        ..USUAL
    },
    Grammar {
        programs: "npm pnpm yarn bun npx pnpx bunx",
        values: "--prefix -C --dir --cwd -w --workspace --filter -F --registry --tag --otp",
        ..USUAL
    },
    Grammar {
        programs: "cargo",
        values: "-C --config --manifest-path -Z --color --target-dir -p --package --registry --index --vers \
            --version --token",
        ..USUAL
    },
    Grammar { programs: "make gmake just rake task", values: "-C -f --directory --file", ..USUAL },
    Grammar {
        programs: "redis-cli valkey-cli keydb-cli",
        values: "-h -p -s -a -u -n -r -i -t --user --pass --askpass -X -D",
        ignores_case: true,
        ..USUAL
    },
    Grammar {
        programs: "mysqladmin mariadb-admin mysql mariadb mysqldump",
        values: "-u --user -h --host -P --port -S --socket -e --execute -D --database --password",
        ..USUAL
    },
    Grammar {
        programs: "dropdb dropuser createdb psql pg_dropcluster patronictl",
        values: "-h --host -p --port -U --username -d --dbname --maintenance-db -c --command -j --jobs -n --schema \
            -t --table -f --file",
        ..USUAL
    },
    Grammar {
        programs: "pg_restore pg_dump pg_dumpall",
        values: "-h --host -p --port -U --username -d --dbname -j --jobs -n --schema -N --exclude-schema -t --table \
            -T --exclude-table -f --file -F --format -Z --compress -E --encoding -S --superuser -L --use-list \
            -I --index -P --function --role",
        ..USUAL
    },
    Grammar {
        programs: "mongo mongosh mongorestore mongoimport",
        values: "--eval --host --port -u --username -p --password --authenticationDatabase -d --db -c \
            --collection --uri -f --file",
        ..USUAL
    },
    Grammar {
        programs: "etcdctl",
        values: "--endpoints --cacert --cert --key --user -w --command-timeout",
        ..USUAL
    },
    Grammar {
        programs: "kafka-topics kafka-topics.sh kafka-consumer-groups kafka-consumer-groups.sh \
            kafka-delete-records kafka-delete-records.sh kafka-configs kafka-configs.sh kafka-acls \
            kafka-acls.sh",
        values: "--bootstrap-server --zookeeper --topic --group",
        ..USUAL
    },
    Grammar {
        programs: "curl",
        values: "-X --request -H --header -d --data --data-raw --data-binary --data-urlencode --data-ascii \
            --json -F --form --form-string -T --upload-file -u --user -o --output -A --user-agent -b \
            --cookie -c --cookie-jar -e --referer -m --max-time -x --proxy -E --cert --key --cacert -K \
            --config -w --write-out --connect-timeout --retry -r --range --resolve --url -C \
            --continue-at -y -Y --unix-socket --limit-rate --aws-sigv4 --oauth2-bearer -z -t -U -P -Q --quote",
        ..USUAL
    },
    Grammar {
        programs: "wget http https xh xhs httpie aria2c",
        values: "--method -O --output-document --header --post-file --body-file --post-data --body-data -o \
            -a --auth -P -A --user --password -s --style -p --print",
        ..USUAL
    },
    Grammar { programs: "scp sftp", values: "-i -P -o -F -S -c -l -J -D -X -b -B -R", ..USUAL },
    Grammar {
        programs: "restic rustic borg kopia duplicity duplicacy",
        values: "-r --repo --repository-file -p --password-file --exclude --include --host --tag --rsh \
            --lock-wait --remote-path --config-file",
        ..USUAL
    },
    Grammar {
        programs: "rclone s3cmd s5cmd mc mcli b2",
        values: "--config -c --config-dir -C --exclude --include --filter --endpoint-url --profile \
            --transfers --checkers --bwlimit --log-file --access_key --secret_key --older-than \
            --newer-than",
        ..USUAL
    },
    Grammar {
        programs: "heroku fly flyctl vercel vc now netlify ntl railway render wrangler firebase supabase \
            neonctl neon pscale turso convex fastly cloudflared gigalixir dokku clever scalingo \
            platform upsun koyeb surge deployctl deno porter nhost appwrite hasura kamal cap eas expo \
            pd datadog-ci circleci unleash ldcli sentry-cli stripe twilio shopify square auth0 okta \
            sfdx sf algolia buildkite bk travis gitlab-runner hcp atlas doppler infisical op bw \
            confluent-cloud",
        values: "-a --app -r --remote --org -t --token --scope -S --cwd --project -P --team --config -c \
            --site --environment --service -s --project-ref --alias -o --auth --filter",
        ..USUAL
    },
    Grammar {
        programs: "systemctl service rc-service sv launchctl supervisorctl pm2 initctl s6-rc monit",
        values: "-H --host -M --machine -t --type -n --lines -o --output -c",
        ..USUAL
    },
    Grammar {
        programs: "apt apt-get aptitude yum dnf zypper pacman apk brew snap flatpak port dpkg rpm emerge pkg \
            xbps-remove opkg choco scoop winget nix-env yay paru microdnf tdnf slackpkg eopkg swupd \
            pkgin guix",
        values: "-o -c -t --installroot --root -a",
        leading: "--option",
        ..USUAL
    },
    Grammar {
        programs: "lvremove lvresize lvreduce lvextend vgreduce",
        values: "-L --size -l --extents -n",
        ..USUAL
    },
    Grammar { programs: "snapper timeshift", values: "-c --config --snapshot", ..USUAL },
    Grammar { programs: "flushall flushdb", ignores_case: true, ..USUAL },
    Grammar { programs: "crontab", values: "-u", ..USUAL },
    Grammar {
        programs: "iptables ip6tables ebtables arptables iptables-nft ip6tables-nft iptables-legacy",
        values: "-t --table",
        ..USUAL
    },
    Grammar { programs: "ip", style: Style::SingleDash, values: "n netns f family", ..USUAL },
    Grammar {
        programs: "kill killall pkill skill",
        values: "-s --signal -u --user -U -t -g -G -P --uid -o -y",
        has_signals: true,
        ..USUAL
    },
    Grammar { programs: "ssh-keygen", values: "-f -t -b -C -N -P -R -F -I -n", ..USUAL },
    Grammar { programs: "osascript lftp", values: "-e -l -s -c", ..USUAL },
    Grammar {
        programs: "java openssl osqueryi flyway diskutil dscl tmutil mdutil systemsetup networksetup \
            sysadminctl defaults security scutil profiles rdfind keytool",
        style: Style::SingleDash,
        values: "jar cp classpath dryrun deleteduplicates",
        ..USUAL
    },
    Grammar {
        programs: "ansible ansible-playbook",
        values: "-m --module-name -a --args -i --inventory -l --limit -e --extra-vars -t -u -f -M --tags",
        ..USUAL
    },
    Grammar { programs: "journalctl", values: "-u --unit -n -S -U -o -D", ..USUAL },
    Grammar { programs: "nginx haproxy apachectl httpd apache2ctl", values: "-s -c -g -p -k -f", ..USUAL },
    Grammar {
        programs: "liquibase alembic knex sequelize typeorm prisma mix goose dbmate migrate sqlx diesel \
            sea-orm-cli drizzle-kit rails artisan manage.py django-admin symfony console flask phinx",
        values: "-c --config --schema --url -d --dataSource --env -n --name --path -database --database \
            --database-url -x --settings --connection -D --source -s",
        ..USUAL
    },
    Grammar { programs: "mount umount", values: "-t -o -O --types --options", ..USUAL },
    Grammar {
        programs: "pip pip3 pipx uv poetry conda mamba twine gem bundle composer dotnet nuget mvn mvnw \
            gradle gradlew hatch flit pdm luarocks",
        values: "-C --directory --project -n --name -p -r --repository -f --file -i --source -s --api-key -k \
            --index-url --extra-index-url --default-index --index",
        ..USUAL
    },
];
