//! Finds what an invocation might destroy, by the dangers in the row of its program. `condition` evaluates when a danger
//! applies, `place` decides where a target is.

mod place;
#[cfg(test)]
mod tests;

use midrail_core::{Confidence, Danger, Severity};

use self::place::Target;
use super::condition::{Call, applies};
use super::invocation::{Arg, Folder, Input, Invocation};
use super::launch;
use super::options::{Arguments, MAX_UNKNOWN};
use super::programs::{self, Loss, Program, Rule, Targets};
use crate::tables::Condition;
use crate::tables::Place;

/// Longest command in a finding, in bytes.
const COMMAND_LENGTH: usize = 200;
/// Most targets that a finding names.
const MOST_TARGETS: usize = 64;

/// What one program might destroy.
pub(crate) fn judge(invocation: &Invocation) -> Vec<Danger> {
    if let Some(inner) = launch::inner(invocation, &[]) {
        return judge_program(&inner);
    }
    let is_dangerous = |inner: Option<Invocation>| {
        inner.is_some_and(|inner| judge_program(&inner).iter().any(|it| !it.is_inside))
    };
    if launch::other_readings(invocation).into_iter().any(is_dangerous) {
        let reason = "words that are not known come before the program: it may destroy something".to_owned();
        return vec![opaque(invocation, reason, "write the options as `--option=value`, or leave them out")];
    }
    judge_program(invocation)
}

/// Whether a place, relative to the folder that a command line starts in, may be destroyed: it lies strictly below that
/// folder, and holds nothing of its version control or of this guard.
pub fn is_expendable(place: &str) -> bool {
    let arg = Arg { is_glob: place.contains(['*', '?', '[']), ..Arg::known(place) };
    place::is_harmless(place::locate(&arg, &Folder::Known(String::new()), false).place)
}

/// Whether a word names a file with keys or passwords.
pub(crate) fn is_credential(file: &Arg, folder: &Folder) -> bool {
    place::is_secret(&place::locate(file, folder, false))
}

/// Whether a word names something in a temporary folder.
pub(crate) fn is_temporary(file: &Arg, folder: &Folder) -> bool {
    place::locate(file, folder, false).place == Place::Temporary
}

fn judge_program(invocation: &Invocation) -> Vec<Danger> {
    let program = invocation.row();
    if program.dangers.is_empty() {
        return Vec::new();
    }
    let call = Call::new(invocation, program, &[]);
    let mut dangers = judge_call(program.dangers, &call);
    keep_worst(&mut dangers);
    if dangers.is_empty() {
        let unknown = judge_unknown_options(program, &call).or_else(|| judge_unknown_word(program, &call));
        dangers.extend(unknown);
    }
    dangers
}

