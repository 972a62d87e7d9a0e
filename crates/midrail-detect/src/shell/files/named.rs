//! Programs that look at files without showing what is in them, and programs that log in with a key: the content stays where
//! it is.

use super::rows::{Operands, PLAIN, Row};
use super::{Arg, Found, Invocation, is_credential, options};
use crate::shell::scope::{is_absolute, join};

const NAMED: Row = Row { operands: Operands::Named, ..PLAIN };

/// The programs, by the options that take a value.
pub(super) const ROWS: &[Row] = &[
    Row {
        programs: &["ls", "gls", "ll", "dir", "vdir"],
        values: &[
            "-I",
            "--ignore",
            "--hide",
            "-w",
            "-T",
            "--sort",
            "--time",
            "--format",
            "--color",
            "--block-size",
        ],
        ..NAMED
    },
    Row {
        programs: &["exa", "eza", "lsd", "tree"],
        reads: &["--fromfile"],
        values: &[
            "-L",
            "--level",
            "-I",
            "--ignore-glob",
            "-P",
            "-s",
            "--sort",
            "-t",
            "--time",
            "--color",
            "-o",
        ],
        ..NAMED
    },
    Row { programs: &["stat", "gstat"], values: &["-c", "--format", "--printf", "-f", "-t"], ..NAMED },
    Row {
        programs: &["du", "gdu", "dust", "ncdu"],
        reads: &["--files0-from"],
        values: &["-d", "--max-depth", "-t", "--threshold", "-B", "--block-size", "--exclude", "--time"],
        ..NAMED
    },
    // A list of names that is read from a file is shown.
    Row {
        programs: &["file"],
        reads: &["-f", "--files-from"],
        values: &["-F", "--separator", "-m", "-e", "-P"],
        ..NAMED
    },
    Row { programs: &["wc", "lsattr", "getfacl"], reads: &["--files0-from"], ..NAMED },
    Row {
        programs: &[
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "b2sum",
            "b3sum",
            "md5",
            "cksum",
            "sum",
            "shasum",
        ],
        values: &["-a", "--algorithm", "-l", "--length"],
        ..NAMED
    },
];

/// Commands of `openssl` that show certificates and requests, whatever else the file holds.
const OF_CERTIFICATES: &[&str] = &["x509", "verify", "req", "crl", "ocsp"];

/// Programs that need more than a row.
pub(super) fn special(invocation: &Invocation, sorted: &options::Sorted, found: &mut Found) {
    match invocation.program.as_str() {
        "openssl" => {
            let command = invocation.args.first().map_or("", |arg| arg.text.as_str());
            // `-pubout` and `-noout` keep the key itself to themselves.
            let is_public = OF_CERTIFICATES.contains(&command)
                || sorted.has(&["-pubout", "-noout"]) && !sorted.has(&["-text"]);
            for file in sorted.values_of(&["-in"]) {
                match is_public {
                    true => found.add_named(file, false),
                    false => found.add(file, true, false),
                }
            }
        }
        "ssh-keygen" => {
            // What is asked for a fingerprint or the public half tells no more than that.
            let is_asked = sorted.has(&["-l", "-y", "-B", "-F"]);
            for file in sorted.values_of(&["-f"]) {
                match is_asked {
                    true => found.add_named(file, false),
                    false => found.add(file, false, true),
                }
            }
        }
        _ => {}
    }
}

/// Whether a program makes a symbolic link.
pub(in crate::shell) fn is_symbolic(invocation: &Invocation) -> bool {
    let is_it = |text: &str| {
        text == "--symbolic" || text.starts_with('-') && !text.starts_with("--") && text.contains('s')
    };
    matches!(invocation.program.as_str(), "ln" | "gln") && invocation.args.iter().any(|arg| is_it(&arg.text))
}

/// What a symbolic link leads to: it counts from the folder of the link.
pub(in crate::shell) fn led_to(target: &str, link: &str) -> String {
    let folder = match link.rsplit_once('/') {
        _ if matches!(link, "." | ".." | "~") => link,
        Some((folder, _)) => folder,
        None => "",
    };
    if is_absolute(target) { target.to_owned() } else { join(folder, target) }
}

/// A link changes nothing of what it leads to, and shows nothing of it. Under another name, keys would be shown.
pub(super) fn linked(target: &Arg, link: Option<&Arg>, invocation: &Invocation, found: &mut Found) {
    let link = link.map_or("", |link| link.text.as_str());
    let target = Arg { text: led_to(&target.text, link), ..target.clone() };
    match is_credential(&target, &invocation.folder) {
        true => found.add(&target, true, false),
        false => found.add_named(&target, false),
    }
}

/// Endings of files that show what a file with credentials looks like.
const TEMPLATES: &[&str] = &[".example", ".sample", ".template", ".dist"];

/// `cp .env.example .env`: what is written holds no credentials yet.
pub(super) fn is_from_template(operands: &[&Arg], invocation: &Invocation) -> bool {
    let [template, file] = operands else { return false };
    matches!(invocation.program.as_str(), "cp" | "gcp" | "install")
        && TEMPLATES.iter().any(|ending| template.text.ends_with(ending))
        && is_credential(file, &invocation.folder)
}

/// Rights that shut everybody else out.
const OWN_RIGHTS: &[&str] =
    &["600", "400", "700", "0600", "0400", "0700", "go-rwx", "og-rwx", "go=", "u=rw,go=", "u=rwx,go="];

/// `chmod 600 ~/.ssh/id_rsa`: the file is as it was, and safer.
pub(super) fn only_keeps_others_out(operands: &[&Arg], file: &Arg, invocation: &Invocation) -> bool {
    let is_plain = |arg: &Arg| !arg.text.starts_with('-');
    invocation.program == "chmod"
        && invocation.args.iter().all(is_plain)
        && operands.first().is_some_and(|mode| OWN_RIGHTS.contains(&mode.text.as_str()))
        && (is_credential(file, &invocation.folder) || file.text.contains("/.ssh"))
}
