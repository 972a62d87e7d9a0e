//! Clean texts of each kind for benchmarks of text detection: repeated lines without findings.

/// Source code.
pub(crate) fn source(size: usize) -> String {
    let lines = [
        "fn walk(tree: &Tree, depth: usize) -> Option<Node> {",
        "    let token = self.tokens.next()?; // the next token of the stream",
        "    if depth > MAX_DEPTH { return None; }",
        "    match token.kind { Kind::Open => self.walk(tree, depth + 1), Kind::Close => Some(node), _ => None }",
        "}",
        "const TABLE: [u32; 4] = [0x1f, 0x2e, 0x3d, 0x4c];",
    ];
    fill(size, &lines)
}

/// Prose.
pub(crate) fn prose(size: usize) -> String {
    let lines = [
        "The engine reads every event once, and answers before the tool runs.",
        "A person who wants to know why can read in plain words what was found and where.",
        "On 14 March the team measured it again, with 3.5 percent less noise than the week before.",
    ];
    fill(size, &lines)
}

/// A log.
pub(crate) fn log(size: usize) -> String {
    let lines = [
        "2026-11-15T10:00:00.123Z INFO server: GET /v1/items?page=2 200 12ms",
        "2026-11-15T10:00:00.456Z DEBUG pool: 17 connections, 3 idle, took 0.25 ms",
        "2026-11-15T10:00:01.001Z WARN cache: miss for items:8841, commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    ];
    fill(size, &lines)
}

fn fill(size: usize, lines: &[&str]) -> String {
    let mut text = String::with_capacity(size + 128);
    for line in lines.iter().cycle() {
        if text.len() >= size {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}
