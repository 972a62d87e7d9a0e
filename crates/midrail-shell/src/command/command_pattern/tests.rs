//! Tests of command patterns.

use super::*;
use crate::command::analyse;

fn fit(pattern: &str, line: &str) -> Fit {
    let pattern = CommandPattern::parse(pattern).unwrap();
    let action = analyse(line);
    let others = if action.has_unknown_programs { Fit::Unknown } else { Fit::No };
    action.commands.iter().map(|call| pattern.fit(call)).fold(others, Fit::max)
}

#[test]
fn wrappers_and_spellings_do_not_matter() {
    for line in [
        "git push",
        "git push origin x",
        "/usr/bin/git -C sub push",
        "git -c a=b --no-pager push --force",
        "sudo env A=b git push",
        "bash -c 'cd x && git push'",
        "true; (git 'push' origin)",
        "git-push origin",
        "X=push; git $X",
        "git -C \"$X\" push",
    ] {
        assert_eq!(fit("git push", line), Fit::Yes, "{line}");
    }
    for line in [
        "git pull",
        "echo git push",
        "git log push",
        "gitk push",
        "git stash push",
        "git -C \"$X\" status",
        "git -C \"$(cat f)\" status",
        "git --git-dir=$X status",
        "git -C $DIR status",
        "REPO=$ROOT/x; git -C $REPO status",
        "git -C $(git rev-parse --show-toplevel) status",
        "git -C `pwd` status",
        "git -c user.name=$X commit -m x",
        "env A=$(git rev-parse HEAD) make",
        "git status -C $(cat f) push",
        "git lfs push",
    ] {
        assert_eq!(fit("git push", line), Fit::No, "{line}");
    }
}

#[test]
fn unknown_parts_are_unknown() {
    for line in [
        "git $1",
        "cat x | xargs git",
        "git $(cat x) push",
        "git -C $(cat f) origin main",
        "git -C `cat f` origin main",
        "read C < f; git -C $C origin",
        "read C < f; git -C $C status",
        "C=$(cat f); git -C $C status",
        "C=\"$(cat f)\"; git -C $C status",
        "git -C $(cat f) status",
        "git -C $@ status",
        "git -c $X main",
        "git -C \"$@\" origin",
        "git -C * origin",
        "git --git-dir=$(cat f) origin",
        "timeout $(cat f) x",
        "git push{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}",
    ] {
        assert_eq!(fit("git push", line), Fit::Unknown, "{line}");
    }
    assert_eq!(fit("mytool deploy", "mytool --env prod deploy"), Fit::Unknown);
    assert_eq!(fit("mytool deploy", "mytool --env prod status"), Fit::No);
    assert_eq!(fit("mytool deploy", "mytool deploy --env prod"), Fit::Yes);
}

#[test]
fn other_subcommands_of_git_may_be_aliases() {
    for line in ["git p", "git PUSH", "git --config-env=alias.p=Y p"] {
        assert_eq!(fit("git push", line), Fit::Unknown, "{line}");
    }
    for line in [
        "git -c alias.p=push p",
        "X=push git --config-env=alias.p=X p",
        "X=push git --config-env alias.p=X p",
    ] {
        assert_eq!(fit("git push", line), Fit::Yes, "{line}");
    }
    assert_eq!(fit("git", "git p"), Fit::Yes);
    assert_eq!(fit("git push", "git pushx"), Fit::No);
}

#[test]
fn attached_variables_are_one_word() {
    assert_eq!(fit("kubectl delete", "kubectl --context=$C get pods"), Fit::No);
    assert_eq!(fit("kubectl delete", "kubectl --context=$C delete pod x"), Fit::Yes);
    assert_eq!(fit("kubectl delete", "kubectl --context \"$C\" get pods"), Fit::No);
    assert_eq!(fit("kubectl delete", "kubectl -n $(cat f) -f x"), Fit::Unknown);
    assert_eq!(fit("kubectl delete", "kubectl get pods -n $NS"), Fit::No);
    assert_eq!(fit("kubectl delete", "kubectl -n $NS get pods"), Fit::No);
    assert_eq!(fit("kubectl get --context=prod", "kubectl --context=$C get pods"), Fit::Unknown);
}

