//! Programs that only start a script or a tool with a row of its own: `python manage.py flush`.

use super::invocation::{Arg, Invocation};
use super::options::Arguments;
use super::programs::{self, Tag};

/// The invocation that another one only starts, if its program has dangers. The options in `more` take a value as well.
pub(super) fn inner(invocation: &Invocation, more: &[&str]) -> Option<Invocation> {
    let row = invocation.row();
    if row.launches.is_empty() {
        return None;
    }
    let arguments = Arguments::parse(row, &invocation.args, more);
    let first = arguments.places.first().copied().unwrap_or(invocation.args.len());
    let is_module = |arg: &Arg| !row.launch_option.is_empty() && arg.text == row.launch_option;
    if let Some(at) = invocation.args.iter().position(is_module).filter(|at| *at <= first) {
        return program_at(invocation, at + 1);
    }
    row.launches.iter().find_map(|words| {
        let at = arguments.places.get(arguments.begins_with(words)?)?;
        program_at(invocation, *at)
    })
}

/// The same, if options that the row does not know take a value, and words that are not known are options or nothing.
pub(super) fn other_readings(invocation: &Invocation) -> Vec<Option<Invocation>> {
    let row = invocation.row();
    if row.launches.is_empty() {
        return Vec::new();
    }
    let arguments = Arguments::new(invocation);
    let options = arguments.unknown_options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let with_values =
        (1..=options.len()).map(|count| inner(invocation, options.get(..count).unwrap_or_default()));
    let without_word = arguments
        .after_unknown_word()
        .map(|rest| inner(&Invocation { args: rest.to_vec(), ..invocation.clone() }, &[]));
    with_values.chain(without_word).collect()
}

fn program_at(invocation: &Invocation, index: usize) -> Option<Invocation> {
    let arg = invocation.args.get(index)?;
    let name = script_name(arg)?;
    let row = programs::row(name);
    let is_known = !row.tags.contains(&Tag::AlsoSubcommand) && !row.dangers.is_empty();
    is_known.then(|| Invocation {
        program: name.to_owned(),
        args: invocation.args.get(index + 1..).unwrap_or_default().to_vec(),
        ..invocation.clone()
    })
}

fn script_name(arg: &Arg) -> Option<&str> {
    if !arg.is_known() {
        return None;
    }
    let name = arg.text.rsplit('/').next().unwrap_or_default();
    // `npx prisma@5`
    let name = name.split('@').next().unwrap_or(name);
    // The package is named differently from its program.
    let name = if name == "firebase-tools" { "firebase" } else { name };
    (!name.is_empty()).then_some(name)
}
