//! Guardrail pages as HTML.

use maud::{Markup, html};

use crate::markdown::{Block, blocks, unlinked};

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

/// Code, strong words and links within a line. Links are shown as their words, because their targets are not served.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_escaped_html() {
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
