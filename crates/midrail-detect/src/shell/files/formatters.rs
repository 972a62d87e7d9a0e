//! Programs that put the text of files into shape, and when they write what they found: one row a program.

use super::Found;
use crate::shell::invocation::{Arg, Invocation};
use crate::shell::options;

/// One row: a program that reads the files and folders that it is given, and in some modes writes them.
struct Formatter {
    program: &'static str,
    /// Options with a value that is no file to be shaped.
    values: &'static [&'static str],
    /// The first that fits counts. Where none does, no file is touched.
    modes: &'static [Mode],
}

/// What a program does to its files. Options are spelled `--name`, or `--name=value` where it depends on the value.
struct Mode {
    /// The word that the program is to begin with: `cargo fmt`. Empty: it needs none.
    verbs: &'static [&'static str],
    /// Options of which one has to be there for it to write. Empty: it writes without any.
    with: &'static [&'static str],
    /// Options with which it only tells.
    without: &'static [&'static str],
    files: Files,
    /// What stands behind `--` are options of the formatter, too: `cargo fmt -- --check`.
    hands_on: bool,
}

/// Which files a formatter takes.
#[derive(PartialEq, Eq)]
enum Files {
    /// Those that are named.
    Named,
    /// Those that are named, or where none is the folder that it runs in.
    NamedOrAll,
    /// The folder that it runs in, whatever is named.
    All,
}

const PLAIN: Mode =
    Mode { verbs: &[], with: &[], without: &["--check", "--diff"], files: Files::Named, hands_on: false };
/// Writes in place where it is told to, and prints otherwise.
const IN_PLACE: Mode =
    Mode { with: &["-i", "--in-place", "--inplace"], without: &["--diff", "--dry-run"], ..PLAIN };
const WITH_W: Mode = Mode { with: &["-w", "--write"], without: &[], ..PLAIN };
const WITH_FIX: Mode = Mode { with: &["--fix"], without: &[], ..PLAIN };
const ALL_WITH_FIX: Mode = Mode { files: Files::NamedOrAll, ..WITH_FIX };
const ALL: Mode = Mode { files: Files::NamedOrAll, ..PLAIN };
const FMT: Mode = Mode { verbs: &["fmt", "format"], ..ALL };
const GO_VALUES: &[&str] = &["-r", "-local", "-srcdir", "-cpuprofile", "-lang", "-modpath", "-m", "-t"];
const TERRAFORM: Mode = Mode { verbs: &["fmt"], without: &["-check", "--check", "-write=false"], ..ALL };
const BIOME: Mode = Mode {
    verbs: &["format", "check", "lint"],
    with: &["--write", "--fix", "--apply", "--apply-unsafe"],
    without: &[],
    ..ALL
};
const BIOME_VALUES: &[&str] =
    &["--config-path", "--only", "--skip", "--max-diagnostics", "--stdin-file-path", "--reporter"];
const CARGO: Mode = Mode { files: Files::All, hands_on: true, ..PLAIN };
const RUBY: Mode = Mode {
    with: &[
        "-a",
        "-A",
        "--autocorrect",
        "--autocorrect-all",
        "--auto-correct",
        "--auto-correct-all",
        "-x",
        "--fix",
        "--fix-layout",
    ],
    without: &[],
    ..ALL
};
const RUBY_VALUES: &[&str] =
    &["--only", "--except", "-c", "--config", "-f", "--format", "--require", "-r", "--fail-level", "-s"];
