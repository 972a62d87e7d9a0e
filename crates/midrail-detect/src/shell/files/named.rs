//! Programs that look at files without showing what is in them, and programs that log in with a key: the content stays where
//! it is.

use super::rows::{Operands, PLAIN, Row};
use super::{Found, Invocation, options};

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
