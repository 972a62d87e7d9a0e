//! Programs that put the text of files into shape, and when they write what they found: one row a program.

use super::found::TouchedFiles;
use crate::command::invocation::{Arg, Invocation};
use crate::command::options::Arguments;
use crate::command::programs::{self, Formatted};

/// Options with which nothing is done at all.
const ASKS: &[&str] = &["--help", "--version", "-h"];

/// The files that a formatter reads and writes.
pub(super) fn touched(invocation: &Invocation, found: &mut TouchedFiles) {
    let (program, args) = match invocation.args.as_slice() {
        // `python3 -m black src`
        [option, module, rest @ ..] if option.text == "-m" && invocation.program.starts_with("python") => {
            (module.text.as_str(), rest)
        }
        args => (invocation.program.as_str(), args),
    };
    // `npx prettier@3`
    let program = program.split_once('@').map_or(program, |(name, _)| name);
    let row = programs::row(program);
    if row.formats.is_empty() {
        return;
    }
    let sorted = Arguments::parse(row, args, &[]);
    // `cargo +nightly fmt`
    let named = sorted.operands.iter().copied().filter(|arg| !arg.text.starts_with('+'));
    let mut named = named.peekable();
    let subcommand = named.peek().map_or("", |arg| arg.text.as_str());
    let Some(mode) =
        row.formats.iter().find(|mode| mode.subcommands.is_empty() || mode.subcommands.contains(&subcommand))
    else {
        return;
    };
    if !mode.subcommands.is_empty() {
        named.next();
    }
    let dashes = args.iter().position(|arg| arg.text == "--").filter(|_| !mode.passes_dashes);
    let options = args.get(..dashes.unwrap_or(args.len())).unwrap_or(args);
    let has = |names: &[&str]| names.iter().any(|name| is_given(name, options));
    let writes = (mode.with.is_empty() || has(mode.with)) && !has(mode.without) && !has(ASKS);
    let from = found.list.len();
    let mut is_named = false;
    for arg in named.filter(|_| mode.files != Formatted::All) {
        // `./...` are all packages below, and `!src/x` is left out.
        let below = arg.text.strip_suffix("...").map(|folder| folder.trim_end_matches('/'));
        match below {
            _ if arg.text.starts_with('!') => continue,
            Some(folder) => found.add(&Arg { text: folder.to_owned(), ..arg.clone() }, true, writes),
            None => found.add(arg, true, writes),
        }
        is_named = true;
    }
    if !is_named && mode.files != Formatted::Named {
        found.add(&Arg::known("."), true, writes);
    }
    found
        .list
        .iter_mut()
        .skip(from)
        .for_each(|touched| touched.is_swept = writes && !touched.path.contains('$'));
}

/// Whether an option is given, also among letters that share a dash (`-lw`). `--name=value` requires that value.
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
    use crate::command::analyse;

    #[test]
    fn files_that_formatters_write_are_listed() {
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
            let analysis = analyse(command);
            assert_eq!(analysis.writes, writes, "{command}");
        }
    }

    #[test]
    fn formatters_that_only_check_or_print_read() {
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
            let analysis = analyse(command);
            assert!(
                analysis.writes.is_empty() && analysis.sweeps.is_empty(),
                "{command}: {:?}",
                analysis.writes
            );
            assert_eq!(analysis.reads, reads, "{command}");
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
