//! Properties of all rows: an option in front of a subcommand never hides what a command does.

use super::*;
use midrail_core::Action;

use crate::command::{analyse, is_registry};
use crate::tables::tests::examples;
use crate::tables::{OptionPattern, Pattern, TermKind};

/// What must not change: dangers, commands, files and hosts, without the value of an inserted option, and without registries,
/// which an option may replace.
fn findings(analysis: &Action) -> Vec<Vec<String>> {
    let hosts: Vec<String> = analysis.hosts.iter().filter(|host| !is_registry(host)).cloned().collect();
    let without = |list: &[String]| list.iter().filter(|it| !it.contains("zz")).cloned().collect();
    let found =
        |danger: &midrail_core::Danger| format!("{} {:?} {}", danger.rule, danger.severity, danger.is_inside);
    vec![
        analysis.dangers.iter().map(found).collect(),
        without(&analysis.programs),
        without(&analysis.reads),
        without(&analysis.writes),
        without(&hosts),
    ]
}

/// The spellings of an option with and without a value.
fn spellings(row: &Program, option: &str) -> Vec<String> {
    if row.is_flag(option) {
        return vec![option.to_owned()];
    }
    let is_short = option.len() == 2 && row.style == Style::Usual;
    let mut spellings = vec![format!("{option} zz")];
    if is_short {
        spellings.push(format!("{option}zz"));
    } else if option.starts_with("--") || row.style == Style::SingleDash {
        spellings.push(format!("{option}=zz"));
    }
    spellings
}

/// Options that decide what a program does: a script, a pattern, an archive, a list of folders.
const MEANINGFUL: &[(&str, &[&str])] = &[
    ("awk", &["-e", "-E", "--source", "--exec"]),
    ("codex", &["-C", "--cd"]),
    ("fd", &["-S", "--size", "-e", "--extension", "--base-directory", "--search-path"]),
    ("git", &["--work-tree"]),
    ("java", &["-jar"]),
    ("php", &["-r", "-R", "-B", "-E", "-F", "-f", "-S", "-l"]),
    ("python", &["-c", "-m"]),
    ("sed", &["-e", "--expression"]),
    ("tar", &["-f", "--file"]),
];