fn judge_call(rules: &[&'static Rule], call: &Call) -> Vec<Danger> {
    let is_dry_run = is_dry_run(call);
    if shows_help(call) {
        return Vec::new();
    }
    rules
        .iter()
        .filter(|rule| !is_dry_run || rule.ignores_dry_run)
        .filter(|rule| applies(rule.when, rule.unless, call))
        .filter_map(|rule| danger(rule, call))
        .collect()
}

/// Options that the row does not know hide a danger if they take the next word as their value.
fn judge_unknown_options(program: &'static Program, call: &Call) -> Option<Danger> {
    let options = call.arguments.unknown_options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let is_dangerous = |count: usize| {
        let other = Call::new(call.invocation, program, options.get(..count).unwrap_or_default());
        judge_call(program.dangers, &other).iter().any(|danger| !danger.is_inside)
    };
    let count = (1..=options.len()).find(|count| is_dangerous(*count))?;
    let option = options.get(count - 1)?;
    let reason = format!("`{option}` is not a known option: the command may destroy something");
    Some(opaque(call.invocation, reason, "write the option as `--option=value`, or leave it out"))
}

/// A word of which nothing is known hides a subcommand if it is no word, or only options.
fn judge_unknown_word(program: &'static Program, call: &Call) -> Option<Danger> {
    let rules: Vec<&'static Rule> =
        program.dangers.iter().copied().filter(|rule| rule.names_subcommand()).collect();
    let mut rest = call.arguments.after_unknown_word().filter(|_| !rules.is_empty())?;
    for _ in 0..MAX_UNKNOWN {
        let invocation = Invocation { args: rest.to_vec(), ..call.invocation.clone() };
        let other = Call::new(&invocation, program, &[]);
        if judge_call(&rules, &other).iter().any(|danger| !danger.is_inside) {
            break;
        }
        rest = Arguments::parse(program, rest, &[]).after_unknown_word()?;
    }
    let reason =
        "a word whose value is not known comes before the subcommand: the command may destroy something";
    Some(opaque(call.invocation, reason.to_owned(), "write the word out, or leave it out"))
}

fn opaque(invocation: &Invocation, reason: String, safer: &str) -> Danger {
    Danger {
        rule: "opaque".to_owned(),
        severity: Severity::Medium,
        confidence: Confidence::Medium,
        reason,
        safer: safer.to_owned(),
        command: spelt_out(invocation),
        start: invocation.start,
        end: invocation.end,
        ..Danger::default()
    }
}

impl Rule {
    /// Whether it is about an operand with this text.
    pub(super) fn mentions(&self, word: &str) -> bool {
        self.when.iter().any(|condition| condition.mentions(word))
    }

    /// Whether it is about a subcommand, such as `push`.
    pub(super) fn names_subcommand(&self) -> bool {
        self.when.iter().any(Condition::has_word)
    }
}

/// A redirection onto a file: `> file`, `>> file`. What is appended matters only for files that give access or run by
/// themselves.
pub(crate) fn judge_redirection(
    target: &Arg,
    is_append: bool,
    folder: &Folder,
    is_remote: bool,
    span: (usize, usize),
) -> Option<Danger> {
    let located = place::locate(target, folder, is_remote);
    let severity = match located.place {
        Place::System if !is_append && target.text.starts_with("/proc/") => Severity::Critical,
        _ if !is_append => place::write_severity(&located)?,
        Place::Device => Severity::Critical,
        Place::System => Severity::High,
        Place::Secret => place::write_severity(&located)?,
        Place::Startup | Place::Own | Place::UnknownSystem => Severity::Medium,
        _ => return None,
    };
    // A redirection has a row like a program.
    let operator = if is_append { ">>" } else { ">" };
    let mut danger = programs::row(operator).dangers.first()?.danger(severity, &[located]);
    danger.command = bounded(&format!("{operator} {}", target.text));
    (danger.start, danger.end) = span;
    Some(danger)
}

/// Whether a command only shows what would happen.
fn is_dry_run(call: &Call) -> bool {
    let arguments = &call.arguments;
    let is_it =
        |name: &str| arguments.is_one_of(arguments.program.dry_runs, name) && arguments.is_certain(name);
    arguments.flags.iter().any(|flag| is_it(flag)) || arguments.values.iter().any(|(name, _)| is_it(name))
}

/// Whether a command only shows help or its version.
fn shows_help(call: &Call) -> bool {
    let arguments = &call.arguments;
    let is_help = |name: &str| match name {
        "--help" | "-help" => arguments.is_certain(name),
        "--version" | "-version" => call.invocation.args.len() == 1,
        _ => false,
    };
    arguments.flags.iter().any(|flag| is_help(flag)) || arguments.values.iter().any(|(name, _)| is_help(name))
}

/// One finding for a rule that holds, if its targets matter.
fn danger(rule: &Rule, call: &Call) -> Option<Danger> {
    let invocation = call.invocation;
    let mut danger = if matches!(rule.targets, Targets::None | Targets::Restored) {
        rule.danger(rule.severity, &targets(rule, call))
    } else {
        let targets = targets(rule, call);
        if targets.is_empty() {
            // What would be deleted comes from elsewhere: `xargs rm -rf`.
            let names_them_itself = invocation.args.iter().any(|arg| arg.text == "{}");
            let is_judged_by_find = names_them_itself && !matches!(invocation.input, Input::Program(_));
            // `ls | rm -rf`: what the list names is meant, although the program does not read it.
            let is_fed = rule.targets == Targets::Operands
                && call.arguments.operands.is_empty()
                && invocation.input != Input::Inherited;
            if rule.loss != Loss::Tree || is_judged_by_find || !(invocation.has_more_args || is_fed) {
                return None;
            }
            Danger { confidence: Confidence::Medium, ..rule.danger(Severity::Medium, &[]) }
        } else {
            let worst = |harmless: bool| {
                targets
                    .iter()
                    .filter(|target| place::is_harmless(target.place) == harmless)
                    .filter_map(|target| match rule.loss {
                        Loss::Write => place::write_severity(target),
                        loss => place::severity(loss, target.place),
                    })
                    .max()
            };
            let severity = worst(false).or_else(|| worst(true))?;
            rule.danger(severity, &targets)
        }
    };
    danger.command = spelt_out(invocation);
    (danger.start, danger.end) = (invocation.start, invocation.end);
    Some(danger)
}

/// The targets of a call.
fn targets(rule: &Rule, call: &Call) -> Vec<Target> {
    let invocation = call.invocation;
    let locate = |arg: &Arg| place::locate(arg, &invocation.folder, invocation.is_remote);
    let content = |arg: &Arg| place::locate_content(arg, &invocation.folder, invocation.is_remote);
    let operands = call.arguments.operands.as_slice();
    let is_file = |arg: &&&Arg| arg.text != "{}" && !arg.text.is_empty();
    let after = || operands.get(rule.target_skip..).unwrap_or_default();
    let values = || call.arguments.values_of(rule.target_options);
    let mut targets: Vec<Target> = match rule.targets {
        Targets::None => Vec::new(),
        Targets::Operands => after().iter().filter(is_file).map(|arg| locate(arg)).collect(),
        Targets::Last if operands.len() < 2 => Vec::new(),
        Targets::Last => operands
            .last()
            .into_iter()
            .map(|arg| place::destination(arg, &invocation.folder, invocation.is_remote))
            .collect(),
        Targets::AllButLast => operands
            .split_last()
            .map(|(_, sources)| sources.iter().map(|arg| locate(arg)).collect())
            .unwrap_or_default(),
        Targets::Options => values().map(locate).collect(),
        Targets::Keyed => operands
            .iter()
            .filter(|arg| arg.text.starts_with(rule.target_key))
            .map(|arg| locate(&arg.tail(rule.target_key.len())))
            .collect(),
        Targets::Restored => restored(call).iter().map(|arg| locate(arg)).collect(),
        Targets::Printed => {
            operands.first().into_iter().flat_map(|arg| printed_onto(arg)).map(|arg| locate(&arg)).collect()
        }
        Targets::ContentOrHere if after().is_empty() => vec![content(&Arg::known("."))],
        Targets::ContentOrHere => after().iter().filter(is_file).map(|arg| content(arg)).collect(),
        Targets::Uploads => values()
            .filter_map(|arg| arg.text.find('@').map(|at| arg.tail(at + 1)))
            .map(|arg| locate(&arg))
            .collect(),
    };
    if matches!(rule.loss, Loss::Upload | Loss::Read) {
        targets.retain(place::is_secret);
        targets.iter_mut().for_each(|target| target.place = Place::Secret);
    }
    targets
}

/// The files that git takes back from its index, if the call names them and nothing else.
fn restored<'c>(call: &'c Call) -> &'c [&'c Arg] {
    let arguments = &call.arguments;
    let (subcommand, named) = match arguments.operands.split_first() {
        Some((subcommand, named)) => (subcommand.text.as_str(), named),
        None => return &[],
    };
    // `git checkout main file` takes it from a branch.
    let is_after_dashes = arguments.end_of_options == Some(1);
    let is_from_index = subcommand == "restore" || is_after_dashes || named.len() == 1;
    let has_more =
        !arguments.flags.is_empty() || !arguments.values.is_empty() || call.invocation.has_more_args;
    let is_all = |text: &str| matches!(text, "." | "./" | ".." | "../" | "*") || text.starts_with(':');
    let is_plain = |arg: &&Arg| !is_all(&arg.text) && arg.is_known();
    if is_from_index && !has_more && named.iter().all(is_plain) { named } else { &[] }
}

