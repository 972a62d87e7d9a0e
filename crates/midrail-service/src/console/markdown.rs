//! The pages of guardrails as HTML: the part of Markdown that they are written in. Everything else is text.

use maud::{Markup, html};

/// A block of a page.
enum Block<'t> {
    Heading(usize, &'t str),
    Paragraph(String),
    List(Vec<String>),
    Code(Vec<&'t str>),
    Table(Vec<Vec<String>>),
}

/// Renders a page without its first heading, which the caller shows.
pub(crate) fn page(text: &str) -> Markup {
    html! {
        div.prose {
            @for block in blocks(text) {
                @match block {
                    Block::Heading(1, _) => {},
                    Block::Heading(2, text) => h2 { (inline(text)) },
                    Block::Heading(_, text) => h3 { (inline(text)) },
                    Block::Paragraph(text) => p { (inline(&text)) },
                    Block::List(items) => ul { @for item in items { li { (inline(&item)) } } },
                    Block::Code(lines) => pre.code { code { (lines.join("\n")) } },
                    Block::Table(rows) => (table(&rows)),
                }
            }
        }
    }
}

fn table(rows: &[Vec<String>]) -> Markup {
    html! {
        div.scroll { table {
            @if let Some((head, body)) = rows.split_first() {
                thead { tr { @for cell in head { th { (inline(cell)) } } } }
                tbody { @for row in body { tr { @for cell in row { td { (inline(cell)) } } } } }
            }
        } }
    }
}

fn blocks(text: &str) -> Vec<Block<'_>> {
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
            let goes_on = |line: &&str| {
                let line = line.trim();
                !line.is_empty()
                    && !line.starts_with(['#', '|'])
                    && !line.starts_with("```")
                    && !line.starts_with("- ")
            };
            while let Some(line) = lines.next_if(goes_on) {
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

/// Code, strong words and links within a line. Links lead nowhere from here, so that only their words are shown.
fn inline(text: &str) -> Markup {
    let parts = text.split('`').enumerate();
    html! {
        @for (at, part) in parts {
            @if at % 2 == 1 { code { (part) } } @else { (strong(&unlinked(part))) }
        }
    }
}

fn strong(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split("**").enumerate() {
            @if at % 2 == 1 { strong { (part) } } @else { (part) }
        }
    }
}

fn unlinked(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_html_and_nothing_else() {
        let text = "# t\n\nA `<b>` **word** [there](x).\nGoes on.\n\n- one\n  more\n- two\n\n| a | b |\n|---|---|\n| `x\\|y` | <i> |\n\n```yaml\n<c>\n```\n";
        let made = page(text).into_string();
        for part in [
            "<p>A <code>&lt;b&gt;</code> <strong>word</strong> there. Goes on.</p>",
            "<li>one more</li><li>two</li>",
            "<th>a</th>",
            "<code>x|y</code>",
            "<td>&lt;i&gt;</td>",
            "<code>&lt;c&gt;</code>",
        ] {
            assert!(made.contains(part), "{part}\n{made}");
        }
    }

    #[test]
    fn every_page_of_the_catalogue_is_shown() {
        for known in midrail::guardrails::CATALOGUE {
            let made = page(known.page).into_string();
            assert!(made.contains("<h2>") && !made.contains("```"), "{}", known.id);
        }
    }
}
