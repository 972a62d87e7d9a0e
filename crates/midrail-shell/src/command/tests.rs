//! What command lines do, as tables. Dangers are tested with their own tables; these tests check that the walk gets
//! there: through quotes, variables, wrappers and pipes, and not into what is only text.

mod evaluated;
mod files;
mod findings;
mod folders;
mod harmless;
mod hosts;
mod limits;
mod network;
mod readings;
mod unseen;
mod values;
mod wrappers;

use midrail_core::Severity;

use super::analyse;

/// The rules of what is found, without what is harmless by its place.
fn rules(command: &str) -> Vec<String> {
    let dangers = analyse(command).dangers.into_iter();
    let mut rules: Vec<String> = dangers
        .filter(|danger| !(danger.harmless_inside && danger.is_inside))
        .map(|danger| danger.rule)
        .collect();
    rules.dedup();
    rules
}

fn is_blocked(command: &str) -> bool {
    analyse(command).dangers.iter().any(|danger| danger.severity >= Severity::High && !danger.is_inside)
}

fn assert_blocked(commands: &[&str]) {
    let missed: Vec<&&str> = commands.iter().filter(|command| !is_blocked(command)).collect();
    assert!(missed.is_empty(), "not seen: {missed:#?}");
}

fn assert_harmless(commands: &[&str]) {
    let wrong: Vec<(&&str, Vec<String>)> = commands
        .iter()
        .map(|command| (command, rules(command)))
        .filter(|(_, rules)| !rules.is_empty())
        .collect();
    assert!(wrong.is_empty(), "seen: {wrong:#?}");
}

fn assert_rule(rule: &str, commands: &[&str]) {
    for command in commands {
        assert!(rules(command).iter().any(|found| found == rule), "{command}: {:?}", rules(command));
    }
}
