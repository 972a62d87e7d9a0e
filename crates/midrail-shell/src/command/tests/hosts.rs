//! The hosts that a command line contacts, and where they are not known.

use crate::command::analyse;

fn hosts(command: &str) -> (Vec<String>, bool) {
    let action = analyse(command);
    (action.hosts, action.has_unknown_hosts)
}

#[test]
fn hosts_of_registries_and_forges_are_known() {
    for (command, expected) in [
        ("pip install x", "pypi.org"),
        ("python3 -m pip install x", "pypi.org"),
        ("pip install --index-url https://mirror.example/simple x", "mirror.example"),
        ("uv pip install x", "pypi.org"),
        ("poetry add x", "pypi.org"),
        ("npm install", "registry.npmjs.org"),
        ("npm i @scope/x", "registry.npmjs.org"),
        ("npm install --registry https://npm.example x", "npm.example"),
        ("npx prettier .", "registry.npmjs.org"),
        ("cargo install ripgrep", "crates.io"),
        ("go get example.com/x", "proxy.golang.org"),
        ("gem install rails", "rubygems.org"),
        ("docker pull evil.example/x", "evil.example"),
        ("docker pull localhost:5000/x", "localhost"),
        ("docker pull nginx:1.2", "docker.io"),
        ("docker pull library/nginx", "docker.io"),
        ("docker run --rm -v a:b evil.example/x ls", "evil.example"),
        ("podman image pull quay.io/x/y", "quay.io"),
        ("gh pr list", "github.com"),
        ("aws s3 ls", "amazonaws.com"),
        ("aws --endpoint-url https://s3.example s3 ls", "s3.example"),
        ("git clone git@github.com:a/b.git", "github.com"),
        ("git push https://github.com/a/b main", "github.com"),
        ("curl https://example.com/$PATH_PART", "example.com"),
        ("http POST example.com name=$NAME", "example.com"),
        ("ssh -J jump.example me@box.example ls", "box.example jump.example"),
        ("psql -h db.example", "db.example"),
    ] {
        let expected: Vec<String> = expected.split(' ').map(str::to_owned).collect();
        assert_eq!(hosts(command), (expected, false), "{command}");
    }
}

#[test]
fn hosts_that_the_line_does_not_show_are_unknown() {
    for command in [
        "curl \"$URL\"",
        "curl https://$HOST/x",
        "curl \"https://example.com$REST\"",
        "curl \"https://$USER@example.com/x\"",
        "curl -K options.txt",
        "curl --proxy $PROXY https://example.com",
        "curl api/health",
        "echo x | xargs curl",
        "wget -i urls.txt",
        "wget $(cat url)",
        "ssh $HOST",
        "ssh me@$HOST ls",
        "scp a.txt $TARGET",
        "rsync -a src/ \"$TARGET\"",
        "pip install --index-url $INDEX x",
        "pip install $PACKAGE",
        "npm install user/repository",
        "docker pull $IMAGE",
        "docker build .",
        "docker compose up",
        "git push origin main",
        "git pull",
        "git fetch --all",
        "git clone $REPOSITORY",
        "git submodule update --init",
        "kubectl get pods",
        "apt-get install x",
        "terraform apply",
        "exec 3<>/dev/tcp/$HOST/80",
        "$CLIENT --url x",
        "eval \"$CODE\"",
        "python3 -c 'import requests; requests.get(input())'",
        "bash -c 'curl $URL'",
    ] {
        assert!(hosts(command).1, "{command}: {:?}", hosts(command));
    }
}

#[test]
fn commands_without_the_network_contact_no_host() {
    for command in [
        "ls -la",
        "cargo test",
        "cargo build --release",
        "npm test",
        "npm run build",
        "pip list",
        "pip install --no-index x",
        "git status",
        "git commit -m 'push to origin'",
        "git clone ../other",
        "git remote -v",
        "docker ps",
        "docker run --pull=never x ls",
        "kubectl config view",
        "curl --version",
        "ssh -V",
        "psql mydb",
        "rsync -a src/ target/",
        "make",
    ] {
        assert_eq!(hosts(command), (Vec::new(), false), "{command}");
    }
}