/// Options that do nothing by themselves: no condition mentions them, and they name no folder and no code.
fn neutral_options(row: &'static Program) -> Vec<&'static str> {
    let conditions = row.dangers.iter().flat_map(|rule| rule.when.iter().chain(rule.unless));
    let terms: Vec<&OptionPattern> = conditions
        .flat_map(|condition| condition.0)
        .filter_map(|term| match term.kind {
            TermKind::Option(options) => Some(options),
            _ => None,
        })
        .flatten()
        .collect();
    let is_tested = |option: &str| {
        terms.iter().any(|term| match term.name {
            Pattern::Exactly(name) => {
                row.is_same(name, option) || (row.abbreviates && name.starts_with(option))
            }
            Pattern::Like(_) => true,
        })
    };
    let asks =
        ["--dry-run", "-n", "--help", "--version", "-h", "-V", "-v", "--simulate", "--just-print", "-dryrun"];
    let lists = [row.values, row.globals, row.flags];
    let targets: Vec<&str> = row.dangers.iter().flat_map(|rule| rule.target_options).copied().collect();
    let special = row.formats.iter().flat_map(|mode| mode.with.iter().chain(mode.without)).copied();
    let special: Vec<&str> = special.chain(row.runs.iter().flat_map(|run| run.starts).copied()).collect();
    let is_meaningful = |option: &str| {
        MEANINGFUL.iter().any(|(name, options)| row.names.contains(name) && options.contains(&option))
    };
    let all = lists.into_iter().flatten().copied().filter(|option| !is_meaningful(option));
    all.filter(|option| !is_tested(option) && !asks.contains(option))
        .filter(|option| !targets.contains(option) && !special.contains(option) && option.starts_with('-'))
        .filter(|option| *option != "-")
        .collect()
}

/// Checks a command line with every neutral option of its program in front of its other arguments.
fn check(line: &str, wrong: &mut Vec<String>) {
    let Some((program, rest)) = line.split_once(' ') else { return };
    let Some(row) = find(program) else { return };
    // `tar xf archive`: letters without a dash must come first.
    let is_bare = row.names.contains(&"tar") && !rest.starts_with('-');
    if row.style == Style::Search || program.starts_with('>') || is_bare {
        return;
    }
    let expected = findings(&analyse(line));
    for option in neutral_options(row) {
        for spelling in spellings(row, option) {
            let other = format!("{program} {spelling} {rest}");
            let found = findings(&analyse(&other));
            if found != expected {
                wrong.push(format!("{other}\n    {expected:?}\n    {found:?}"));
            }
        }
    }
}

#[test]
fn options_before_the_subcommand_hide_no_danger() {
    let mut wrong = Vec::new();
    for example in examples("danger") {
        example.stops.iter().take(2).for_each(|line| check(line, &mut wrong));
    }
    assert!(wrong.is_empty(), "{} changed:\n{}", wrong.len(), wrong.join("\n"));
}

/// Words in front of a subcommand that may be anything: unknown values, and options that no row knows.
const UNCERTAIN: &[&str] =
    &["$WORDS", "\"${WORDS[@]}\"", "--no-such-a ''", "--no-such-a x --no-such-b y", "$A $B"];

fn is_harmless(line: &str) -> bool {
    analyse(line).dangers.iter().all(|danger| danger.is_inside)
}

#[test]
fn uncertain_words_before_the_subcommand_hide_no_danger() {
    let (mut count, mut wrong) = (0, Vec::new());
    for example in examples("danger") {
        for line in example.stops.iter().take(2).filter(|line| !is_harmless(line)) {
            let Some((program, rest)) = line.split_once(' ') else { continue };
            let Some(row) = find(program).filter(|row| row.style == Style::Usual) else { continue };
            let names_subcommand =
                row.dangers.iter().any(|rule| rule.id == example.id && rule.names_subcommand());
            if !names_subcommand || rest.starts_with('-') {
                continue;
            }
            count += 1;
            let lines = UNCERTAIN.iter().map(|words| format!("{program} {words} {rest}"));
            wrong.extend(lines.filter(|line| is_harmless(line)));
        }
    }
    assert!(count > 200, "only {count} examples");
    assert!(wrong.is_empty(), "{} are harmless:\n{}", wrong.len(), wrong.join("\n"));
}

/// A command line that runs `rm -rf /etc` through a wrapper.
fn wrapped(program: &str, run: &Run) -> String {
    let subcommand = run.subcommands.first().map(|words| format!(" {words}")).unwrap_or_default();
    let operands = " x".repeat(run.operands);
    let start = run.starts.first().map(|option| format!(" {option}")).unwrap_or_default();
    let dashes = if run.after_dashes && start.is_empty() { " --" } else { "" };
    let command = if run.rest == Rest::Texts { "ls 'rm -rf /etc'" } else { "rm -rf /etc" };
    format!("{program}{subcommand}{operands}{start}{dashes} {command}")
}

#[test]
fn options_of_wrappers_hide_no_command() {
    let mut wrong = Vec::new();
    for (program, row) in PROGRAMS.entries() {
        for run in row.runs.iter().filter(|run| run.rest != Rest::Nothing && !run.is_program) {
            let line = wrapped(program, run);
            let is_found = |line: &str| {
                analyse(line).dangers.iter().any(|danger| danger.rule == "rm-recursive" && !danger.is_inside)
            };
            if !is_found(&line) {
                wrong.push(format!("not found: {line}"));
                continue;
            }
            for option in neutral_options(row) {
                for spelling in spellings(row, option) {
                    let other = line.replacen(' ', &format!(" {spelling} "), 1);
                    if !is_found(&other) {
                        wrong.push(other);
                    }
                }
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} hidden:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn unknown_options_of_wrappers_make_a_command_opaque() {
    for line in [
        "uv --no-such-option x run rm -rf /etc",
        "kubectl --no-such-option x exec pod -- rm -rf /",
        "sudo --no-such-option x rm -rf /etc",
        "docker exec --no-such-option x c rm -rf /",
        "git --no-such-option x push --force",
        "uv --no-such-a x --no-such-b y run rm -rf /etc",
        "uv --no-such-option '' run rm -rf /etc",
        "uv $WORDS run rm -rf /etc",
        "docker $WORDS exec c rm -rf /",
        "docker compose $FILES exec db rm -rf /data",
        "docker compose --no-such-option x exec db rm -rf /data",
        "npm --yes true exec rm -- -rf /etc",
        "npm --color always exec -- rm -rf /etc",
        "xargs --no-such-option 4 git push --force",
        "parallel --no-such-option x git push --force ::: a",
    ] {
        let dangers = analyse(line).dangers;
        assert!(dangers.iter().any(|danger| danger.rule == "opaque"), "{line}: {dangers:?}");
    }
    for line in [
        "uv --no-such-option run pytest",
        "sudo -E apt-get update",
        "npx --no-such-option eslint src",
        "uv $FLAGS run python main.py",
        "docker compose $FILES exec web ls",
        "docker run $IMAGE sh -c ls",
        "ssh $HOST sudo systemctl status nginx",
        "git $OPTIONS push",
        "xargs --no-such-option 4 echo",
    ] {
        assert!(analyse(line).dangers.iter().all(|danger| danger.rule != "opaque"), "{line}");
    }
}