#[test]
fn many_stars_take_little_time() {
    let pattern = format!("x {} z", "* a ".repeat(100).trim());
    assert_eq!(fit(&pattern, &format!("x{}", " a".repeat(400))), Fit::No);
    assert_eq!(fit(&pattern, &format!("x{} z", " a".repeat(400))), Fit::Yes);
    assert_eq!(fit("x a * b *", "x a"), Fit::No);
    assert_eq!(fit("x * *", "x"), Fit::Yes);
}

#[test]
fn options_have_several_names() {
    assert_eq!(fit("git push --delete", "git push -d origin x"), Fit::Yes);
    assert_eq!(fit("git push --force", "git push -f"), Fit::Yes);
    assert_eq!(fit("git push -f", "git push --force"), Fit::Yes);
    assert_eq!(fit("git push --delete", "git push --del origin x"), Fit::Unknown);
    assert_eq!(fit("git push --mirror", "git push --mirr"), Fit::Unknown);
    assert_eq!(fit("git push --force-with-lease", "git push --force"), Fit::No);
    assert_eq!(fit("git push --delete", "git push --dry-run"), Fit::No);
    assert_eq!(fit("git clean --delete", "git clean -d"), Fit::No);
    assert_eq!(fit("kubectl get --namespace prod", "kubectl get pods -n prod"), Fit::Yes);
    assert_eq!(fit("kubectl get --namespace prod", "kubectl get pods -n dev"), Fit::No);
    assert_eq!(fit("rm --recursive", "rm -rf x"), Fit::Yes);
}

#[test]
fn stars_match_texts() {
    assert_eq!(fit("deploy *", "deploy prod"), Fit::Yes);
    assert_eq!(fit("deploy *", "deploy"), Fit::Yes);
    assert_eq!(fit("npm run test*", "npm run test:unit -- -x"), Fit::Yes);
    assert_eq!(fit("npm run test*", "npm run build"), Fit::No);
    assert_eq!(fit("git * main", "git push origin main"), Fit::Yes);
    assert_eq!(fit("git * main", "git push origin dev"), Fit::No);
    assert_eq!(fit("kubectl-*", "kubectl-neat x"), Fit::Yes);
}

#[test]
fn options_may_be_anywhere() {
    for line in ["rm -rf x", "rm -f -r x", "rm x -fr", "rm -r --verbose -f x"] {
        assert_eq!(fit("rm -rf", line), Fit::Yes, "{line}");
    }
    assert_eq!(fit("rm -rf", "rm -r x"), Fit::No);
    assert_eq!(fit("git push --force", "git push origin main --force"), Fit::Yes);
    assert_eq!(fit("git push --force", "git push --force-with-lease"), Fit::No);
    assert_eq!(fit("python -m pytest", "python -m pytest tests"), Fit::Yes);
    assert_eq!(fit("python -m pytest", "python -m http.server"), Fit::No);
}

#[test]
fn programs_run_others() {
    for line in [
        "npx npm@10 publish",
        "npx x@npm:npm@10 publish",
        "npm exec npm@latest publish",
        "npm exec npm@latest -- publish",
        "pnpm dlx npm@latest publish",
        "bunx npm@10 publish",
        "yarn dlx npm@10 publish",
    ] {
        assert_eq!(fit("npm publish", line), Fit::Yes, "{line}");
    }
    assert_eq!(fit("npm publish", "npx tool@10 publish"), Fit::No);
    for line in [
        "pwsh -c 'git push'",
        "powershell -Command \"git push\"",
        "cmd /c git push",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
        "/lib64/ld-linux-x86-64.so.2 --library-path /x /usr/bin/git push",
        "ln -s /usr/bin/git g; ./g push",
        "cp /usr/bin/git g && ./g push",
        "cp $(which git) g && ./g push",
        "docker run --entrypoint git x push",
        "docker run --entrypoint=git x push",
        "choom -n 1 -- git push",
        "lckdo f git push",
        "mispipe 'git push' 'cat'",
        "asciinema rec -c 'git push' f",
    ] {
        assert_eq!(fit("git push", line), Fit::Yes, "{line}");
    }
    for line in ["find /usr/bin -name git -exec {} push ';'", "fd git /usr/bin -x {} push"] {
        assert_eq!(fit("git push", line), Fit::Unknown, "{line}");
    }
    for line in [
        "pwsh -c 'git status'",
        "cmd /c git status",
        "find . -name x -exec git add {} ';'",
        "cp deploy.sh d.sh && ./d.sh push",
        "docker run --entrypoint git x status",
        "docker run x push",
        "timeout 5 ls",
        "timeout $T ls",
    ] {
        assert_eq!(fit("git push", line), Fit::No, "{line}");
    }
    for line in [
        "k3s kubectl apply -f x",
        "k3s kubectl -n x apply -f x",
        "microk8s kubectl apply -f x",
        "minikube kubectl -- apply -f x",
        "minikube -p x kubectl -- apply -f x",
    ] {
        assert_eq!(fit("kubectl apply", line), Fit::Yes, "{line}");
    }
    assert_eq!(fit("kubectl apply", "k3s kubectl get pods"), Fit::No);
    assert_eq!(fit("kubectl apply", "minikube start"), Fit::No);
    assert_eq!(fit("black", "pipx run black ."), Fit::Yes);
}