const ESLINT_VALUES: &[&str] = &[
    "-c",
    "--config",
    "--ext",
    "--rule",
    "--parser",
    "--parser-options",
    "--plugin",
    "-f",
    "--format",
    "--global",
    "--env",
    "--max-warnings",
    "--ignore-path",
    "--ignore-pattern",
    "--rulesdir",
    "--resolve-plugins-relative-to",
    "--fix-type",
    "-o",
    "--output-file",
    "--cache-location",
    "--stdin-filename",
];
const PRETTIER_VALUES: &[&str] = &[
    "--config",
    "--parser",
    "--plugin",
    "--ignore-path",
    "--tab-width",
    "--print-width",
    "--trailing-comma",
    "--end-of-line",
    "--log-level",
    "--loglevel",
    "--stdin-filepath",
    "--arrow-parens",
    "--prose-wrap",
    "--cache-location",
];
const BLACK_VALUES: &[&str] = &[
    "-l",
    "--line-length",
    "-t",
    "--target-version",
    "-c",
    "--code",
    "--config",
    "--include",
    "--exclude",
    "--extend-exclude",
    "--force-exclude",
    "--stdin-filename",
    "-W",
    "--workers",
    "--required-version",
    "--line-ranges",
];

/// The programs, in the order of their names.
#[rustfmt::skip]
const FORMATTERS: &[Formatter] = &[
    Formatter { program: "alejandra", values: &["-e", "--exclude", "-t", "--threads"], modes: &[PLAIN] },
    Formatter { program: "autoflake", values: &["--imports", "--exclude", "--config", "-j"], modes: &[IN_PLACE] },
    Formatter {
        program: "autopep8",
        values: &["--max-line-length", "--select", "--ignore", "--exclude", "-j", "--global-config", "--indent-size",
                  "--line-range", "--range", "-p"],
        modes: &[Mode { without: &[], ..IN_PLACE }],
    },
    Formatter { program: "biome", values: BIOME_VALUES, modes: &[BIOME] },
    Formatter { program: "black", values: BLACK_VALUES, modes: &[PLAIN] },
    Formatter {
        program: "buf", values: &["--path", "--exclude-path", "--config"],
        modes: &[Mode { verbs: &["format"], with: &["-w", "--write"], without: &[], ..ALL }],
    },
    Formatter {
        program: "buildifier", values: &["-mode", "-lint", "-type", "-warnings", "-config"],
        modes: &[Mode { without: &["-mode=check", "-mode=diff", "-mode=print_if_changed", "--mode=check", "--mode=diff"], ..PLAIN }],
    },
    Formatter {
        program: "cargo",
        values: &["--manifest-path", "-p", "--package", "--color", "--config", "-C", "--message-format"],
        modes: &[
            Mode { verbs: &["fmt"], without: &["--check", "--emit=stdout"], ..CARGO },
            Mode { verbs: &["fix"], without: &[], hands_on: false, ..CARGO },
            Mode { verbs: &["clippy"], with: &["--fix"], without: &[], hands_on: false, ..CARGO },
        ],
    },
    Formatter { program: "cargo-fmt", values: &[], modes: &[CARGO] },
    Formatter {
        program: "clang-format",
        values: &["-style", "--style", "-assume-filename", "--assume-filename", "-lines", "--lines", "-offset", "-length", "-cursor",
                  "--fallback-style", "-fallback-style"],
        modes: &[Mode { with: &["-i"], without: &["-n", "--dry-run"], ..PLAIN }],
    },
    Formatter { program: "cmake-format", values: &["-c", "--config-files", "-l"], modes: &[IN_PLACE] },
    Formatter { program: "codespell", values: &["-L", "-S", "-I", "-x", "--skip", "--ignore-words-list"],
                modes: &[Mode { with: &["-w", "--write-changes"], without: &[], ..ALL }] },
    Formatter {
        program: "dart", values: &["-l", "--line-length", "--page-width", "--language-version", "--code"],
        modes: &[
            Mode { verbs: &["format"], without: &["--output=none", "--output=show", "--output=json", "-o=none", "-o=show", "-o=json"], ..PLAIN },
            Mode { verbs: &["fix"], with: &["--apply"], without: &["-n", "--dry-run"], ..ALL },
        ],
    },
    Formatter {
        program: "deno", values: &["--config", "-c", "--ext", "--ignore", "--line-width", "--indent-width", "--prose-wrap"],
        modes: &[Mode { verbs: &["fmt"], ..ALL }, Mode { verbs: &["lint"], ..ALL_WITH_FIX }],
    },
    Formatter { program: "djlint", values: &["-e", "--extension", "--profile", "--indent"],
                modes: &[Mode { with: &["--reformat"], without: &["--check"], ..PLAIN }] },
    Formatter { program: "docformatter", values: &["--wrap-summaries", "--wrap-descriptions", "--config"], modes: &[IN_PLACE] },
    Formatter {
        program: "dotnet",
        values: &["--severity", "--diagnostics", "-v", "--verbosity", "--include", "--exclude", "--report", "--binarylog"],
        modes: &[Mode { verbs: &["format"], without: &["--verify-no-changes"], files: Files::All, ..PLAIN }],
    },
    Formatter { program: "dprint", values: &["-c", "--config"], modes: &[Mode { verbs: &["fmt"], ..ALL }] },
    Formatter { program: "eslint", values: ESLINT_VALUES, modes: &[ALL_WITH_FIX] },
    Formatter { program: "eslint_d", values: ESLINT_VALUES, modes: &[ALL_WITH_FIX] },
    Formatter {
        program: "go", values: &["-mod", "-modfile", "-C"],
        modes: &[Mode { verbs: &["fmt"], without: &["-n"], ..ALL }, Mode { verbs: &["fix"], without: &["-diff", "-n"], ..ALL }],
    },
    Formatter { program: "gofmt", values: GO_VALUES, modes: &[WITH_W] },
    Formatter { program: "gofumpt", values: GO_VALUES, modes: &[WITH_W] },
    Formatter { program: "goimports", values: GO_VALUES, modes: &[WITH_W] },
    Formatter {
        program: "golangci-lint", values: &["-c", "--config", "-E", "--enable", "-D", "--disable", "--timeout", "-j", "--out-format"],
        modes: &[Mode { verbs: &["run"], ..ALL_WITH_FIX }, Mode { verbs: &["fmt"], without: &["-d", "--diff"], ..ALL }],
    },
    Formatter { program: "golines", values: GO_VALUES, modes: &[WITH_W] },
    Formatter {
        program: "google-java-format", values: &["--lines", "-lines", "--offset", "--length", "--assume-filename"],
        modes: &[Mode { with: &["-i", "-r", "-replace", "--replace"], without: &["-n", "--dry-run"], ..PLAIN }],
    },
    Formatter {
        program: "isort",
        values: &["--profile", "-l", "--line-length", "-w", "--settings-path", "--sp", "--settings-file", "-m", "--multi-line",
                  "-p", "--project", "-s", "--skip", "--skip-glob", "--sg", "-o", "--src", "--py", "-j", "-a", "--add-import", "--filename"],
        modes: &[Mode { without: &["--check", "--check-only", "-c", "--diff", "--df", "-d", "--stdout", "--show-files", "--show-config"], ..PLAIN }],
    },
    Formatter { program: "ktlint", values: &["-R", "--ruleset", "--reporter", "--editorconfig", "--baseline"],
                modes: &[Mode { with: &["-F", "--format"], without: &[], ..ALL }] },
    Formatter { program: "markdownlint", values: &["-c", "--config", "-i", "--ignore", "-p", "-o", "-r"],
                modes: &[Mode { with: &["-f", "--fix"], without: &[], ..PLAIN }] },
    Formatter { program: "markdownlint-cli2", values: &["--config"], modes: &[WITH_FIX] },
    Formatter { program: "mdformat", values: &["--wrap", "--end-of-line", "--exclude", "--extensions"], modes: &[PLAIN] },
    Formatter { program: "mix", values: &["--dot-formatter", "--stdin-filename"],
                modes: &[Mode { verbs: &["format"], without: &["--check-formatted", "--dry-run"], ..ALL }] },
    Formatter { program: "nixfmt", values: &["-w", "--width"], modes: &[Mode { without: &["-c", "--check"], ..PLAIN }] },
    Formatter { program: "oxlint", values: &["-c", "--config", "-A", "-W", "-D", "-f", "--format"],
                modes: &[Mode { with: &["--fix", "--fix-suggestions", "--fix-dangerously"], ..ALL_WITH_FIX }] },
    Formatter {
        program: "php-cs-fixer", values: &["--rules", "--config", "--format", "--cache-file", "--path-mode"],
        modes: &[Mode { verbs: &["fix"], without: &["--dry-run"], ..ALL }],
    },
    Formatter { program: "phpcbf", values: &["-s"], modes: &[ALL] },
    Formatter { program: "pint", values: &["--preset", "--config"], modes: &[Mode { without: &["--test"], ..ALL }] },
    Formatter { program: "prettier", values: PRETTIER_VALUES, modes: &[WITH_W] },
    Formatter { program: "prettierd", values: PRETTIER_VALUES, modes: &[WITH_W] },
    Formatter { program: "pyupgrade", values: &[], modes: &[PLAIN] },
    Formatter { program: "rubocop", values: RUBY_VALUES, modes: &[RUBY] },
    Formatter {
        program: "ruff",
        values: &["--config", "--select", "--ignore", "--extend-select", "--extend-ignore", "--fixable", "--unfixable", "--line-length",
                  "--target-version", "--exclude", "--extend-exclude", "--output-format", "-o", "--output-file", "--stdin-filename",
                  "--cache-dir", "--per-file-ignores", "--range"],
        modes: &[
            Mode { verbs: &["check"], with: &["--fix", "--fix-only"], without: &["--diff"], ..ALL },
            Mode { verbs: &["format"], ..ALL },
        ],
    },
    Formatter {
        program: "rustfmt", values: &["--edition", "--config", "--config-path", "--color", "--emit", "--print-config", "--style-edition", "--file-lines"],
        modes: &[Mode { without: &["--check", "--emit=stdout", "--emit=json", "--emit=checkstyle", "--print-config"], ..PLAIN }],
    },
    Formatter { program: "scalafmt", values: &["-c", "--config", "--exclude"],
                modes: &[Mode { without: &["--test", "--check", "--list", "--stdout"], ..ALL }] },
    Formatter { program: "shfmt", values: &["-i", "--indent", "-ln", "--language-dialect", "--filename"], modes: &[WITH_W] },
    Formatter {
        program: "sqlfluff", values: &["--dialect", "-d", "--config", "--rules", "-r", "--exclude-rules", "-e", "--templater", "-t", "-p"],
        modes: &[Mode { verbs: &["fix", "format"], without: &["--check"], ..ALL }, Mode { verbs: &["lint", "parse"], ..WITH_FIX }],
    },
    Formatter { program: "standard", values: ESLINT_VALUES, modes: &[ALL_WITH_FIX] },
    Formatter { program: "standardrb", values: RUBY_VALUES, modes: &[RUBY] },
    Formatter { program: "stylelint", values: &["--config", "-c", "--custom-syntax", "-f", "--formatter", "--ignore-path", "--max-warnings"],
                modes: &[Mode { with: &["--fix"], without: &["--fix=false"], ..PLAIN }] },
    Formatter { program: "stylua", values: &["-f", "--config-path", "-g", "--glob"], modes: &[PLAIN] },
    Formatter {
        program: "swift-format", values: &["--configuration"],
        modes: &[Mode { verbs: &["format"], ..IN_PLACE }, Mode { verbs: &["lint"], with: &["-i"], ..PLAIN }, IN_PLACE],
    },
    Formatter { program: "swiftformat", values: &["--config", "--swiftversion", "--exclude", "--rules", "--disable", "--enable", "--indent", "--output"],
                modes: &[Mode { without: &["--lint", "--dryrun"], ..PLAIN }] },
    Formatter { program: "swiftlint", values: &["--config", "--reporter"],
                modes: &[Mode { verbs: &["lint"], ..ALL_WITH_FIX }, ALL_WITH_FIX] },
    Formatter { program: "taplo", values: &["-c", "--config", "-o", "--option"], modes: &[FMT] },
    Formatter { program: "terraform", values: &[], modes: &[TERRAFORM] },
    Formatter { program: "tofu", values: &[], modes: &[TERRAFORM] },
    Formatter { program: "tslint", values: &["-c", "--config", "-p", "--project", "-t", "-e"], modes: &[WITH_FIX] },
    Formatter { program: "typos", values: &["-c", "--config", "--exclude", "--format"],
                modes: &[Mode { with: &["-w", "--write-changes"], without: &[], ..ALL }] },
    Formatter { program: "xo", values: ESLINT_VALUES, modes: &[ALL_WITH_FIX] },
    Formatter { program: "yapf", values: &["--style", "-e", "--exclude", "-l", "--lines"],
                modes: &[Mode { without: &["-d", "--diff", "-q"], ..IN_PLACE }] },
    Formatter { program: "zig", values: &["--exclude"], modes: &[Mode { verbs: &["fmt"], without: &["--check"], ..PLAIN }] },
];

