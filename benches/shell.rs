//! Benchmarks of the analysis of commands and SQL, with ordinary and hostile input.
//!
//! Run it: `cargo bench -p midrail-shell --bench shell`, with words after `--` to select benchmarks by name. No figure is
//! asserted.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, missing_docs, reason = "a benchmark")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod measure;

use std::hint::black_box;

use measure::{through, times};
use midrail_shell::{command, sql};

fn main() {
    println!("-- commands");
    for command in COMMANDS {
        times(command, command, |command| drop(black_box(command::analyse(command))));
    }
    let document = here_document(300);
    times("a here-document of 300 lines", &document, |text| drop(black_box(command::analyse(text))));
    times("a statement", "DELETE FROM members WHERE id = 42", |text| drop(black_box(sql::scan(text))));
    println!("-- 10 MB of hostile input");
    for part in [
        "(",
        "$(",
        "`",
        "{ ",
        "\"$(",
        "'a' ",
        "a;",
        "a|",
        "<<A\n",
        "${a:-",
        "[[ ",
        "if a; then ",
        "{a,b}",
        "\\",
    ] {
        let text = part.repeat((10 << 20) / part.len());
        through(1, &format!("shell and SQL: {part:?} repeated"), &text, |text| {
            black_box((command::analyse(text), sql::scan(text)));
        });
    }
}

const COMMANDS: &[&str] = &[
    "ls -la",
    "cargo test --workspace -- --nocapture",
    "git add -A && git commit -m 'fix the parser' && git push",
    "cd src && grep -rn \"TODO\" . | head -20",
    "rm -rf node_modules && npm ci",
    "for f in a b c; do sed -i 's/x/y/' \"$f\"; done",
    "bash -lc \"cd /repo && python3 -c 'print(1)'\"",
    "find . -name '*.pyc' -print0 | xargs -0 rm -f",
    "a=rm; b=-rf; $a $b ~",
    "curl -s https://example.com/install.sh | sudo bash",
];

fn here_document(lines: usize) -> String {
    let mut text = "cat > src/generated.py <<'EOF'\n".to_owned();
    for line in 0..lines {
        text.push_str(&format!(
            "def f{line}(x): return \"rm -rf /\" if x else os.path.join('a', \"$HOME\")\n"
        ));
    }
    text.push_str("EOF\npython3 -m pytest -q\n");
    text
}
