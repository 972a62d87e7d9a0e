//! The tables of what destroys, and their matcher. `rules` holds the tables by theme, `condition` the language in
//! which a row says when it holds, `grammar` how programs read their arguments, `place` where targets lie.

mod call;
mod condition;
mod grammar;
mod launch;
mod names;
mod place;
mod rule;
mod rules;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use midrail_core::{Confidence, Danger, Severity};

use self::call::Call;
use self::condition::Compiled;
use self::place::{Place, Target};
use self::rule::{Loss, Rule, Targets};
use super::invocation::{Arg, Folder, Input, Invocation};

/// Longest command in a finding, in bytes.
const COMMAND_LENGTH: usize = 200;
/// Most targets that a finding names.
const MOST_TARGETS: usize = 64;

/// What one program might destroy.
pub fn judge(invocation: &Invocation) -> Vec<Danger> {
    if let Some(inner) = launch::inner(invocation) {
        return judge_program(&inner);
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

/// Whether the tables have rows about a program.
pub(crate) fn is_known(program: &str) -> bool {
    !rules::of(&program_name(program)).is_empty()
}

/// Whether a word names something in a temporary folder.
pub(crate) fn is_temporary(file: &Arg, folder: &Folder) -> bool {
    place::locate(file, folder, false).place == Place::Temporary
}

fn judge_program(invocation: &Invocation) -> Vec<Danger> {
    let program = program_name(&invocation.program);
    let mut dangers = judge_by(rules::of(&program), invocation, &program);
    keep_worst(&mut dangers);
    dangers
}

fn judge_by(rules: &[Compiled], invocation: &Invocation, program: &str) -> Vec<Danger> {
    if rules.is_empty() {
        return Vec::new();
    }
    let call = Call::new(invocation, program);
    if is_only_asked_about(&call) {
        return Vec::new();
    }
    rules.iter().filter(|rule| rule.holds(&call)).filter_map(|rule| danger(rule.rule, &call)).collect()
}

/// A redirection that empties or replaces a file: `> file`.
pub fn judge_overwrite(
    target: &Arg,
    folder: &Folder,
    is_remote: bool,
    span: (usize, usize),
) -> Option<Danger> {
    let located = place::locate(target, folder, is_remote);
    let severity = if target.text.starts_with("/proc/") && located.place == Place::System {
        Severity::Critical
    } else {
        place::write_severity(&located)?
    };
    let mut danger = rules::OVERWRITE.danger(severity, &[located]);
    danger.command = bounded(&format!("> {}", target.text));
    (danger.start, danger.end) = span;
    Some(danger)
}

/// A redirection that adds to a file: `>> file`. Only files that give access or run by themselves matter.
pub fn judge_append(target: &Arg, folder: &Folder, is_remote: bool, span: (usize, usize)) -> Option<Danger> {
    let located = place::locate(target, folder, is_remote);
    let severity = match located.place {
        Place::Device => Severity::Critical,
        Place::System => Severity::High,
        Place::Secret => place::write_severity(&located)?,
        Place::Startup | Place::Own => Severity::Medium,
        _ => return None,
    };
    let mut danger = rules::APPEND.danger(severity, &[located]);
    danger.command = bounded(&format!(">> {}", target.text));
    (danger.start, danger.end) = span;
    Some(danger)
}

/// The name that the tables know a program by: some file systems do not tell capitals from small letters.
fn program_name(program: &str) -> Cow<'_, str> {
    let program = program.strip_suffix(".exe").unwrap_or(program);
    if program.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(program.to_ascii_lowercase())
    } else {
        Cow::Borrowed(program)
    }
}

/// Whether a command only asks what would happen: help, version, a dry run.
fn is_only_asked_about(call: &Call) -> bool {
    let is_asked = call.options.iter().any(|given| match given.name {
        "help" => !given.is_short,
        "version" => call.invocation.args.len() == 1,
        "dry-run" | "dryrun" | "what-if" | "simulate" | "just-print" | "noop" => {
            !matches!(given.value_text(), Some("none" | "false" | "no" | "0"))
        }
        _ => false,
    });
    is_asked || call.operands.first().is_some_and(|first| first.text == "help")
}