/// Options with which nothing is done at all.
const ASKS: &[&str] = &["--help", "--version", "-h"];

/// The files that a formatter reads and writes.
pub(super) fn touched(invocation: &Invocation, found: &mut Found) {
    let (program, args) = match invocation.args.as_slice() {
        // `python3 -m black src`
        [option, module, rest @ ..] if option.text == "-m" && invocation.program.starts_with("python") => {
            (module.text.as_str(), rest)
        }
        args => (invocation.program.as_str(), args),
    };
    // `npx prettier@3`
    let program = program.split_once('@').map_or(program, |(name, _)| name);
    let Ok(at) = FORMATTERS.binary_search_by(|row| row.program.cmp(program)) else { return };
    let Some(row) = FORMATTERS.get(at) else { return };
    let sorted = options::sort(args, row.values, false);
    // `cargo +nightly fmt`
    let named =
        sorted.operands.iter().filter_map(|at| args.get(*at)).filter(|arg| !arg.text.starts_with('+'));
    let mut named = named.peekable();
    let verb = named.peek().map_or("", |arg| arg.text.as_str());
    let Some(mode) = row.modes.iter().find(|mode| mode.verbs.is_empty() || mode.verbs.contains(&verb)) else {
        return;
    };
    if !mode.verbs.is_empty() {
        named.next();
    }
    let dashes = args.iter().position(|arg| arg.text == "--").filter(|_| !mode.hands_on);
    let options = args.get(..dashes.unwrap_or(args.len())).unwrap_or(args);
    let has = |names: &[&str]| names.iter().any(|name| is_given(name, options));
    let writes = (mode.with.is_empty() || has(mode.with)) && !has(mode.without) && !has(ASKS);
    let from = found.list.len();
    let mut is_named = false;
    for arg in named.filter(|_| mode.files != Files::All) {
        // `./...` are all packages below, and `!src/x` is left out.
        let below = arg.text.strip_suffix("...").map(|folder| folder.trim_end_matches('/'));
        match below {
            _ if arg.text.starts_with('!') => continue,
            Some(folder) => found.add(&Arg { text: folder.to_owned(), ..arg.clone() }, true, writes),
            None => found.add(arg, true, writes),
        }
        is_named = true;
    }
    if !is_named && mode.files != Files::Named {
        found.add(&Arg::known("."), true, writes);
    }
    found
        .list
        .iter_mut()
        .skip(from)
        .for_each(|touched| touched.is_swept = writes && !touched.path.contains('$'));
}