#[test]
fn an_option_without_its_value_has_any() {
    for line in ["git switch -c x", "git switch -cx", "git switch --create x"] {
        assert_eq!(fit("git switch -c", line), Fit::Yes, "{line}");
    }
    assert_eq!(fit("git switch -c", "git switch x"), Fit::No);
}

#[test]
fn files_are_programs() {
    assert_eq!(fit("./scripts/deploy.sh", "scripts/deploy.sh prod"), Fit::Yes);
    assert_eq!(fit("deploy.sh", "./scripts/deploy.sh prod"), Fit::Yes);
    assert_eq!(fit("./deploy.sh", "./scripts/deploy.sh prod"), Fit::No);
    assert_eq!(fit("scripts/deploy.sh", "cd scripts && ./deploy.sh"), Fit::Yes);
    assert_eq!(fit("scripts/deploy.sh", "cd other && ./deploy.sh"), Fit::No);
    assert_eq!(fit("scripts/deploy.sh", "/work/shop/scripts/deploy.sh"), Fit::Unknown);
    assert_eq!(fit("scripts/deploy.sh", "cd $X && ./deploy.sh"), Fit::Unknown);
}

#[test]
fn files_that_an_interpreter_runs_are_programs() {
    for line in [
        "bash scripts/deploy.sh prod",
        "sh -x ./scripts/deploy.sh prod",
        "source scripts/deploy.sh prod",
        "cd scripts && . ./deploy.sh prod",
        "env A=b zsh scripts/deploy.sh prod",
    ] {
        assert_eq!(fit("scripts/deploy.sh prod", line), Fit::Yes, "{line}");
        assert_eq!(fit("deploy.sh", line), Fit::Yes, "{line}");
        assert_eq!(fit("deploy.sh test", line), Fit::No, "{line}");
    }
    for line in ["cat scripts/deploy.sh", "bash -n scripts/deploy.sh", "chmod +x scripts/deploy.sh"] {
        assert_eq!(fit("deploy.sh", line), Fit::No, "{line}");
    }
    assert_eq!(fit("./deploy.sh", "bash deploy.sh"), Fit::Yes);
    assert_eq!(fit("./deploy.sh", "cd sub && ../deploy.sh"), Fit::Yes);
    assert_eq!(fit("./deploy.sh", "../shop/deploy.sh"), Fit::Unknown);
    assert_eq!(fit("./deploy.sh", "../deploy.sh"), Fit::No);
    assert_eq!(fit("scripts/deploy.py", "python3 -m scripts.deploy"), Fit::Yes);
    for line in ["python manage.py migrate", "uv run python3.12 -u ./manage.py migrate shop"] {
        assert_eq!(fit("manage.py migrate", line), Fit::Yes, "{line}");
    }
    assert_eq!(fit("manage.py migrate", "python manage.py test"), Fit::No);
    for line in ["python -m twine upload x", "python3.12 -mtwine upload x", "uv run python -m twine upload x"]
    {
        assert_eq!(fit("twine upload", line), Fit::Yes, "{line}");
    }
    assert_eq!(fit("twine upload", "python -m twine check x"), Fit::No);
    assert_eq!(fit("server.js", "node ./server.js"), Fit::Yes);
}

