//! The table of programs that read or write files.

/// What a program does to the files that its operands name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// They are no files.
    None,
    Read,
    /// They are listed or tested, and their content stays where it is.
    Named,
    /// They get another time, or become empty files: what they hold stays.
    NamedWrite,
    Write,
    /// They are read and changed in place.
    Both,
    /// The first is a pattern or a program; the others are read.
    PatternThenRead,
    /// All but the last are read, the last is written.
    CopyToLast,
    /// All are written, the last too.
    MoveToLast,
    /// The first is a mode or an owner; the others get it, with the content that they have.
    ModeThenWrite,
    /// The first is written, the others are read: `zip archive files`.
    WriteThenRead,
    /// The first is read, the second written.
    ReadThenWrite,
    /// The first is read and changed; the others are no files: `sqlite3 file statement`.
    FirstBoth,
}

/// One row: which files some programs touch.
pub(super) struct Row {
    pub(super) programs: &'static [&'static str],
    pub(super) operands: Operands,
    /// Options whose value is a file that is read.
    pub(super) reads: &'static [&'static str],
    /// Options whose value is a file that the program uses and does not show: a key that it logs in with.
    pub(super) named: &'static [&'static str],
    /// Options whose value is a file that is written.
    pub(super) writes: &'static [&'static str],
    /// Options with some other value.
    pub(super) values: &'static [&'static str],
}

pub(super) const PLAIN: Row =
    Row { programs: &[], operands: Operands::Read, reads: &[], named: &[], writes: &[], values: &[] };

/// The programs, by what they do to files.
pub(super) const ROWS: &[Row] = &[
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
        values: &["-F", "-v", "-e", "--assign", "--field-separator", "-i", "--include"],
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
        programs: &["cp", "gcp", "ditto"],
        operands: Operands::CopyToLast,
        writes: &["-t", "--target-directory"],
        values: &["-S", "--suffix"],
        ..PLAIN
    },
    Row {
        programs: &["install", "ginstall"],
        operands: Operands::CopyToLast,
        writes: &["-t", "--target-directory"],
        values: &["-S", "-m", "-o", "-g", "--suffix", "--mode", "--owner", "--group"],
        ..PLAIN
    },
    Row {
        programs: &["scp"],
        operands: Operands::CopyToLast,
        named: &["-i"],
        values: &["-P", "-F", "-J", "-S", "-c", "-l", "-o", "-D", "-X"],
        ..PLAIN
    },
    Row {
        programs: &["rsync", "rclone", "pax"],
        operands: Operands::CopyToLast,
        writes: &["--log-file", "--backup-dir"],
        reads: &["--exclude-from", "--files-from", "--include-from"],
        named: &["--password-file"],
        values: &[
            "-e",
            "--rsh",
            "-f",
            "--filter",
            "--exclude",
            "--include",
            "--bwlimit",
            "-B",
            "-M",
            "--suffix",
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
    Row {
        programs: &["touch", "gtouch"],
        operands: Operands::NamedWrite,
        values: &["-d", "--date", "-t", "-r", "--reference", "--time"],
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
            "-C",
            "--directory",
        ],
        reads: &["-T", "--files-from", "-X"],
        writes: &[],
        ..PLAIN
    },
    Row {
        programs: &["zip", "7z", "7za", "rar", "jar"],
        operands: Operands::WriteThenRead,
        reads: &["-i"],
        values: &["-x", "-P", "-p"],
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
        reads: &["-T", "--upload-file", "-K", "--config"],
        named: &["--cacert", "--capath", "-E", "--cert", "--key", "--netrc-file"],
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
        named: &["--ca-certificate", "--certificate", "--private-key"],
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
        ..PLAIN
    },
    Row {
        programs: &["openssl"],
        operands: Operands::None,
        reads: &["-config"],
        named: &["-inkey", "-CAfile", "-cert", "-key", "-CA", "-CAkey", "-kfile", "-signkey"],
        writes: &["-out", "-keyout"],
        values: &["-in"],
    },
    Row {
        programs: &["ssh", "ssh-copy-id", "sftp", "mosh"],
        operands: Operands::None,
        reads: &["-F"],
        named: &["-i"],
        values: &["-o", "-p", "-l", "-L", "-R", "-D", "-J", "-P"],
        ..PLAIN
    },
    Row { programs: &["ssh-add"], operands: Operands::Named, values: &["-t"], ..PLAIN },
    Row {
        programs: &["ssh-keygen"],
        operands: Operands::None,
        values: &["-f", "-t", "-b", "-C", "-N", "-P", "-R"],
        ..PLAIN
    },
    Row {
        programs: &["gpg", "gpg2", "age", "rage", "sops"],
        operands: Operands::Read,
        writes: &["-o", "--output"],
        named: &["-i", "--identity"],
        values: &["-r", "--recipient", "-u", "--passphrase"],
        ..PLAIN
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
        ..PLAIN
    },
    Row {
        programs: &["sqlite3", "sqlite", "litecli", "duckdb"],
        operands: Operands::FirstBoth,
        values: &["-cmd", "-separator", "-newline", "-nullvalue", "-init"],
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
];
