//! The files that a program reads and writes, by its arguments: a table of programs.

use super::invocation::{Arg, Invocation};
use super::options;

/// A file that a program touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touched {
    pub(super) path: String,
    pub(super) is_read: bool,
    pub(super) is_written: bool,
}

/// What a program does to the files that its operands name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// They are no files.
    None,
    Read,
    Write,
    /// They are read and changed in place.
    Both,
    /// The first is a pattern or a program; the others are read.
    PatternThenRead,
    /// All but the last are read, the last is written.
    CopyToLast,
    /// All are written, the last too.
    MoveToLast,
    /// The first is a mode or an owner; the others are written.
    ModeThenWrite,
    /// The first is written, the others are read: `zip archive files`.
    WriteThenRead,
    /// The first is read, the second written.
    ReadThenWrite,
}

/// One row: which files some programs touch.
struct Row {
    programs: &'static [&'static str],
    operands: Operands,
    /// Options whose value is a file that is read.
    reads: &'static [&'static str],
    /// Options whose value is a file that is written.
    writes: &'static [&'static str],
    /// Options with some other value.
    values: &'static [&'static str],
}

const PLAIN: Row = Row { programs: &[], operands: Operands::Read, reads: &[], writes: &[], values: &[] };

const ROWS: &[Row] = &[
    Row {
        programs: &[
            "cat",
            "less",
            "more",
            "nl",
            "tac",
            "rev",
            "wc",
            "md5sum",
            "sha1sum",
            "sha256sum",
            "sha512sum",
            "md5",
            "cksum",
            "b2sum",
            "file",
            "stat",
            "strings",
            "zcat",
            "gzcat",
            "xzcat",
            "bzcat",
            "zstdcat",
            "zless",
            "bat",
            "batcat",
            "most",
            "hexyl",
            "expand",
            "unexpand",
            "fold",
            "fmt",
            "pr",
            "ldd",
            "nm",
            "objdump",
            "readelf",
            "size",
            "exiftool",
            "mediainfo",
            "glow",
            "mdcat",
            "open",
            "xdg-open",
            "view",
            "diff",
            "cmp",
            "comm",
            "colordiff",
            "sdiff",
            "vimdiff",
            "difft",
            "delta",
            "column",
            "paste",
            "join",
            "tsort",
            "sum",
            "lsattr",
            "getfacl",
            "du",
            "ls",
            "ll",
            "exa",
            "eza",
            "lsd",
            "tree",
            "iconv",
            "dos2unix-check",
            "shasum",
            "rg-files",
            "visudo-check",
            "csvlook",
        ],
        values: &[
            "-w",
            "-s",
            "-n",
            "-c",
            "-b",
            "-a",
            "-A",
            "-B",
            "-l",
            "-L",
            "-I",
            "-P",
            "-d",
            "-t",
            "-f",
            "--format",
            "-U",
            "-F",
            "-r",
            "-H",
            "--language",
            "--theme",
            "--line-range",
            "--exclude",
            "-x",
            "--level",
            "--max-depth",
            "--tabs",
        ],
        ..PLAIN
    },
    Row {
        programs: &["head", "tail"],
        values: &["-n", "-c", "-s", "--lines", "--bytes", "--pid", "-b"],
        ..PLAIN
    },
    Row {
        programs: &["xxd", "od", "hexdump", "hd"],
        values: &["-l", "-s", "-c", "-g", "-n", "-N", "-j", "-w", "-A", "-t", "-e"],
        operands: Operands::ReadThenWrite,
        ..PLAIN
    },
    Row {
        programs: &["base64", "base32"],
        values: &["-w", "--wrap", "-b"],
        reads: &["-i"],
        writes: &["-o"],
        ..PLAIN
    },
    Row {
        programs: &[
            "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep", "pcregrep", "ggrep", "ripgrep",
        ],
        operands: Operands::PatternThenRead,
        reads: &["-f", "--file", "--ignore-file"],
        values: &[
            "-e",
            "--regexp",
            "-A",
            "-B",
            "-C",
            "-m",
            "-g",
            "--glob",
            "-t",
            "--type",
            "-T",
            "--include",
            "--exclude",
            "--exclude-dir",
            "-d",
            "-D",
            "--max-count",
            "--color",
            "--colour",
            "--max-depth",
            "-M",
            "-r-",
            "--replace",
            "--context",
            "--type-not",
            "--iglob",
            "-j",
            "--sort",
            "--max-columns",
            "--after-context",
            "--before-context",
            "-E-",
        ],
        ..PLAIN
    },
    Row {
        programs: &["sed", "gsed"],
        operands: Operands::PatternThenRead,
        reads: &["-f", "--file"],
        values: &["-e", "--expression", "-l", "--line-length"],
        ..PLAIN
    },
    Row {
        programs: &["awk", "gawk", "mawk", "nawk"],
        operands: Operands::PatternThenRead,
        reads: &["-f", "--file"],
        values: &["-F", "-v", "-e", "--assign", "--field-separator"],
        ..PLAIN
    },
    Row {
        programs: &["jq", "yq", "gojq", "jaq", "dasel", "xq", "fx"],
        operands: Operands::PatternThenRead,
        reads: &["-f", "--from-file", "--slurpfile", "--rawfile"],
        values: &["--arg", "--argjson", "--indent", "-o", "-p", "--output-format"],
        ..PLAIN
    },
    Row { programs: &["cut"], values: &["-d", "-f", "-c", "-b", "--delimiter", "--fields"], ..PLAIN },
    Row {
        programs: &["sort"],
        reads: &["--files0-from"],
        writes: &["-o", "--output"],
        values: &["-k", "-t", "-S", "-T", "--key", "--parallel"],
        ..PLAIN
    },
    Row { programs: &["uniq"], operands: Operands::ReadThenWrite, values: &["-f", "-s", "-w"], ..PLAIN },
    Row { programs: &["shuf"], reads: &[], writes: &["-o"], values: &["-n", "-i", "-e"], ..PLAIN },
    Row {
        programs: &["split", "csplit"],
        values: &["-b", "-l", "-n", "-C", "-a"],
        operands: Operands::ReadThenWrite,
        ..PLAIN
    },
    Row {
        programs: &["cp", "gcp", "install", "ditto", "scp", "rsync", "pax", "rclone"],
        operands: Operands::CopyToLast,
        writes: &["-t", "--target-directory", "--log-file", "--backup-dir"],
        reads: &["-i", "--exclude-from", "--files-from", "--include-from", "--password-file"],
        values: &[
            "-S",
            "-m",
            "-o",
            "-g",
            "--suffix",
            "--mode",
            "--owner",
            "--group",
            "-P",
            "-F",
            "-e",
            "--rsh",
            "--exclude",
            "--include",
            "-l",
            "-c",
            "--filter",
            "-f",
            "--bwlimit",
            "-J",
        ],
    },
    Row {
        programs: &["mv", "gmv", "rename", "mmv"],
        operands: Operands::MoveToLast,
        writes: &["-t", "--target-directory"],
        values: &["-S", "--suffix"],
        ..PLAIN
    },
    Row {
        programs: &["ln"],
        operands: Operands::CopyToLast,
        writes: &["-t", "--target-directory"],
        values: &["-S"],
        ..PLAIN
    },
    Row {
        programs: &[
            "tee",
            "touch",
            "mkdir",
            "rmdir",
            "rm",
            "grm",
            "unlink",
            "shred",
            "srm",
            "trash",
            "trash-put",
            "rimraf",
            "del",
            "mkfifo",
            "mknod",
            "sponge",
            "wipe",
            "scrub",
            "gio-trash",
            "fallocate",
            "del-cli",
            "trash-cli",
        ],
        operands: Operands::Write,
        reads: &["-r-", "--reference"],
        values: &[
            "-d",
            "-t",
            "-m",
            "--mode",
            "-n",
            "-s",
            "--iterations",
            "--size",
            "--date",
            "-l",
            "--length",
        ],
        ..PLAIN
    },
    Row { programs: &["truncate"], operands: Operands::Write, values: &["-s", "--size", "-r"], ..PLAIN },
    Row {
        programs: &["chmod", "chown", "chgrp", "chattr", "setfacl", "chcon", "chflags"],
        operands: Operands::ModeThenWrite,
        values: &["-m", "-x", "--reference"],
        ..PLAIN
    },
    Row {
        programs: &["tar", "gtar", "bsdtar"],
        operands: Operands::None,
        values: &[
            "-I",
            "--exclude",
            "--transform",
            "-b",
            "--strip-components",
            "--owner",
            "--group",
            "--use-compress-program",
            "--checkpoint-action",
        ],
        reads: &["-T", "--files-from", "-X"],
        writes: &["-C", "--directory"],
    },
    Row {
        programs: &["zip", "7z", "7za", "rar", "jar"],
        operands: Operands::WriteThenRead,
        values: &["-x", "-i", "-P", "-p"],
        ..PLAIN
    },
    Row { programs: &["unzip", "unrar", "unar"], writes: &["-d"], values: &["-x", "-P"], ..PLAIN },
    Row {
        programs: &[
            "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "lz4", "brotli",
            "compress", "pigz", "dos2unix", "unix2dos",
        ],
        operands: Operands::Both,
        writes: &["-o"],
        values: &["-S", "-T", "--suffix"],
        ..PLAIN
    },
    Row {
        programs: &["curl", "curlie"],
        operands: Operands::None,
        reads: &[
            "-T",
            "--upload-file",
            "-K",
            "--config",
            "--cacert",
            "-E",
            "--cert",
            "--key",
            "--netrc-file",
        ],
        writes: &["-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--trace", "--stderr"],
        values: &[
            "-X",
            "-H",
            "-u",
            "-A",
            "-e",
            "-w",
            "-m",
            "-x",
            "-r",
            "-C",
            "-U",
            "--header",
            "--request",
            "--user",
        ],
    },
    Row {
        programs: &["wget", "wget2", "aria2c", "axel"],
        operands: Operands::None,
        reads: &["-i", "--input-file", "--post-file", "--body-file", "--load-cookies"],
        writes: &[
            "-O",
            "--output-document",
            "-o",
            "--output-file",
            "-P",
            "--directory-prefix",
            "-a",
            "--append-output",
            "--save-cookies",
            "-d",
            "--dir",
        ],
        values: &[
            "-t",
            "-T",
            "-U",
            "--header",
            "-Q",
            "-w",
            "-l",
            "-A",
            "-R",
            "--user",
            "--password",
            "-e",
            "-x",
            "-s",
        ],
    },
    Row {
        programs: &["patch"],
        operands: Operands::Write,
        reads: &["-i", "--input"],
        writes: &["-o", "--output", "-r"],
        values: &["-p", "-d", "--strip", "--directory"],
    },
    Row {
        programs: &["openssl"],
        operands: Operands::None,
        reads: &["-in", "-inkey", "-CAfile", "-cert", "-key", "-CA", "-CAkey", "-kfile", "-config"],
        writes: &["-out", "-keyout"],
        values: &[],
    },
    Row {
        programs: &["ssh", "ssh-copy-id", "sftp", "mosh"],
        operands: Operands::None,
        reads: &["-i", "-F"],
        values: &["-o", "-p", "-l", "-L", "-R", "-D", "-J", "-P"],
        ..PLAIN
    },
    Row { programs: &["ssh-add"], operands: Operands::Read, values: &["-t"], ..PLAIN },
    Row {
        programs: &["ssh-keygen"],
        operands: Operands::None,
        writes: &["-f"],
        values: &["-t", "-b", "-C", "-N", "-P", "-R", "-l"],
        ..PLAIN
    },
    Row {
        programs: &["gpg", "gpg2", "age", "rage", "sops"],
        operands: Operands::Read,
        writes: &["-o", "--output"],
        reads: &["-i", "--identity"],
        values: &["-r", "--recipient", "-u", "--passphrase"],
    },
    Row { programs: &["source", "."], operands: Operands::Read, ..PLAIN },
    Row {
        programs: &[
            "vim", "vi", "nvim", "nano", "emacs", "code", "subl", "micro", "ed", "ex", "pico", "joe", "hx",
            "gedit", "kate",
        ],
        operands: Operands::Both,
        values: &["-c", "--cmd", "-u", "-S"],
        ..PLAIN
    },
    Row {
        programs: &["gcc", "g++", "clang", "clang++", "cc", "c++", "rustc", "tcc", "ld"],
        operands: Operands::Read,
        writes: &["-o"],
        values: &["-I", "-L", "-l", "-D", "-x", "-std", "--edition", "--crate-type", "-C", "-A"],
        ..PLAIN
    },
    Row {
        programs: &["pandoc", "convert", "magick", "ffmpeg", "dot"],
        operands: Operands::None,
        reads: &["-i"],
        writes: &["-o", "--output"],
        values: &["-f", "-t"],
    },
    Row {
        programs: &[
            "prettier",
            "eslint",
            "black",
            "isort",
            "ruff",
            "gofmt",
            "rustfmt",
            "autopep8",
            "yapf",
            "clang-format",
            "standard",
            "shfmt",
        ],
        operands: Operands::Read,
        values: &["--config", "-c", "--parser", "-l"],
        ..PLAIN
    },
    Row {
        programs: &["strip", "pdftk", "pdftotext", "qpdf"],
        operands: Operands::Read,
        writes: &["-o"],
        ..PLAIN
    },
    Row {
        programs: &["mysqldump", "pg_dump", "pg_dumpall", "mongodump"],
        operands: Operands::None,
        writes: &["-f", "--file", "-r", "--result-file", "-o", "--out"],
        ..PLAIN
    },
    Row { programs: &["crontab"], operands: Operands::Read, values: &["-u"], ..PLAIN },
    Row {
        programs: &["mail", "mailx", "mutt", "sendmail"],
        operands: Operands::None,
        reads: &["-a", "-A", "-i"],
        values: &["-s"],
        ..PLAIN
    },
];