/// Whether an option is given, also among letters that share a dash (`-lw`). `--name=value` asks for that value.
fn is_given(name: &str, args: &[Arg]) -> bool {
    if let Some((name, value)) = name.split_once('=') {
        let is_next = |pair: &[Arg]| matches!(pair, [one, two] if one.text == name && two.text == value);
        let is_one =
            |arg: &Arg| arg.text.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) == Some(value);
        return args.iter().any(is_one) || args.windows(2).any(is_next);
    }
    args.iter().any(|arg| {
        let text = arg.text.as_str();
        match (text.strip_prefix(name), name.strip_prefix('-')) {
            (Some(""), _) => true,
            (Some(rest), _) if rest.starts_with('=') => rest != "=false",
            // Longer ones are names of their own: `-style`.
            (_, Some(letter)) if letter.len() == 1 => {
                let letters = text.strip_prefix('-').filter(|letters| letters.len() <= 3);
                letters.is_some_and(|it| {
                    it.bytes().all(|byte| byte.is_ascii_alphabetic()) && it.contains(letter)
                })
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::FORMATTERS;
    use crate::shell::analyse;

    #[test]
    fn rows_stand_in_order_and_once() {
        assert!(FORMATTERS.windows(2).all(|pair| pair[0].program < pair[1].program));
    }

    #[test]
    fn what_formatters_write_is_told() {
        for (command, writes) in [
            ("rustfmt src/a.rs", &["src/a.rs"][..]),
            ("rustfmt --edition 2024 --emit files src/a.rs", &["src/a.rs"]),
            ("npx prettier --write src/a.ts", &["src/a.ts"]),
            ("npx prettier@3 --write src/a.ts", &["src/a.ts"]),
            ("node_modules/.bin/prettier -w src", &["src"]),
            ("prettier --tab-width 2 --write 'src/**/*.ts' '!src/x.ts'", &["src/**/*.ts"]),
            ("gofmt -l -w a.go", &["a.go"]),
            ("gofmt -s -w=true a.go", &["a.go"]),
            ("goimports -local example.com -w a.go", &["a.go"]),
            ("go fmt ./...", &["."]),
            ("go fmt ./pkg/...", &["pkg"]),
            ("black -l 100 a.py b.py", &["a.py", "b.py"]),
            ("isort --profile black a.py", &["a.py"]),
            ("ruff check --select E501 --fix a.py", &["a.py"]),
            ("ruff check --fix", &["."]),
            ("ruff format a.py", &["a.py"]),
            ("uv run ruff format src", &["src"]),
            ("poetry run black src", &["src"]),
            ("python3 -m black -q src", &["src"]),
            ("clang-format -style=file -i a.cpp", &["a.cpp"]),
            ("eslint --ext .ts --fix src", &["src"]),
            ("pnpm exec eslint --fix .", &["."]),
            ("autopep8 -i a.py", &["a.py"]),
            ("yapf -i a.py", &["a.py"]),
            ("shfmt -i 2 -w a.sh", &["a.sh"]),
            ("shfmt -lw a.sh", &["a.sh"]),
            ("dos2unix a.txt", &["a.txt"]),
            ("rubocop -a a.rb", &["a.rb"]),
            ("bundle exec rubocop -A", &["."]),
            ("standard --fix a.js", &["a.js"]),
            ("biome format --write src", &["src"]),
            ("npx @biomejs/biome check --write src", &["src"]),
            ("cargo fmt", &["."]),
            ("cargo +nightly fmt --all -- --config max_width=100", &["."]),
            ("cargo clippy --fix --allow-dirty", &["."]),
            ("cd sub && cargo fmt", &["sub"]),
            ("terraform fmt -recursive", &["."]),
            ("terraform fmt -diff a.tf", &["a.tf"]),
            ("swiftformat Sources", &["Sources"]),
            ("ktlint -F a.kt", &["a.kt"]),
            ("stylelint --fix a.css", &["a.css"]),
            ("deno fmt a.ts", &["a.ts"]),
            ("php-cs-fixer fix a.php", &["a.php"]),
            ("mdformat README.md", &["README.md"]),
            ("prettier --write a.ts -- --check", &["a.ts", "--check"]),
            ("awk -i inplace '{print}' a.txt", &["a.txt"]),
            ("gawk -i inplace -v i=1 '{print}' a.txt", &["a.txt"]),
            ("gawk --include=inplace -f p.awk a.txt", &["a.txt"]),
        ] {
            let told = analyse(command);
            assert_eq!(told.writes, writes, "{command}");
        }
    }

    #[test]
    fn what_only_checks_or_prints_is_read() {
        for (command, reads) in [
            ("rustfmt --check src/a.rs", &["src/a.rs"][..]),
            ("rustfmt --emit stdout src/a.rs", &["src/a.rs"]),
            ("prettier --check src", &["src"]),
            ("prettier -l src", &["src"]),
            ("prettier a.ts", &["a.ts"]),
            ("gofmt -l a.go", &["a.go"]),
            ("gofmt -d a.go", &["a.go"]),
            ("gofmt -w=false a.go", &["a.go"]),
            ("black --check a.py", &["a.py"]),
            ("black --diff a.py", &["a.py"]),
            ("python -m black --check a.py", &["a.py"]),
            ("isort -c a.py", &["a.py"]),
            ("ruff check a.py", &["a.py"]),
            ("ruff check --fix --diff a.py", &["a.py"]),
            ("ruff format --check a.py", &["a.py"]),
            ("clang-format a.cpp", &["a.cpp"]),
            ("clang-format -style=file a.cpp", &["a.cpp"]),
            ("clang-format -i --dry-run a.cpp", &["a.cpp"]),
            ("eslint src", &["src"]),
            ("eslint --fix-dry-run src", &["src"]),
            ("autopep8 --diff a.py", &["a.py"]),
            ("yapf --diff a.py", &["a.py"]),
            ("shfmt -d a.sh", &["a.sh"]),
            ("rubocop a.rb", &["a.rb"]),
            ("biome check src", &["src"]),
            ("cargo fmt --check", &["."]),
            ("cargo fmt --all -- --check", &["."]),
            ("terraform fmt -check a.tf", &["a.tf"]),
            ("terraform fmt -write=false a.tf", &["a.tf"]),
            ("swiftformat --lint Sources", &["Sources"]),
            ("ktlint a.kt", &["a.kt"]),
            ("stylelint a.css", &["a.css"]),
            ("deno fmt --check a.ts", &["a.ts"]),
            ("php-cs-fixer fix --dry-run a.php", &["a.php"]),
            ("mdformat --check README.md", &["README.md"]),
            ("gawk -vi=1 '{print i}' a.txt", &["a.txt"]),
            ("awk '{print}' a.txt", &["a.txt"]),
            ("cargo build", &[]),
            ("cargo test fmt", &[]),
            ("terraform plan", &[]),
            ("go build ./...", &[]),
        ] {
            let told = analyse(command);
            assert!(told.writes.is_empty() && told.sweeps.is_empty(), "{command}: {:?}", told.writes);
            assert_eq!(told.reads, reads, "{command}");
        }
    }

    #[test]
    fn folders_are_taken_with_all_that_is_in_them() {
        for (command, sweeps) in [
            ("prettier --write src", &["src"][..]),
            ("cargo fmt", &["."]),
            ("cd sub && black .", &["sub"]),
            ("git ls-files | xargs prettier --write", &[".", "*"]),
            ("find src -name '*.py' -exec black {} +", &["src/**/*.py", "{}"]),
            ("ssh box black src", &[]),
        ] {
            assert_eq!(analyse(command).sweeps, sweeps, "{command}");
        }
    }
}
