//! Commands that other names, options and variables could hide.

use super::{assert_blocked, assert_harmless, assert_rule, rules};

#[test]
fn commands_are_found_behind_options_and_other_names() {
    assert_blocked(&[
        "uv --directory / run rm -rf etc",
        "poetry -C / run rm -rf etc",
        "pnpm -C / exec rm -rf etc",
        "yarn --cwd / exec rm -rf etc",
        "bwrap --bind / / --ro-bind /usr /usr rm -rf /etc",
        "bwrap --setenv A b rm -rf /etc",
        "mpirun --mca a b rm -rf /etc",
        "nix --option a b develop -c rm -rf /etc",
        "nix develop --option a b -c rm -rf /etc",
        "podman exec -l rm -rf /data",
        "podman exec --latest rm -rf /data",
        "bun run rm -rf /etc",
        "cargo +nightly publish",
        "pnpm exec -c 'rm -rf /etc'",
        "gdb --args rm -rf /etc",
        "hyperfine -w 3 ls ls ls ls ls ls 'rm -rf /etc'",
        "hyperfine ls --prepare 'rm -rf /etc'",
        "just -c rm -rf /etc",
        "ncat -c 'rm -rf /etc' host 1",
        "gdb -batch -ex run --args rm -rf /etc",
        "fd . / --exec=rm -rf",
        "fd . / -xrm -rf",
        r#"tmux if true 'run-shell "rm -rf /etc"'"#,
        "tmux if-shell 'rm -rf /etc' 'display x'",
        "vim.basic -c '!rm -rf /etc'",
        "nvim -c '!rm -rf /etc'",
        r#"deno --quiet eval 'Deno.removeSync("/etc", {recursive: true})'"#,
        r#"pwsh -WorkingDirectory d -c 'Remove-Item -Recurse -Force C:\'"#,
        r#"python manage.py shell -c 'import os; os.system("rm -rf /etc")'"#,
        r#"python manage.py shell -c "import os; os.system('rm -rf /etc')""#,
        r#"php artisan tinker --execute 'system("rm -rf /etc");'"#,
        "gcp /dev/null /etc/passwd",
        "grm -rf /etc",
        "gfind / -delete",
        "bfs / -delete",
        "gxargs rm -rf /etc",
        "finch run --rm -v /:/host alpine rm -rf /host/etc",
        "socat - EXEC:'rm -rf /etc'",
        "gsed -i d /etc/passwd",
        "awslocal s3 rb s3://bucket --force",
    ]);
}

#[test]
fn second_readings_of_a_line_are_judged() {
    for line in [
        "btrfs su de /data/x",
        "colima ssh -- rm -rf /home/user/data",
        "find -D tree / -name x -delete",
        "find -E / -name x -delete",
        "find -O3 / -name '*.log' -delete",
        "find -x ~ -name x -delete",
        "gem pus x.gem",
        "gh repo delete x --yes --help=false",
        "git --zzz y rebase -x 'rm -rf /etc'",
        "git clean -fdx --exclude --dry-run",
        "git clean -fdx -e -n",
        "git clean -fdx -i --no-interactive",
        "git push --force --dry-run --no-dry",
        "git push -f -n --no-dry-run",
        "git restore --staged --no-staged .",
        "git submodule --quiet foreach 'rm -rf /home/user/x'",
        "git submodule -q foreach 'git push --force'",
        "git-branch -D x",
        "git-push --force",
        "git-rebase -x 'rm -rf /etc'",
        "git-stash clear",
        "gradle help publish",
        "heroku run --zzz ls 'rm -rf /home/user'",
        "ip r d default",
        "kubectl delete ns x --help=false",
        "kubectl rollout -v 6 undo deploy/x",
        "mysqladmin -f dr db",
        "mysqladmin help drop db -f",
        "nerdctl system -n k8s.io prune -af",
        "npm owner --foo bar rm me x",
        "npm pub",
        "npm publ",
        "npm publish --noop",
        "npm unpubl x --force",
        "npm unpublish pkg --force --noop",
        "npm.cmd publish",
        "npx $FLAGS rimraf /home/user",
        "npx --foo bar rimraf@5 /home/user",
        "php artisan migrate:fr --force",
        "php bin/console d:s:d --force",
        "podman system --connection x reset -f",
        "podman volume --log-level debug rm data",
        "pulumi destroy -y -m --help",
        "python $X manage.py flush --noinput",
        "sequelize db:drop --dry-run",
        "shred help /home/user/data/key",
        "supabase db --workdir x reset --linked",
        "teller run -- git push --force",
        "truncate -s 0 help /etc/passwd",
        "yarn --foo bar prisma migrate reset --force",
    ] {
        assert!(!rules(line).is_empty(), "{line}");
    }
}