/// The files that a program touches.
pub(super) fn touched(invocation: &Invocation) -> Vec<Touched> {
    let program = invocation.program.as_str();
    let mut found = Found::default();
    match program {
        "dd" => dd(invocation, &mut found),
        "git" => git(invocation, &mut found),
        _ => {}
    }
    if let Some(row) = ROWS.iter().find(|row| row.programs.contains(&program)) {
        by_row(row, invocation, &mut found);
    }
    found.list
}

#[derive(Default)]
struct Found {
    list: Vec<Touched>,
}

impl Found {
    fn add(&mut self, arg: &Arg, is_read: bool, is_written: bool) {
        let path = arg.text.as_str();
        let is_none = path.is_empty()
            || path == "-"
            || path.contains("://")
            || path.starts_with("/dev/null")
            || path.starts_with("/dev/std")
            || path.contains('\n')
            || path.len() > 4096;
        if !is_none {
            self.list.push(Touched { path: path.to_owned(), is_read, is_written });
        }
    }
}

fn by_row(row: &Row, invocation: &Invocation, found: &mut Found) {
    let mut takes: Vec<&str> = Vec::with_capacity(row.reads.len() + row.writes.len() + row.values.len());
    takes.extend(row.reads);
    takes.extend(row.writes);
    takes.extend(row.values);
    let sorted = options::sort(&invocation.args, &takes, false);
    for value in sorted.values_of(row.reads) {
        found.add(value, true, false);
    }
    for value in sorted.values_of(row.writes) {
        found.add(value, false, true);
    }
    let program = invocation.program.as_str();
    let operands: Vec<&Arg> = sorted.operands.iter().filter_map(|at| invocation.args.get(*at)).collect();
    let last = operands.len().saturating_sub(1);
    for (index, operand) in operands.iter().enumerate() {
        match row.operands {
            Operands::None => {}
            Operands::Read => found.add(operand, true, false),
            Operands::Write => found.add(operand, false, true),
            Operands::Both => found.add(operand, true, true),
            Operands::PatternThenRead => {
                let has_pattern = sorted
                    .values_of(&["-e", "--regexp", "--expression", "-f", "--file", "--from-file"])
                    .next()
                    .is_some()
                    || sorted.has(&["--files"]);
                if index > 0 || has_pattern {
                    let is_in_place = edits_in_place(program, &invocation.args);
                    found.add(operand, true, is_in_place);
                }
            }
            Operands::CopyToLast => {
                let has_target = sorted.values_of(&["-t", "--target-directory"]).next().is_some();
                let is_elsewhere = matches!(program, "scp" | "rsync" | "rclone") && is_on_host(&operand.text);
                if is_elsewhere {
                    continue;
                }
                if index < last || has_target {
                    found.add(operand, true, false);
                } else if last > 0 {
                    found.add(operand, false, true);
                }
            }
            Operands::MoveToLast => found.add(operand, index < last, true),
            Operands::ModeThenWrite => {
                if index > 0 {
                    found.add(operand, false, true);
                }
            }
            Operands::WriteThenRead => found.add(operand, index > 0, index == 0),
            Operands::ReadThenWrite => found.add(operand, index == 0, index == 1),
        }
    }
    match program {
        "curl" | "curlie" => curl(invocation, found),
        "tar" | "gtar" | "bsdtar" => tar(invocation, &sorted, found),
        _ => {}
    }
}

