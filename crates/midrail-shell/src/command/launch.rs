//! Programs that only start a script or a tool with a row of its own: `python manage.py flush`.

use super::invocation::{Arg, Invocation};
use super::options::Arguments;
use super::programs::{self, Tag};

/// The invocation that another one only starts, if its program has dangers.
pub(super) fn inner(invocation: &Invocation) -> Option<Invocation> {
    let row = programs::row(&invocation.program);
    if row.launches.is_empty() {
        return None;
    }
    let arguments = Arguments::new(invocation);
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
