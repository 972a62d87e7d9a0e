//! Files that are named inside of other things: in statements for a database, and by the name that a container sees.

use super::found::TouchedFiles;
use crate::command::danger::is_credential;
use crate::command::invocation::{Arg, Invocation};
use crate::command::options::{Arguments, find_run};
use crate::command::programs;
use crate::words::sql::READING_FUNCTIONS;

/// The command of a client that reads a file.
const IMPORT: &str = ".import ";

/// `sqlite3 :memory: "select readfile('x')"`, `sqlite3 a.db '.import x t'`
pub(super) fn read_by_statements(invocation: &Invocation, found: &mut TouchedFiles) {
    for arg in &invocation.args {
        let text = arg.text.as_str();
        for name in READING_FUNCTIONS.iter().filter(|name| text.contains(**name)) {
            for rest in text.split(name).skip(1).take(16) {
                let file = rest
                    .trim_start()
                    .strip_prefix(['\'', '"'])
                    .and_then(|rest| rest.split(['\'', '"']).next());
                file.into_iter().for_each(|file| found.add(&Arg::known(file), true, false));
            }
        }
        for line in text.lines().map(str::trim_start) {
            let mut words = line.strip_prefix(IMPORT).into_iter().flat_map(str::split_whitespace);
            if let Some(file) = words.find(|word| !word.starts_with('-')) {
                found.add(&Arg::known(file.trim_matches(['\'', '"'])), true, false);
            }
        }
    }
}

/// `docker run -v $PWD/.env:/x image cat /x`: a file with credentials that the command names as the container sees it.
pub(super) fn read_in_container(invocation: &Invocation, found: &mut TouchedFiles) {
    let Some((args, run)) = find_run(invocation, "run") else { return };
    let sorted = Arguments::leading(programs::row(&invocation.program), args, run.values);
    let command = sorted.operands.first().map_or(args.len(), |image| image + 1);
    let command = args.get(command..).unwrap_or(&[]);
    for volume in sorted.values_of(&["-v", "--volume"]) {
        let mut fields = volume.text.split(':');
        let (Some(here), Some(there)) = (fields.next(), fields.next()) else { continue };
        let here = Arg::known(here);
        let is_named = command.iter().any(|arg| arg.text.contains(there));
        if is_named && is_credential(&here, &invocation.folder) {
            found.add(&here, true, false);
        }
    }
}