/// `sed -i`, `yq -i`, `perl -i`
fn edits_in_place(program: &str, args: &[Arg]) -> bool {
    matches!(program, "sed" | "gsed" | "yq" | "gawk")
        && args.iter().any(|arg| {
            let text = arg.text.as_str();
            text.starts_with("--in-place")
                || text == "--inplace"
                || (text.starts_with('-')
                    && !text.starts_with("--")
                    && text.contains('i')
                    && !text.starts_with("-e"))
        })
}

fn is_on_host(path: &str) -> bool {
    path.split_once(':').is_some_and(|(host, _)| !host.contains('/') && host.len() > 1)
}

/// `-d @file`, `-F name=@file`
fn curl(invocation: &Invocation, found: &mut Found) {
    let options = [
        "-d",
        "--data",
        "--data-binary",
        "--data-ascii",
        "--data-urlencode",
        "--json",
        "-F",
        "--form",
        "-H",
        "--header",
        "-b",
        "--cookie",
    ];
    let sorted = options::sort(&invocation.args, &options, false);
    for (name, value) in &sorted.values {
        let is_form = matches!(name.as_str(), "-F" | "--form" | "--data-urlencode");
        let path = match value.text.strip_prefix('@') {
            Some(path) => Some(path),
            None if is_form => {
                value.text.split_once(['=']).and_then(|(_, rest)| rest.strip_prefix(['@', '<']))
            }
            None => None,
        };
        if let Some(path) = path {
            found.add(&Arg::known(path.split(';').next().unwrap_or(path)), true, false);
        }
    }
}

