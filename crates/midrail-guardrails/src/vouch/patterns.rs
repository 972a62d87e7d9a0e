//! The files that patterns list. Unlike patterns that protect files, these match no more than they say.

use midrail_core::glob;

use crate::shared::data::PROGRAMS;
use crate::shared::file_paths::{has_wildcard, is_below, is_inside};
use crate::shared::settings::Pattern;

/// Whether patterns list a file that is read. If it can be a folder, they must list all of its content.
pub(super) fn lists_read(patterns: &[Pattern], place: &str) -> bool {
    patterns.iter().any(|pattern| lists(&pattern.0, place))
}

/// Whether patterns list a file that is changed. As in a shell, a wildcard matches no name that begins with a dot: such files are the
/// settings of git, editors and agents.
pub(super) fn lists_edit(patterns: &[Pattern], place: &str) -> bool {
    let is_special = has_hidden_part(place) || is_instruction(place);
    let may_list =
        |pattern: &&Pattern| !is_special || has_hidden_part(&pattern.0) || is_instruction(&pattern.0);
    patterns.iter().filter(may_list).any(|pattern| lists(&pattern.0, place))
}

/// Whether patterns list everything in a folder.
pub(super) fn lists_folder(patterns: &[Pattern], folder: &str) -> bool {
    patterns.iter().any(|pattern| lists_all_in(&pattern.0, folder))
}

/// Whether a file or a folder above it has a name that begins with a dot.
pub(super) fn has_hidden_part(place: &str) -> bool {
    place.split('/').any(|part| part.starts_with('.') && part != "." && part != "..")
}

/// Whether a file holds instructions that agents or tools obey.
fn is_instruction(place: &str) -> bool {
    let name = place.rsplit('/').next().unwrap_or(place).to_ascii_lowercase();
    PROGRAMS.has("instructions", &name)
}

fn lists(pattern: &str, place: &str) -> bool {
    // What a shell replaces can be a link to anywhere.
    if place.contains(['$', '`']) || has_wildcard(place) {
        return false;
    }
    let name = place.rsplit('/').next().unwrap_or(place);
    let can_be_folder = !name.trim_start_matches('.').contains('.');
    let lists_it = || match pattern.contains('/') {
        true => is_inside(pattern) == is_inside(place) && glob::path_matches(pattern, place),
        // A name without a folder is meant in every folder of the project.
        false => is_inside(place) && glob::name_matches(pattern, name),
    };
    lists_all_in(pattern, place) || ((!can_be_folder || !has_wildcard(pattern)) && lists_it())
}

fn lists_all_in(pattern: &str, folder: &str) -> bool {
    let folder = if folder == "." { "" } else { folder };
    match pattern.strip_suffix("**") {
        Some("") => is_inside(folder),
        Some(above) => {
            let above = above.trim_end_matches('/');
            match above {
                "" => folder.starts_with('/'),
                _ => !has_wildcard(above) && is_below(above, folder),
            }
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::settings::patterns;

    #[test]
    fn patterns_match_no_more_than_they_say() {
        for (pattern, place, is_listed) in [
            ("**", "src/a.rs", true),
            ("**", ".", true),
            ("**", "src", true),
            ("**", "src/*.rs", false),
            ("**", "/etc/passwd", false),
            ("**", "~/.ssh/id_rsa", false),
            ("**", "../other/a.rs", false),
            ("**", "$DIR/a.rs", false),
            ("**", "$(pwd)/a.rs", false),
            ("src/**", "src/a/b.rs", true),
            ("src/**", "src", true),
            ("src/**", "srcs/a.rs", false),
            ("src/**", "SRC/a.rs", false),
            ("src/**", "src/*", false),
            ("src/**", "s*/a.rs", false),
            ("src/*", "src/a.rs", true),
            ("src/*", "src/a/b.rs", false),
            ("src/*", "src/folder", false),
            ("src/Makefile", "src/Makefile", true),
            ("*.md", "docs/a.md", true),
            ("*.md", "/etc/a.md", false),
            ("*", "docs/a.md", true),
            ("*", "docs", false),
            ("/opt/data/**", "/opt/data/a", true),
            ("/opt/data/**", "/opt/data2/a", false),
            ("/**", "/etc/passwd", true),
            ("/**", "../a", false),
            ("~/notes/**", "~/notes/a.md", true),
            ("~/notes/**", "~/.ssh/id_rsa", false),
            ("*/**", "src/a.rs", true),
        ] {
            assert_eq!(lists_read(&patterns(&[pattern]), place), is_listed, "{pattern} {place}");
        }
    }

    #[test]
    fn wildcards_change_no_hidden_files() {
        for (pattern, place, is_listed) in [
            ("**", "src/a.rs", true),
            ("**", ".git/hooks/pre-commit", false),
            ("**", "sub/.envrc", false),
            ("*", ".gitattributes", false),
            ("**", "docs/AGENTS.md", false),
            ("AGENTS.md", "AGENTS.md", true),
            (".github/**", ".github/workflows/ci.yml", true),
        ] {
            assert_eq!(lists_edit(&patterns(&[pattern]), place), is_listed, "{pattern} {place}");
        }
    }
}