/// The files that an `awk` program prints onto: `print > "file"`. Every second piece between quotes is a text.
fn printed_onto(program: &Arg) -> impl Iterator<Item = Arg> + '_ {
    let mut is_text = true;
    let mut is_redirected = false;
    program.text.split('"').filter_map(move |piece| {
        is_text = !is_text;
        let is_target = is_text && is_redirected;
        is_redirected = !is_text && piece.trim_end().ends_with('>');
        is_target.then(|| Arg::known(piece))
    })
}

impl Rule {
    fn danger(&self, severity: Severity, targets: &[Target]) -> Danger {
        let is_fine = |target: &Target| {
            place::is_harmless(target.place) || place::severity(self.loss, target.place).is_none()
        };
        let is_restored = self.targets == Targets::Restored;
        let is_inside = !targets.is_empty() && !is_restored && targets.iter().all(is_fine);
        let is_unsure = targets
            .iter()
            .any(|target| matches!(target.place, Place::Unknown | Place::UnknownRoot | Place::UnknownSystem));
        let mut paths: Vec<String> =
            targets.iter().take(MOST_TARGETS).map(|target| target.path.clone()).collect();
        if targets.len() > MOST_TARGETS {
            // A target that is not named must not count as harmless.
            let worst = targets.iter().skip(MOST_TARGETS).find(|target| !place::is_harmless(target.place));
            paths.extend(worst.map(|target| target.path.clone()));
        }
        let mut reason = self.reason.to_owned();
        let badness =
            |target: &&Target| (!place::is_harmless(target.place), place::severity(self.loss, target.place));
        if let Some(worst) = targets.iter().rev().max_by_key(badness) {
            reason = format!("{reason}: {}", bounded(&worst.path));
        }
        Danger {
            rule: self.id.to_owned(),
            severity,
            confidence: if is_unsure { self.confidence.min(Confidence::Medium) } else { self.confidence },
            reason,
            safer: self.safer.to_owned(),
            // What lies on another machine is nowhere here, however it is spelt.
            harmless_saved: !paths.is_empty() && is_restored,
            harmless_own: self.loss == Loss::Read
                && targets.iter().all(|target| target.place != Place::Remote),
            harmless_inside: !paths.is_empty()
                && !is_restored
                && !matches!(self.loss, Loss::Upload | Loss::Read)
                && targets.iter().all(|target| target.place != Place::Remote),
            targets: paths,
            is_inside,
            ..Danger::default()
        }
    }
}

