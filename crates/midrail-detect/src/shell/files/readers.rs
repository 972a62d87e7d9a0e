//! Programs that show what is in a file, and nothing else. Which of their options take a value matters: what is taken for a
//! value is not seen as a file.

use super::rows::{PLAIN, Row};

/// The programs, by the options that take a value.
pub(super) const ROWS: &[Row] = &[
    Row {
        programs: &[
            "cat",
            "tac",
            "rev",
            "zcat",
            "gzcat",
            "xzcat",
            "bzcat",
            "lzcat",
            "zstdcat",
            "zless",
            "zmore",
            "more",
            "most",
            "view",
            "comm",
            "tsort",
            "open",
            "xdg-open",
            "glow",
            "mdcat",
            "ldd",
            "exiftool",
            "mediainfo",
            "vimdiff",
            "csvlook",
        ],
        ..PLAIN
    },
    Row { programs: &["less"], values: &["-b", "-h", "-j", "-p", "-x", "-y", "-z", "-#", "-D"], ..PLAIN },
    Row {
        programs: &["bat", "batcat"],
        values: &[
            "-l",
            "--language",
            "-r",
            "--line-range",
            "-H",
            "--highlight-line",
            "-m",
            "--map-syntax",
            "--theme",
            "--tabs",
            "--style",
            "--color",
            "--paging",
            "--pager",
            "--wrap",
            "--terminal-width",
            "--decorations",
        ],
        ..PLAIN
    },
    Row { programs: &["nl"], values: &["-b", "-d", "-f", "-h", "-i", "-l", "-n", "-s", "-v", "-w"], ..PLAIN },
    Row { programs: &["fold", "fmt"], values: &["-w", "--width", "-p", "-g"], ..PLAIN },
    Row { programs: &["expand", "unexpand"], values: &["-t", "--tabs"], ..PLAIN },
    Row { programs: &["pr"], values: &["-D", "-h", "-l", "-N", "-o", "-w", "-W"], ..PLAIN },
    Row { programs: &["column"], values: &["-c", "-o", "-s", "-N", "-R", "-H", "-E"], ..PLAIN },
    Row { programs: &["cmp"], values: &["-n", "--bytes", "-i", "--ignore-initial"], ..PLAIN },
    Row { programs: &["paste"], values: &["-d", "--delimiters"], ..PLAIN },
    Row { programs: &["join"], values: &["-1", "-2", "-a", "-e", "-j", "-o", "-t", "-v"], ..PLAIN },
    Row {
        programs: &["diff", "colordiff", "sdiff", "difft", "delta"],
        values: &[
            "-U",
            "-C",
            "-I",
            "-x",
            "-X",
            "-F",
            "-W",
            "-L",
            "--label",
            "--exclude",
            "--width",
            "--color",
        ],
        ..PLAIN
    },
    Row { programs: &["strings"], values: &["-n", "--bytes", "-e", "-T", "-t", "--radix"], ..PLAIN },
    Row { programs: &["hexyl"], values: &["-n", "--length", "-s", "--skip", "-c", "-o"], ..PLAIN },
    Row { programs: &["iconv"], values: &["-f", "-t"], writes: &["-o", "--output"], ..PLAIN },
    Row {
        programs: &["nm", "objdump", "readelf", "size"],
        values: &["-f", "-j", "-t", "-x", "-w", "--format", "-A"],
        ..PLAIN
    },
];
