//! Programs that use files without showing their content, and programs that log in with a key: the content stays where
//! it is.

use super::found::TouchedFiles;
use crate::command::condition::does;
use crate::command::danger::is_credential;
use crate::command::invocation::{Arg, Invocation};
use crate::command::options::Arguments;
use crate::command::programs::Tag;
use crate::command::scope::{is_absolute, join};
use crate::words::places::TEMPLATES;
use crate::words::shell::OWNER_ONLY_MODES;

/// `openssl rsa -in key`, `ssh-keygen -f key`
pub(super) fn keys(invocation: &Invocation, sorted: &Arguments, found: &mut TouchedFiles) {
    let makes_key = invocation.program == "ssh-keygen";
    for file in sorted.values_of(if makes_key { &["-f"] } else { &["-in"] }) {
        if does(invocation, Tag::KeepsKeys) {
            found.add_named(file, false);
        } else {
            found.add(file, !makes_key, makes_key);
        }
    }
}

/// What a symbolic link leads to: it counts from the folder of the link.
pub(crate) fn led_to(target: &str, link: &str) -> String {
    let folder = match link.rsplit_once('/') {
        _ if matches!(link, "." | ".." | "~") => link,
        Some((folder, _)) => folder,
        None => "",
    };
    if is_absolute(target) { target.to_owned() } else { join(folder, target) }
}

/// A link changes nothing of what it leads to, and shows nothing of it. Under another name, keys would be shown.
pub(super) fn linked(target: &Arg, link: Option<&Arg>, invocation: &Invocation, found: &mut TouchedFiles) {
    let link = link.map_or("", |link| link.text.as_str());
    let target = Arg { text: led_to(&target.text, link), ..target.clone() };
    if is_credential(&target, &invocation.folder) {
        found.add(&target, true, false);
    } else {
        found.add_named(&target, false);
    }
}

/// `cp .env.example .env`: what is written holds no credentials yet.
pub(super) fn is_from_template(operands: &[&Arg], invocation: &Invocation) -> bool {
    let [template, file] = operands else { return false };
    matches!(invocation.program.as_str(), "cp" | "gcp" | "install")
        && TEMPLATES.iter().any(|ending| template.text.ends_with(ending))
        && is_credential(file, &invocation.folder)
}

/// `chmod 600 ~/.ssh/id_rsa`: the file is as it was, and safer.
pub(super) fn only_keeps_others_out(operands: &[&Arg], file: &Arg, invocation: &Invocation) -> bool {
    let is_plain = |arg: &Arg| !arg.text.starts_with('-');
    invocation.program == "chmod"
        && invocation.args.iter().all(is_plain)
        && operands.first().is_some_and(|mode| OWNER_ONLY_MODES.contains(&mode.text.as_str()))
        && (is_credential(file, &invocation.folder) || file.text.contains("/.ssh"))
}