#[test]
fn commands_have_several_names() {
    for (pattern, line) in [
        ("npm install", "npm i x"),
        ("npm i", "npm install x"),
        ("npm publish", "yarn workspace a npm publish"),
        ("yarn publish", "yarn workspace a publish"),
        ("docker compose down", "docker-compose -f x down"),
        ("docker-compose down", "docker compose down"),
        ("docker push", "docker image push x"),
        ("pip install", "pip3.11 install x"),
        ("pip3 install", "python3 -m pip install x"),
        ("kubectl delete", "k -n x delete pod y"),
        ("helm uninstall", "helm delete x"),
        ("cargo test", "cargo +nightly t"),
        ("make deploy", "make build deploy"),
        ("make deploy", "make A=b deploy"),
    ] {
        assert_eq!(fit(pattern, line), Fit::Yes, "{pattern}: {line}");
    }
    assert_eq!(fit("make deploy", "make build"), Fit::No);
    assert_eq!(fit("docker push", "docker image ls push"), Fit::No);
}

#[test]
fn exceptions_are_certain() {
    let is_exception = |pattern: &str, line: &str| {
        let pattern = CommandPattern::parse(pattern).unwrap();
        analyse(line).commands.iter().all(|call| pattern.fits_certainly(call))
    };
    for (pattern, line) in [
        ("npm publish --dry-run", "npm --dry-run publish --tag x"),
        ("git switch -c", "git switch -c x"),
        ("git switch -c", "git switch --create x"),
        ("kubectl get", "kubectl get pods -n $X"),
        ("kubectl get", "kubectl -n \"$X\" get pods $Y"),
        ("kubectl * --dry-run=client", "kubectl apply -f x --dry-run=client"),
        ("git stash list", "git stash list --oneline"),
        ("git push origin feature/*", "git push origin feature/a/b"),
        ("make test", "make test"),
        ("make test *", "make -j4 test lint"),
        ("rm -rf build", "rm -f -r build"),
        ("rails db:migrate:status", "rails db:migrate:status --trace"),
    ] {
        assert!(is_exception(pattern, line), "{pattern}: {line}");
    }
    for (pattern, line) in [
        ("npm publish --dry-run", "npm publish --dry-run=false"),
        ("npm publish --dry-run", "npm publish --dry-run false"),
        ("npm publish --dry-run", "npm publish --dry-run --no-dry-run"),
        ("npm publish --dry-run", "npm publish --dry-run --dry-run"),
        ("npm publish --dry-run", "npm publish --dry-run $X"),
        ("git switch -c", "git -c a=b switch main"),
        ("kubectl get", "kubectl $X get pods"),
        ("kubectl * --dry-run=client", "kubectl apply -f x --dry-run=client --dry-run=none"),
        ("git push origin main", "git push origin main dev"),
        ("git push origin main", "git push origin main --force"),
        ("git push origin feature/*", "git push origin feature/x:main"),
        ("git push origin feature/*", "git push origin feature/../main"),
        ("make test", "make test deploy"),
        ("make test", "make deploy test"),
        ("make test", "make test SHELL=x"),
        ("rm *.log", "rm a.log b"),
        ("rm *.log", "rm /etc/a.log"),
        ("rm -r build", "rm -r build src"),
        ("rm build", "rm -rf build"),
    ] {
        assert!(!is_exception(pattern, line), "{pattern}: {line}");
    }
}

#[test]
fn lines_of_a_shell_are_no_patterns() {
    for text in [
        "",
        "  ",
        "-x",
        "a && b",
        "a | b",
        "rm $HOME",
        "a [b",
        "Bash(git push:*)",
        "git push:*",
        "curl:*",
        "a b, c d",
    ] {
        assert!(CommandPattern::parse(text).is_err(), "{text}");
    }
    assert!(CommandPattern::parse("npm run test:*").is_ok());
}

