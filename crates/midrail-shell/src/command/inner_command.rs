//! Where a program names the command that it runs: `docker run --rm image command`.

use super::ast::is_name;
use super::invocation::Arg;
use super::options::{Arguments, after_subcommand};
use super::programs::{Program, Rest, Run};

/// Where a wrapper names the command that it runs.
pub(super) struct WrappedCommand<'a> {
    /// The first word of the command.
    pub(super) at: usize,
    /// The options between the subcommand and it.
    pub(super) options: Arguments<'a>,
    /// Folders that options in front of the subcommand name.
    pub(super) folders: Vec<Arg>,
    /// Variables that it sets for the command.
    pub(super) assignments: Vec<(String, Arg)>,
    /// An option says that the command follows.
    pub(super) is_started: bool,
    /// An option in front of the command that the row does not know.
    pub(super) unknown: Option<String>,
}

/// Finds the command. The options in `more` take a value as well. `None`: the subcommand is another one.
pub(super) fn find_command<'a>(
    program: &'static Program,
    run: &'static Run,
    args: &'a [Arg],
    more: &[&str],
) -> Option<WrappedCommand<'a>> {
    let from = after_subcommand(program, args, run.subcommands, more)?;
    let more = [run.values, run.code, more].concat();
    let rest = args.get(from..).unwrap_or(&[]);
    let has_command = run.rest != Rest::Nothing;
    let start = rest.iter().position(|arg| has_command && run.starts.contains(&arg.text.as_str()));
    let mut assignments = Vec::new();
    let leading = Arguments::parse(program, args.get(..from).unwrap_or_default(), &more);
    let mut folders: Vec<Arg> = leading.values_of(program.folders).cloned().collect();
    let mut unknown = leading.unknown.clone();
    let mut at = if has_command { start.map_or(0, |start| start + 1) } else { rest.len() };
    let mut operands = run.operands;
    let mut has_dashes = false;
    while has_command && start.is_none() {
        let leading = Arguments::before_command(program, run, rest.get(at..).unwrap_or(&[]), &more);
        if leading.has(run.instead) {
            operands = operands.saturating_sub(1);
        }
        unknown = unknown.or_else(|| leading.unknown.clone());
        let Some(next) = leading.places.first().map(|next| at + next) else {
            at = rest.len();
            break;
        };
        has_dashes |= next > 0 && rest.get(next - 1).is_some_and(|arg| arg.text == "--");
        at = next;
        let Some(arg) = rest.get(at) else { break };
        if run.assigns
            && let Some(assignment) = assignment(arg)
        {
            assignments.push(assignment);
            at += 1;
        } else if operands > 0 {
            folders.extend(Some(arg).filter(|_| run.starts_in_operand).cloned());
            operands -= 1;
            at += 1;
            // What follows the last operand is the command, whatever it looks like.
            if operands == 0 && !run.options_between {
                break;
            }
        } else if run.after_dashes && !has_dashes {
            at += 1;
        } else {
            break;
        }
    }
    let options = Arguments::parse(program, rest.get(..at).unwrap_or(rest), &more);
    if run.operands > 0 && rest.get(at).is_some_and(|arg| arg.text == "--") {
        at += 1;
    }
    Some(WrappedCommand {
        at: from + at,
        options,
        folders,
        assignments,
        is_started: start.is_some(),
        unknown,
    })
}

/// A word that sets a variable, as its name and value. `bash` has names of its own for functions.
pub(super) fn assignment(arg: &Arg) -> Option<(String, Arg)> {
    let (name, _) = arg.text.split_once('=')?;
    (is_name(name) || name.starts_with("BASH_FUNC_")).then(|| (name.to_owned(), arg.tail(name.len() + 1)))
}

/// The end of a program's own arguments, in front of the command that a subcommand of it runs, and how they are read. `None`: it runs
/// none by a subcommand.
pub(super) fn own_arguments(program: &'static Program, args: &[Arg]) -> Option<(usize, &'static Run)> {
    let mut runs = program.runs.iter().filter(|run| !run.subcommands.is_empty() && !run.is_program);
    runs.find_map(|run| Some((find_command(program, run, args, &[])?.at, run)))
}