fn tar(invocation: &Invocation, sorted: &options::Sorted, found: &mut Found) {
    // The letters may stand without a dash: `tar czf archive files`.
    let first = invocation.args.first().map_or("", |arg| arg.text.as_str());
    let letters: String = invocation
        .args
        .iter()
        .enumerate()
        .filter(|(index, arg)| {
            (arg.text.starts_with('-') && !arg.text.starts_with("--"))
                || (*index == 0 && !first.starts_with('-'))
        })
        .map(|(_, arg)| arg.text.as_str())
        .collect();
    let is_create = letters.contains(['c', 'r', 'u']) || sorted.has(&["--create", "--append"]);
    let mut operands: Vec<&Arg> = sorted.operands.iter().filter_map(|at| invocation.args.get(*at)).collect();
    if !first.starts_with('-') && !operands.is_empty() {
        operands.remove(0);
    }
    let mut operands = operands.into_iter();
    if letters.contains('f')
        && let Some(archive) = operands.next()
    {
        found.add(archive, !is_create, is_create);
    }
    if is_create {
        for operand in operands {
            found.add(operand, true, false);
        }
    }
}

fn dd(invocation: &Invocation, found: &mut Found) {
    for arg in &invocation.args {
        if let Some(path) = arg.text.strip_prefix("if=") {
            found.add(&Arg::known(path), true, false);
        } else if let Some(path) = arg.text.strip_prefix("of=") {
            found.add(&Arg::known(path), false, true);
        }
    }
}