/// One finding for a rule that holds, if its targets matter.
fn danger(rule: &Rule, call: &Call) -> Option<Danger> {
    let invocation = call.invocation;
    let mut danger = if rule.targets == Targets::None {
        rule.danger(rule.severity, &[])
    } else {
        let targets = targets(rule, call);
        if targets.is_empty() {
            // What would be deleted comes from elsewhere: `xargs rm -rf`.
            let names_them_itself = invocation.args.iter().any(|arg| arg.text == "{}");
            let is_judged_by_find = names_them_itself && !matches!(invocation.input, Input::Program(_));
            if rule.loss != Loss::Tree || is_judged_by_find {
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
    let operands = call.operands.as_slice();
    let is_file = |arg: &&&Arg| arg.text != "{}" && !arg.text.is_empty();
    let after = |from: usize| operands.get(from..).unwrap_or_default();
    let mut targets: Vec<Target> = match rule.targets {
        Targets::None => Vec::new(),
        Targets::Operands(from) => after(from).iter().filter(is_file).map(|arg| locate(arg)).collect(),
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
        Targets::Options(names) => option_values(call, names).map(|arg| locate(&arg)).collect(),
        Targets::Keyed(key) => operands
            .iter()
            .filter(|arg| arg.text.starts_with(key))
            .map(|arg| locate(&call::tail(arg, key.len())))
            .collect(),
        Targets::Printed => {
            operands.first().into_iter().flat_map(|arg| printed_onto(arg)).map(|arg| locate(&arg)).collect()
        }
        Targets::ContentOrHere(from) if after(from).is_empty() => vec![content(&Arg::known("."))],
        Targets::ContentOrHere(from) => after(from).iter().filter(is_file).map(|arg| content(arg)).collect(),
        Targets::Uploads(names) => option_values(call, names)
            .filter_map(|arg| arg.text.find('@').map(|at| call::tail(&arg, at + 1)))
            .map(|arg| locate(&arg))
            .collect(),
    };
    if matches!(rule.loss, Loss::Upload | Loss::Read) {
        targets.retain(place::is_secret);
        targets.iter_mut().for_each(|target| target.place = Place::Secret);
    }
    targets
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

fn option_values<'a>(call: &'a Call, names: &'static [&'static str]) -> impl Iterator<Item = Arg> + 'a {
    let is_wanted = |name: &str| names.iter().any(|wanted| wanted.trim_start_matches('-') == name);
    call.options.iter().filter(move |given| is_wanted(given.name)).filter_map(|given| given.value_arg())
}

impl Rule {
    fn danger(&self, severity: Severity, targets: &[Target]) -> Danger {
        let is_fine = |target: &Target| {
            place::is_harmless(target.place) || place::severity(self.loss, target.place).is_none()
        };
        let is_inside = !targets.is_empty() && targets.iter().all(is_fine);
        let is_unsure =
            targets.iter().any(|target| matches!(target.place, Place::Unknown | Place::UnknownRoot));
        let mut paths: Vec<String> =
            targets.iter().take(MOST_TARGETS).map(|target| target.path.clone()).collect();
        if targets.len() > MOST_TARGETS {
            // What is not named must not pass for a target that was looked at.
            let worst = targets.iter().skip(MOST_TARGETS).find(|target| !place::is_harmless(target.place));
            paths.extend(worst.map(|target| target.path.clone()));
        }
        let mut reason = self.destroys.to_owned();
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
            harmless_inside: !paths.is_empty()
                && !matches!(self.loss, Loss::Upload | Loss::Read)
                && targets.iter().all(|target| target.place != Place::Remote),
            targets: paths,
            is_inside,
            ..Danger::default()
        }
    }
}

/// Several rows may tell of one command: the worst is enough, without targets and for the same targets.
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
    if text.len() <= COMMAND_LENGTH {
        return text.to_owned();
    }
    let mut end = COMMAND_LENGTH;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", text.get(..end).unwrap_or_default())
}