/// Several rules can apply to one command: the worst is enough, without targets and for the same targets.
fn keep_worst(dangers: &mut Vec<Danger>) {
    let mut kept: Vec<Danger> = Vec::with_capacity(dangers.len());
    for danger in dangers.drain(..) {
        match kept.iter_mut().find(|other| !other.targets.is_empty() && other.targets == danger.targets) {
            Some(other) if (!danger.is_inside, danger.severity) > (!other.is_inside, other.severity) => {
                *other = danger;
            }
            Some(_) => {}
            None => kept.push(danger),
        }
    }
    *dangers = kept;
    let worst = dangers.iter().filter(|danger| !danger.is_inside).map(|danger| danger.severity).max();
    let mut is_first = true;
    dangers.retain(|danger| {
        let is_kept = !danger.targets.is_empty() || (Some(danger.severity) == worst && is_first);
        is_first &= !(is_kept && danger.targets.is_empty());
        is_kept
    });
}

fn spelt_out(invocation: &Invocation) -> String {
    let mut command = invocation.program.clone();
    for arg in &invocation.args {
        if command.len() > COMMAND_LENGTH {
            break;
        }
        command.push(' ');
        command.push_str(&bounded(&arg.text));
    }
    bounded(&command)
}

/// A text, cut where it is too long for a finding.
fn bounded(text: &str) -> String {
    match text.get(..text.floor_char_boundary(COMMAND_LENGTH)) {
        Some(start) if start.len() < text.len() => format!("{start}…"),
        _ => text.to_owned(),
    }
}