/// `git show HEAD:file`, `git checkout -- file` and the like.
fn git(invocation: &Invocation, found: &mut Found) {
    let sorted = options::sort(&invocation.args, &["-c", "-C", "--git-dir", "--work-tree"], true);
    let Some(at) = sorted.operands.first().copied() else { return };
    let verb = invocation.args.get(at).map_or("", |arg| arg.text.as_str());
    let rest = invocation.args.get(at + 1..).unwrap_or(&[]);
    let after_dashes = rest.iter().position(|arg| arg.text == "--").map(|at| at + 1);
    match verb {
        "show" | "cat-file" | "blame" | "diff" | "log" | "annotate" => {
            for arg in rest {
                if let Some((_, path)) = arg.text.split_once(':')
                    && verb != "log"
                    && !arg.text.starts_with('-')
                    && !path.is_empty()
                {
                    found.add(&Arg::known(path), true, false);
                }
            }
            if let Some(from) = after_dashes {
                for arg in rest.iter().skip(from) {
                    found.add(arg, true, false);
                }
            } else if matches!(verb, "blame" | "annotate") {
                for arg in rest.iter().filter(|arg| !arg.text.starts_with('-')) {
                    found.add(arg, true, false);
                }
            }
        }
        "checkout" => {
            for arg in after_dashes.map(|from| rest.iter().skip(from)).into_iter().flatten() {
                found.add(arg, false, true);
            }
        }
        "restore" | "rm" | "mv" => {
            let sorted = options::sort(rest, &["-s", "--source"], false);
            for arg in sorted.operands.iter().filter_map(|at| rest.get(*at)) {
                found.add(arg, false, true);
            }
        }
        "apply" | "am" => {
            for arg in rest.iter().filter(|arg| !arg.text.starts_with('-')) {
                found.add(arg, true, false);
            }
        }
        _ => {}
    }
}
