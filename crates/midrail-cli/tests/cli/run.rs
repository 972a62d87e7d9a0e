//! `midrail run`: everyday commands give the same result as outside, and code that destroys does nothing outside.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::documents::{follow_guide, page};
use crate::world::{Ended, World, ended};

/// A project with the files of several languages, and a home with things to lose.
fn project() -> World {
    let world = World::new();
    world.write("Makefile", "all: hello.o\nhello.o: hello.c\n\tcc -c hello.c\ntest:\n\tsh test.sh\n");
    world.write("hello.c", "int hello(void) { return 1; }\n");
    world.write("test.sh", "echo tested\n");
    world
        .write("package.json", r#"{"name": "p", "version": "1.0.0", "scripts": {"build": "node build.js"}}"#);
    world.write("build.js", "require('fs').writeFileSync('built.js', '1'); console.log('built');");
    world.write("app.py", "import json, sys\nprint(json.dumps({'a': 1}))\n");
    world.write("../precious/letter", "a letter");
    world.write("../.ssh/id_rsa", "SECRET");
    world
}

/// Lines that need programs that a machine may not have are skipped there.
const EVERYDAY: &[&str] = &[
    "ls -la | wc -l > /dev/null",
    "cat hello.c | grep hello",
    "find . -name '*.c' | sort",
    "mkdir -p a/b && touch a/b/c && rm -r a",
    "cp hello.c copy.c && mv copy.c moved.c && cat moved.c",
    "tar cf p.tar hello.c && tar tf p.tar",
    "sed -i s/1/2/ hello.c && cat hello.c",
    "sort hello.c | uniq -c | head -3",
    "sh test.sh",
    "bash -c 'for i in 1 2 3; do echo $i; done'",
    "diff hello.c hello.c && echo same",
    "mktemp > /dev/null && echo made",
    "echo $HOME > /dev/null; pwd > /dev/null; id -un",
    "(sleep 0.05; echo later) & wait",
    "printf 'b\\na\\n' | xargs -n1 echo | sort",
    "test -w . && test ! -w /etc/passwd || test $(id -u) = 0 && echo writable",
    "exit 7",
    "false",
    "no-such-program-at-all",
    "git --version",
    "git init -q repository 2> /dev/null; git -C repository status -s 2> /dev/null; true",
    "git diff --no-index hello.c test.sh; true",
    "make -n all",
    "make test",
    "cc -c hello.c && ls hello.o",
    "cc -shared -fPIC -o libhello.so hello.c && ls libhello.so",
    "awk '{print $1}' hello.c",
    "perl -ne 'print if /hello/' hello.c",
    "python3 app.py",
    "python3 -m json.tool package.json",
    "python3 -c 'import socket, threading; s = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(s.getsockname()); print(1)'",
    "python3 -m compileall -q . && echo compiled",
    "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, 2]))'",
    "node build.js && cat built.js",
    "node -e 'require(\"http\").createServer().listen(0, function () { console.log(1); this.close(); })'",
    "npm run build --silent",
    "cargo --version > /dev/null && echo cargo",
    "rustc --version > /dev/null && echo rustc",
    "cargo new --vcs none --quiet made && cd made && cargo build --quiet --offline && ./target/debug/made",
    "cargo new --vcs none --quiet --lib lib && cd lib && cargo test --quiet --offline 2>&1 | grep -c 'test result: ok'",
    "javac -version > /dev/null 2>&1 && echo java",
    "openssl version",
    "sqlite3 t.db 'create table t (a); insert into t values (1); select * from t'",
    "ps aux | wc -l | grep -c .",
    "date +%Y | wc -c",
    "locale > /dev/null; echo ok",
    "head -c 100000 /dev/urandom | gzip | gunzip | wc -c",
    "stty -a > /dev/null 2>&1; echo done",
    "nproc > /dev/null && free > /dev/null && echo counted",
    "dd if=/dev/zero of=zeros bs=1k count=10 2> /dev/null && wc -c < zeros",
];

fn shell_outside(world: &World, line: &str) -> Ended {
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(world.project());
    copy_environment(world, &mut command);
    ended(&mut command, Vec::new())
}

fn shell_inside(world: &World, options: &[&str], line: &str) -> Ended {
    let mut args = vec!["run"];
    args.extend(options);
    args.extend(["--", "bash", "-c", line]);
    let mut command = world.command(&args);
    copy_environment(world, &mut command);
    ended(&mut command, Vec::new())
}

/// The toolchains of the user, and the home of the world.
fn copy_environment(world: &World, command: &mut Command) {
    let home = std::env::home_dir().unwrap();
    let places = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")];
    let temporary = world.write("tmp/.keep", "");
    command.env_clear().env("HOME", world.project().parent().unwrap());
    command.env("TMPDIR", std::path::Path::new(&temporary).parent().unwrap());
    for (name, folder) in places {
        command.env(name, std::env::var_os(name).unwrap_or_else(|| home.join(folder).into()));
    }
    command.env("PATH", std::env::var_os("PATH").unwrap());
}

pub(crate) fn is_available() -> bool {
    let ended = World::new().run(&["run", "--", "true"]);
    if ended.code == 125 {
        println!("skipped: {}", ended.err);
    }
    ended.code != 125
}

/// The sandbox needs a machine that can enforce one; what cannot be tested here is reported.
const LAYERS: [&[&str]; 2] = [&[], &["--no-mounts"]];

#[test]
fn everyday_commands_give_the_same_result() {
    if !is_available() {
        return;
    }
    let mut wrong = Vec::new();
    for options in LAYERS {
        for line in EVERYDAY {
            // Without mounts there is no network of its own, and no shared memory.
            if !options.is_empty() && ["socket", "http", "multiprocessing"].iter().any(|it| line.contains(it))
            {
                continue;
            }
            let program = line.split(' ').next().unwrap();
            let outside = shell_outside(&project(), line);
            if outside.code == 127 && program != "no-such-program-at-all" {
                println!("skipped: {program} is not here");
                continue;
            }
            let inside = shell_inside(&project(), options, line);
            if (outside.code, &outside.out) != (inside.code, &inside.out) {
                let message = format!(
                    "{options:?} {line}\n  outside: {} {}\n  inside: {} {} {}",
                    outside.code, outside.out, inside.code, inside.out, inside.err
                );
                wrong.push(message);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), EVERYDAY.len(), wrong.join("\n"));
}

#[test]
fn a_new_submodule_keeps_its_settings() {
    if !is_available() {
        return;
    }
    let world = World::new();
    world.write("lib-source/a", "a");
    let script = "set -e; g() { git -c protocol.file.allow=always -c user.name=a -c user.email=a@b.c \"$@\"; }; \
                  g init -q .; cd lib-source; g init -q .; g add a; g commit -qm a; cd ..; \
                  g submodule --quiet add ./lib-source lib; g commit -qm s; g submodule --quiet deinit -f lib; \
                  rm -rf .git/modules/lib lib; mkdir lib; g submodule --quiet init";
    shell_outside(&world, script).code(0);
    let update =
        "git -c protocol.file.allow=always submodule --quiet update && cat lib/a && git -C lib status -s";
    let run = shell_inside(&world, &[], update);
    assert_eq!((run.code, run.out.as_str()), (0, "a"), "{}", run.err);
    assert!(!run.err.contains("restored"), "{}", run.err);
    shell_outside(&world, "git -C lib rev-parse HEAD").code(0);
}

#[test]
fn code_that_destroys_does_nothing_outside() {
    if !is_available() {
        return;
    }
    let wipe = "rm -rf \"$HOME\"/precious \"$HOME\"/.ssh; echo gone > \"$HOME\"/note";
    for options in LAYERS {
        for line in [
            "bash wipe.sh",
            "./wipe.sh",
            "make wipe",
            "npm run wipe",
            "python3 wipe.py",
            "$TOOL wipe.sh",
            "sh -c \"$(cat wipe.sh)\"",
            "eval \"$(cat wipe.sh)\"",
            "node -e 'eval(require(\"fs\").readFileSync(\"wipe.js\", \"utf8\"))'",
            "cp wipe.sh w; chmod +x w; ./w",
            "base64 -d code | sh",
            "find \"$HOME\" -mindepth 1 -not -path '*/project*' -delete",
            "nohup sh wipe.sh > /dev/null 2>&1 & sleep 0.2",
        ] {
            let world = project();
            fs::set_permissions(
                world.write("wipe.sh", format!("#!/bin/sh\n{wipe}\n")),
                std::os::unix::fs::PermissionsExt::from_mode(0o755),
            )
            .unwrap();
            world.write("Makefile", format!("wipe:\n\t{}\n", wipe.replace('$', "$$")));
            world.write(
                "package.json",
                r#"{"name": "p", "version": "1.0.0", "scripts": {"wipe": "sh wipe.sh"}}"#,
            );
            world.write("wipe.py", "import subprocess\nsubprocess.run(['sh', 'wipe.sh'])\n");
            world.write("wipe.js", "require('child_process').execSync('sh wipe.sh')");
            world.write("code", "cm0gLXJmICIkSE9NRSIvcHJlY2lvdXM7IGVjaG8gZ29uZSA+ICIkSE9NRSIvbm90ZQo=");
            shell_inside(&world, options, &format!("TOOL=sh; {line}"));
            assert_eq!(world.read("../precious/letter"), "a letter", "{options:?} {line}");
            assert_eq!(world.read("../.ssh/id_rsa"), "SECRET", "{options:?} {line}");
            assert!(!world.project().join("../note").exists(), "{options:?} {line}");
        }
    }
}

#[test]
fn guide_works_as_documented() {
    if is_available() {
        follow_guide(&page("docs/guide/sandbox.md"), &World::new(), 12);
    }
}

#[test]
fn secrets_stay_outside() {
    if !is_available() {
        return;
    }
    let world = project();
    world.write(".env", "SECRET");
    let ended = shell_inside(&world, &[], "cat .env; cat ~/.ssh/id_rsa; ls -a ~");
    assert!(!ended.out.contains("SECRET") && !ended.out.contains("precious"), "{}", ended.out);
    let mut command = world.command(&["run", "--keep", "MY_TOKEN", "--", "env"]);
    let ended = ended_with(&mut command, &[("MY_TOKEN", "kept"), ("GITHUB_TOKEN", "dropped")]);
    assert!(ended.out.contains("MY_TOKEN=kept") && !ended.out.contains("dropped"), "{}", ended.out);
}

fn ended_with(command: &mut Command, variables: &[(&str, &str)]) -> Ended {
    command.envs(variables.iter().copied()).env("PATH", std::env::var_os("PATH").unwrap());
    ended(command, Vec::new())
}

#[test]
fn a_sandbox_that_would_protect_nothing_is_refused() {
    let world = World::new();
    let mut command = world.command(&["run", "--", "touch", "ran"]);
    let result = ended(command.env("HOME", world.project().join("home")), Vec::new());
    assert_eq!(result.code, 125);
    assert!(result.err.contains("contains your home"), "{}", result.err);
    assert!(!world.project().join("ran").exists());
    world
        .run(&["run", "--read", "no/such/file", "--", "true"])
        .code(125)
        .complains("cannot use `no/such/file`");
    world.run(&["run"]).code(1);
}

#[test]
fn options_in_front_of_the_command_are_those_of_midrail() {
    let world = World::new();
    world.run(&["run", "--help"]).code(0).says("Usage: midrail run");
    world.run(&["run", "--netwrok", "all", "true"]).code(1).complains("unexpected argument '--netwrok'");
    if is_available() {
        let ended = shell_inside(&world, &[], "exit 3");
        assert_eq!(ended.code, 3, "{}", ended.err);
        let mut command = world.command(&["run", "printf", "%s", "--help"]);
        assert_eq!(ended_with(&mut command, &[]).out, "--help");
    }
}

/// An agent keeps its own files, its keys and the network, and changes nothing else. Its hooks stay.
#[test]
fn whole_agent_has_its_own_files() {
    if !is_available() {
        return;
    }
    let world = project();
    let agent = "#!/bin/sh\necho key=$ANTHROPIC_API_KEY other=$AWS_SECRET_ACCESS_KEY\necho state > ~/.claude/state\n\
                 echo {} > ~/.claude/settings.json\necho work > work.txt\necho x > ~/precious/letter\ncat ~/.ssh/id_rsa\ntrue\n";
    let tools = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for folder in [tools.path(), &world.project()] {
        let path = folder.join("claude");
        fs::write(&path, agent).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    world.run(&["init", "--agent", "claude-code", "--yes"]);
    let settings = world.read("../.claude/settings.json");
    assert!(settings.contains("midrail"), "{settings}");
    let run = |folder: &Path, program: &str| {
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        let mut command = world.command(&["run", "--", program]);
        ended(
            command.env("PATH", path).env("ANTHROPIC_API_KEY", "k-1").env("AWS_SECRET_ACCESS_KEY", "k-2"),
            Vec::new(),
        )
    };
    let of_agent = run(tools.path(), "claude").code(0).complains("Claude Code runs in a sandbox");
    assert_eq!(of_agent.out, "key=k-1 other=\n", "{}", of_agent.err);
    assert_eq!(world.read("../.claude/state"), "state\n");
    assert_eq!(world.read("work.txt"), "work\n");
    assert_eq!(world.read("../precious/letter"), "a letter");
    assert_eq!(world.read("../.claude/settings.json"), settings);
    // A program of the project with such a name is none.
    for program in ["./claude", "claude"] {
        let of_project = run(&world.project(), program).code(0);
        assert_eq!(of_project.out, "key= other=\n", "{}", of_project.err);
        assert!(!of_project.err.contains("Claude Code"), "{}", of_project.err);
    }
}
