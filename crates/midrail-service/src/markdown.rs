//! The Markdown of guardrail pages, parsed into blocks. The console renders them as HTML, the CLI as lines.

/// A block of a page.
pub enum Block<'t> {
    /// A heading and its level.
    Heading(usize, &'t str),
    /// A paragraph in one line.
    Paragraph(String),
    /// The items of a list.
    List(Vec<String>),
    /// The lines of a code block.
    Code(Vec<&'t str>),
    /// The rows of a table, with its head.
    Table(Vec<Vec<String>>),
}

/// The blocks of a page.
pub fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        if trimmed.starts_with("```") {
            let mut code = Vec::new();
            for line in lines.by_ref() {
                if line.trim().starts_with("```") {
                    break;
                }
                code.push(line);
            }
            blocks.push(Block::Code(code));
        } else if trimmed.starts_with('#') {
            let level = trimmed.chars().take_while(|c| *c == '#').count();
            blocks.push(Block::Heading(level, trimmed.trim_start_matches('#').trim()));
        } else if trimmed.starts_with('|') {
            let mut rows = vec![cells(trimmed)];
            while let Some(line) = lines.next_if(|line| line.trim().starts_with('|')) {
                rows.push(cells(line.trim()));
            }
            rows.retain(|row| !row.iter().all(|cell| cell.chars().all(|c| "-: ".contains(c))));
            blocks.push(Block::Table(rows));
        } else if let Some(first) = trimmed.strip_prefix("- ") {
            let mut items = vec![first.to_owned()];
            while let Some(line) = lines.next_if(|line| line.starts_with("- ") || line.starts_with("  ")) {
                match (line.strip_prefix("- "), items.last_mut()) {
                    (Some(item), _) => items.push(item.to_owned()),
                    (None, Some(last)) => last.push_str(&format!(" {}", line.trim())),
                    (None, None) => {}
                }
            }
            blocks.push(Block::List(items));
        } else {
            let mut paragraph = trimmed.to_owned();
            let continues = |line: &&str| {
                let line = line.trim();
                !line.is_empty()
                    && !line.starts_with(['#', '|'])
                    && !line.starts_with("```")
                    && !line.starts_with("- ")
            };
            while let Some(line) = lines.next_if(continues) {
                paragraph.push(' ');
                paragraph.push_str(line.trim());
            }
            blocks.push(Block::Paragraph(paragraph));
        }
    }
    blocks
}

fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\u{0}");
    inner.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
}

/// A text in which links are replaced by their words.
pub fn unlinked(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once('[') {
        let found = after.split_once("](").and_then(|(words, after)| Some((words, after.split_once(')')?.1)));
        plain.push_str(before);
        match found {
            Some((words, after)) => {
                plain.push_str(words);
                rest = after;
            }
            None => {
                plain.push('[');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}