#[test]
fn files_are_programs_by_whatever_way_they_are_run() {
    for line in [
        "bash -s prod < deploy.sh",
        "cat deploy.sh | bash -s prod",
        "cat deploy.sh | bash -s -- prod",
        "bash <(cat deploy.sh) prod",
        ". <(cat deploy.sh) prod",
        "source /dev/stdin prod < deploy.sh",
        "ssh h 'bash -s prod' < deploy.sh",
        "exec < deploy.sh; bash -s prod",
        "cp deploy.sh d && ./d prod",
        "mv deploy.sh d; sh d prod",
        "ln -s deploy.sh d; sh ./d prod",
        "install -m 755 deploy.sh d; ./d prod",
        "dd if=deploy.sh of=d status=none; sh d prod",
        "rsync -a deploy.sh d; sh d prod",
        "cat deploy.sh > d; sh d prod",
        "cp -r . x; x/deploy.sh prod",
    ] {
        assert_eq!(fit("./deploy.sh prod", line), Fit::Yes, "{line}");
    }
    for line in [
        "cat deploy.sh | bash -s test",
        "cp deploy.sh d && ./d test",
        "bash other.sh prod",
        "bash -s prod < other.sh",
        "cp other.sh d; sh d prod",
        "cat deploy.sh",
        "cp deploy.sh backup.sh",
        "git add deploy.sh",
        "bash tests/*.sh prod",
    ] {
        assert_eq!(fit("./deploy.sh prod", line), Fit::No, "{line}");
    }
    for line in ["bash $X", "bash \"$X\" prod", "bash ./de*.sh", ". ./$X", "bash < $F"] {
        assert_eq!(fit("./deploy.sh", line), Fit::Unknown, "{line}");
    }
}

#[test]
fn other_commands_push_too() {
    for line in
        ["git send-pack origin main", "git http-push x main", "git subtree push -P a origin x", "hub push"]
    {
        assert_eq!(fit("git push", line), Fit::Yes, "{line}");
    }
    assert_eq!(fit("git push", "git subtree pull -P a origin x"), Fit::No);
}

#[test]
fn an_unknown_word_may_be_an_option_only_if_it_may_begin_as_one() {
    for line in [
        "git push -u origin \"$(git branch --show-current)\"",
        "git push -u origin $(git rev-parse --abbrev-ref HEAD)",
        "B=$(git branch --show-current); git push -u origin \"$B\"",
        "git push origin \"feature/$X\"",
        "git push origin HEAD:\"feature/$X\"",
    ] {
        for pattern in ["git push --force", "git push --delete", "git push * +*", "git push * :*"] {
            assert_eq!(fit(pattern, line), Fit::No, "{pattern}: {line}");
        }
        assert_eq!(fit("git push", line), Fit::Yes, "{line}");
    }
    for line in [
        "git push origin \"$X\"",
        "git push origin feature/$(cat f)",
        "git push $(cat f)",
        "git push origin $X",
    ] {
        assert_eq!(fit("git push --force", line), Fit::Unknown, "{line}");
        assert_eq!(fit("git push * +*", line), Fit::Unknown, "{line}");
    }
    assert_eq!(fit("git push * main", "git push origin \"feature/$X\""), Fit::No);
    assert_eq!(fit("git push * feature/main", "git push origin \"feature/$X\""), Fit::Unknown);
}

#[test]
fn options_behind_an_image_are_those_of_its_command() {
    let privileged = "docker run --privileged";
    for line in [
        "docker run --rm --privileged a sh",
        "docker container run -v /a:/b --privileged a",
        "docker -c x run --privileged a",
    ] {
        assert_eq!(fit(privileged, line), Fit::Yes, "{line}");
    }
    for line in [
        "docker run a echo --privileged",
        "docker run -e A=b a x --privileged",
        "docker compose up --privileged",
    ] {
        assert_eq!(fit(privileged, line), Fit::No, "{line}");
    }
    for line in
        ["docker run -v /s:/s a", "docker run --volume=/s:/s a", "docker run --volume /s:/s --rm a sh -c x"]
    {
        assert_eq!(fit("docker run -v /s*", line), Fit::Yes, "{line}");
    }
    assert_eq!(fit("docker run --pid=host", "docker run --pid host a"), Fit::Yes);
    assert_eq!(fit("docker run -v /s*", "docker run -v /t:/t a -v /s:/s"), Fit::No);
    assert_eq!(fit("docker exec web rm -rf", "docker exec -u root web rm -rf /x"), Fit::Yes);
    assert_eq!(fit("docker exec * rm", "docker exec -it web rm /x"), Fit::Yes);
    assert_eq!(fit("kubectl exec --stdin", "kubectl exec pod -- x --stdin"), Fit::No);
}