#[test]
fn flags_in_front_of_a_command_do_not_hide_it() {
    assert_blocked(&[
        "crictl exec -it ID rm -rf /data",
        "dtruss -s rm -rf /etc",
        "heaptrack -r rm -rf /etc",
        "reflex -r X -e git push --force",
        "viddy -s 'rm -rf /etc'",
        "saml2aws exec -- git push --force",
        "pnpm dlx -c rm -rf /etc",
        "pnpm exec git -c a=b push --force",
        "daemon -c rm -rf /etc",
        "script -q -t 0 /dev/null rm -rf /etc",
        "kitty sh -c 'rm -rf /etc'",
        "st git push --force",
        "wezterm start git push --force",
        "colima ssh -- rm -rf /data",
        "orb run rm -rf /etc",
        "orb git push --force",
        "buildah unshare rm -rf /etc",
        "devspace enter -- rm -rf /data",
        "teller run -- git push --force",
        "envchain ns git push --force",
        "meta git push --force",
        "repo forall -c git push --force",
    ]);
    assert_harmless(&[
        "orb list",
        "kitty --hold",
        "meta git status",
        "repo sync -j4",
        "pm2 start app.js --name x",
    ]);
}

#[test]
fn values_that_are_code_are_followed() {
    assert_blocked(&[
        "split --filter='rm -rf /etc' f",
        "zip x y -T -TT 'rm -rf /etc'",
        "sops exec-file f 'rm -rf /etc'",
        "doctl compute ssh x --ssh-command 'rm -rf /data'",
        "mosh --ssh='sh -c \"rm -rf /etc\"' h",
        "gpg --photo-viewer 'rm -rf /etc' --list-keys",
        "gita shell 'rm -rf /etc'",
        "gita shell one 'rm -rf /etc'",
        "meta exec 'rm -rf /etc'",
        "chokidar x -c 'rm -rf /etc'",
        "execlineb -Pc 'rm -rf /etc'",
        "ray exec c.yaml 'rm -rf /data'",
        "rpm --pipe 'rm -rf /etc' -qa",
        "certbot renew --post-hook 'rm -rf /etc'",
        "oksh -c 'rm -rf /etc'",
        "brush -c 'rm -rf /etc'",
    ]);
    assert_harmless(&["split -l 10 f", "zip -r x.zip y", "certbot renew", "gpg --list-keys"]);
}

#[test]
fn variables_that_load_code_are_opaque() {
    assert_rule(
        "opaque",
        &[
            "LD_PRELOAD=./x.so ls",
            "export LD_PRELOAD=/tmp/x.so",
            "env LD_PRELOAD=./x.so git status",
            "PATH=./evil:$PATH ls",
            "PATH=.:$PATH make",
            "BASH_ENV=./x.sh bash -c ls",
            "NODE_OPTIONS='--require ./x.js' node a.js",
            "PYTHONSTARTUP=x.py python3",
            "JAVA_TOOL_OPTIONS=-javaagent:x.jar mvn test",
            "RUBYOPT=-r./x ruby a.rb",
        ],
    );
    assert_harmless(&[
        "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 ./server",
        "NODE_OPTIONS=--max-old-space-size=4096 npm run build",
        "export PATH=$PWD/node_modules/.bin:$PATH",
        "export PATH=\"$HOME/.cargo/bin:$PATH\"",
        "PATH=$PATH:/usr/local/bin make",
        "PATH=.venv/bin:$PATH python main.py",
        "ENV=production node server.js",
        "JAVA_TOOL_OPTIONS=-Xmx2g mvn test",
    ]);
}
