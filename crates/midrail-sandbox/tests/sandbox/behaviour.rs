//! What a command in a sandbox can do, and what is reported.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, Instant};

use midrail_sandbox::{Background, Ending, Layers, Limits, Network, Report};

use crate::world::{self, Run, World};

type Test = (&'static str, fn(Layers));

const TESTS: &[Test] = &[
    ("work_in_the_project_is_as_usual", work_in_the_project_is_as_usual),
    ("codes_and_streams_are_those_of_the_command", codes_and_streams_are_those_of_the_command),
    ("a_command_that_cannot_start_is_reported", a_command_that_cannot_start_is_reported),
    ("limits_hold", limits_hold),
    ("restored_files_are_reported", restored_files_are_reported),
    ("a_refused_network_is_reported", a_refused_network_is_reported),
    ("the_first_process_is_out_of_reach", the_first_process_is_out_of_reach),
    ("the_background_ends_with_the_command", the_background_ends_with_the_command),
    ("the_background_ends_with_the_session", the_background_ends_with_the_session),
    ("the_background_may_use_its_sandbox_and_no_more", the_background_may_use_its_sandbox_and_no_more),
    ("a_killed_front_ends_the_command", a_killed_front_ends_the_command),
    ("a_sandbox_in_a_sandbox_is_partial_or_refused", a_sandbox_in_a_sandbox_is_partial_or_refused),
    ("a_network_may_be_permitted", a_network_may_be_permitted),
];

/// Runs all tests whose name contains a text.
pub(crate) fn run(filter: &str) -> Vec<String> {
    let mut failures = Vec::new();
    for layers in [Layers::Full, Layers::Partial] {
        if !world::is_available(layers) {
            continue;
        }
        for (name, test) in TESTS.iter().filter(|(name, _)| name.contains(filter)) {
            let passed = catch_unwind(AssertUnwindSafe(|| test(layers))).is_ok();
            println!("test {name} ({layers:?}) ... {}", if passed { "ok" } else { "FAILED" });
            if !passed {
                failures.push(format!("{name} ({layers:?})"));
            }
        }
    }
    failures
}

fn report(run: &Run) -> Report {
    run.report.clone().unwrap_or_else(|error| panic!("{error}: {}", run.err()))
}

/// Machines differ in speed by far.
fn wait_until(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "it did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn line(world: &World, layers: Layers, line: &str) -> Run {
    world.run(&world.sandbox(layers), &world.line(line))
}

fn work_in_the_project_is_as_usual(layers: Layers) {
    let world = World::new();
    let lines = [
        "echo x > new && cat new && rm new",
        "mkdir -p a/b && mv a/b a/c && rmdir a/c a",
        "ln -s src/main.c l && cat l && rm l",
        "ln src/main.c l && rm l",
        "mkfifo p && rm p",
        "cat /etc/passwd",
        "cat .git/config .git/hooks/pre-push",
        "echo x > .git/index && rm .git/index",
        "\"$HOME/tools/tool\"",
        "echo x | tee /dev/null && head -c 3 /dev/urandom > /dev/null",
        "(echo a; echo b) | sort | uniq > sorted && cat <(cat sorted)",
        "cat <<< here",
        "chmod +x src/main.c && touch src/main.c",
        "perl -e 'socketpair(A, B, 1, 1, 0) or die'",
        "test -r /proc/self/status && test \"$(pwd)\" = \"$PROJECT\"",
        "sh -c 'kill -0 $$' && (sleep 5 & kill $!)",
    ];
    for text in lines {
        let run = line(&world, layers, text);
        assert_eq!(report(&run).ending, Ending::Exit(0), "{text}: {}", run.err());
        assert_eq!(report(&run).layers, layers);
        assert!(report(&run).restored.is_empty(), "{text}: {:?}", report(&run).restored);
    }
    if layers == Layers::Full {
        let run = line(
            &world,
            layers,
            "echo x > ~/scratch && cat ~/scratch && test -t 0 || ls ~ && exec 3<>/dev/ptmx",
        );
        assert_eq!(report(&run).ending, Ending::Exit(0), "{}", run.err());
        assert!(!world.path("home/scratch").exists());
        assert_eq!(report(&run).lost, [std::path::PathBuf::from("scratch")]);
        let run = line(&world, layers, "mkdir -p ~/.cache/tool && echo x > ~/.cache/tool/x");
        assert!(report(&run).lost.is_empty(), "{:?}", report(&run).lost);
    }
}

fn codes_and_streams_are_those_of_the_command(layers: Layers) {
    let world = World::new();
    let run = line(&world, layers, "echo out; echo err >&2; exit 42");
    assert_eq!((run.out().as_str(), run.err().as_str()), ("out\n", "err\n"));
    assert_eq!(report(&run).ending, Ending::Exit(42));
    assert_eq!(report(&line(&world, layers, "kill -TERM $$")).ending, Ending::Signal(15));
}

fn a_command_that_cannot_start_is_reported(layers: Layers) {
    let world = World::new();
    let mut command = world.line("");
    for (program, code) in [("no-such-program", 127), ("/etc/passwd", 126)] {
        command.program = program.into();
        let run = world.run(&world.sandbox(layers), &command);
        match report(&run).ending {
            Ending::NotStarted { code: found, .. } => assert_eq!(found, code),
            other => panic!("{other:?}"),
        }
    }
}

fn limits_hold(layers: Layers) {
    let world = World::new();
    let mut sandbox = world.sandbox(layers);
    sandbox.limits = Limits { time: Some(Duration::from_millis(300)), ..Limits::default() };
    let start = Instant::now();
    let run = world.run(&sandbox, &world.line("trap '' TERM INT; sleep 20 & sleep 20"));
    assert_eq!(report(&run).ending, Ending::TimedOut);
    assert!(start.elapsed() < Duration::from_secs(10));
    sandbox.limits = Limits { file_size: Some(1000), ..Limits::default() };
    let run = world.run(&sandbox, &world.line("head -c 5000 /dev/zero > big; stat -c %s big"));
    assert_eq!(run.out(), "1000\n", "{}", run.err());
    sandbox.limits = Limits { memory: Some(64 << 20), ..Limits::default() };
    let run = world.run(&sandbox, &world.line("perl -e 'my $x = \"x\" x (200 << 20); print \"much\"'"));
    assert_eq!(run.out(), "");
}

fn restored_files_are_reported(layers: Layers) {
    let world = World::new();
    let run = line(&world, layers, "echo x >> .git/config; mkdir .midrail");
    let restored = report(&run).restored;
    assert!(restored.contains(&world.path("project/.midrail")), "{restored:?}");
    // With mounts the first change fails.
    assert_eq!(restored.contains(&world.path("project/.git/config")), layers == Layers::Partial);
}

fn a_refused_network_is_reported(layers: Layers) {
    let world = World::new();
    let run = line(&world, layers, "exec 3<>/dev/tcp/192.0.2.1/80");
    assert_eq!(report(&run).network_refused, layers == Layers::Full, "{}", run.err());
    assert!(!report(&line(&world, layers, "true")).network_refused);
}

fn the_first_process_is_out_of_reach(layers: Layers) {
    // Without mounts, the first process is that of the machine.
    if layers == Layers::Partial {
        return;
    }
    let world = World::new();
    let messages = [
        r#"{"Unavailable":{"why":"x"}}"#,
        r#"{"Ended":{"ending":{"exit":0},"network_refused":false,"lost":[]}}"#,
    ];
    for message in messages {
        // Only in a sandbox are the numbers of processes this low.
        let text = format!(
            "test $$ -lt 50 || exit 8; for f in /proc/1/fd/*; do echo '{message}' > $f; done 2>/dev/null; sleep 0.2; exit 7"
        );
        let run = line(&world, layers, &text);
        assert_eq!((report(&run).ending, report(&run).layers), (Ending::Exit(7), layers), "{}", run.err());
    }
}

fn the_background_ends_with_the_command(layers: Layers) {
    let world = World::new();
    let text = "(sleep 2; echo x > late) & setsid sh -c 'sleep 2; echo x > later' > /dev/null 2>&1 &";
    let start = Instant::now();
    let run = line(&world, layers, text);
    assert_eq!(report(&run).ending, Ending::Exit(0));
    assert!(start.elapsed() < Duration::from_millis(1800), "the streams end with the command");
    std::thread::sleep(Duration::from_millis(2300));
    assert!(!world.path("project/late").exists() && !world.path("project/later").exists());
}

/// A process that stands for the session of an agent.
fn session() -> Child {
    Process::new("sleep").arg("60").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn the_background_ends_with_the_session(layers: Layers) {
    let world = World::new();
    let mut session = session();
    let mut sandbox = world.sandbox(layers);
    sandbox.background = Background::Until(session.id());
    let text = "(while :; do date +%N > beat; sleep 0.05; done) > /dev/null 2>&1 & echo started";
    let run = world.run(&sandbox, &world.line(text));
    assert_eq!((report(&run).ending, run.out().as_str()), (Ending::Exit(0), "started\n"));
    let beat = || fs::read_to_string(world.path("project/beat")).unwrap_or_default();
    std::thread::sleep(Duration::from_millis(300));
    let first = beat();
    std::thread::sleep(Duration::from_millis(300));
    assert_ne!(first, beat(), "it runs on");
    session.kill().unwrap();
    session.wait().unwrap();
    wait_until(|| {
        let last = beat();
        std::thread::sleep(Duration::from_millis(300));
        last == beat()
    });
}

fn the_background_may_use_its_sandbox_and_no_more(layers: Layers) {
    let world = World::new();
    let mut session = session();
    let mut sandbox = world.sandbox(layers);
    sandbox.protected.push(world.path("project/.claude"));
    let before = fs::read_to_string(world.path("project/.git/config")).unwrap();
    sandbox.background = Background::Until(session.id());
    let text = "(sleep 0.3; echo x > \"$OUT/late\"; mkdir .midrail; echo x >> .git/config; \
                ln -s /tmp .claude; echo x > inside; sleep 30) > /dev/null 2>&1 &";
    let run = world.run(&sandbox, &world.line(text));
    assert_eq!(report(&run).ending, Ending::Exit(0));
    wait_until(|| world.path("project/inside").exists());
    let is_there = |name: &str| world.path(name).symlink_metadata().is_ok();
    wait_until(|| !is_there("project/.midrail") && !is_there("project/.claude"));
    assert_eq!(fs::read_to_string(world.path("project/.git/config")).unwrap(), before);
    assert!(!is_there("outside/late"));
    assert!(session.try_wait().unwrap().is_none(), "restored while the session goes on");
    session.kill().unwrap();
    session.wait().unwrap();
}

fn a_killed_front_ends_the_command(layers: Layers) {
    let world = World::new();
    let case = world.path("case");
    let command = world.line("while :; do date +%N > beat; sleep 0.05; done");
    fs::write(&case, serde_json::to_vec(&(world.sandbox(layers), command)).unwrap()).unwrap();
    let program = std::env::current_exe().unwrap();
    let mut front = Process::new(program).arg("case").arg(&case).stdin(Stdio::null()).spawn().unwrap();
    let beat = || fs::read_to_string(world.path("project/beat")).unwrap_or_default();
    wait_until(|| !beat().is_empty());
    front.kill().unwrap();
    front.wait().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let last = beat();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(last, beat());
}

fn a_sandbox_in_a_sandbox_is_partial_or_refused(layers: Layers) {
    let world = World::new();
    let mut inner = world.sandbox(Layers::Full);
    inner.write = vec![world.path("project/src")];
    let case = world.path("project/case");
    fs::write(&case, serde_json::to_vec(&(inner, world.line("echo x > new; echo x > src/new"))).unwrap())
        .unwrap();
    let program = std::env::current_exe().unwrap();
    let run = line(&world, layers, &format!("{} case case; cat report", program.display()));
    let inner: Result<Report, String> =
        serde_json::from_str(&run.out()).unwrap_or_else(|_| panic!("{}", run.err()));
    assert!(inner.is_err() || inner.is_ok_and(|report| report.layers == Layers::Partial));
    assert!(!world.path("project/new").exists());
}

fn a_network_may_be_permitted(layers: Layers) {
    let mut world = World::new();
    let before = world.state();
    let mut sandbox = world.sandbox(layers);
    sandbox.network = Network::All;
    let run = world.run(&sandbox, &world.line("exec 3<>/dev/tcp/127.0.0.1/$PORT"));
    assert_eq!(report(&run).ending, Ending::Exit(0), "{}", run.err());
    std::thread::sleep(Duration::from_millis(20));
    assert_ne!(before, world.state());
}
