//! The places of files: inside the sandbox, in a temporary folder, or matched by a pattern.

use std::borrow::Cow;

use midrail_core::{glob, path, path_pattern};

use super::data::FILES;
use super::letter_pairs::LetterPairs;

/// Whether a place, as returned by `Context::places`, is inside the sandbox.
pub(crate) fn is_inside(place: &str) -> bool {
    !place.starts_with('/') && place != ".." && !place.starts_with("../") && !place.starts_with('~')
}

/// Whether a place is a folder or below it.
pub(crate) fn is_below(folder: &str, place: &str) -> bool {
    if folder.is_empty() {
        // The root contains relative paths only.
        return !place.starts_with(['/', '~']) && !place.starts_with("../");
    }
    let folder = folder.trim_end_matches('/');
    place.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The place of a file below an unknown folder (`$DIR/etc/shadow`) or above an unknown root, if that is the root of the file system.
pub(crate) fn from_root(place: &str) -> Option<String> {
    let below = match path::below_unknown(place) {
        Some(rest) => Some(rest).filter(|rest| !rest.is_empty())?,
        None => place.strip_prefix("../")?.trim_start_matches("../"),
    };
    Some(format!("/{below}"))
}

/// Whether a place is below a temporary folder.
pub(crate) fn is_temporary(place: &str) -> bool {
    FILES
        .list("temporary folders")
        .iter()
        .any(|folder| is_below(folder, place) && place.len() > folder.len() + 1)
}

/// Whether a place is a temporary folder itself.
pub(crate) fn is_temporary_folder(place: &str) -> bool {
    FILES.has("temporary folders", place.trim_end_matches('/'))
}

/// Whether a place is a device or a stream without data.
pub(crate) fn is_device(place: &str) -> bool {
    FILES.has("devices", place) || FILES.list("streams").iter().any(|prefix| place.starts_with(prefix))
}

/// Whether a place matches a pattern. A pattern without `/` matches in every folder; one that begins with `~/`
/// matches every spelling of the home folder. Case is ignored, because some file systems ignore it.
pub(crate) fn path_fits(pattern: &str, place: &str) -> bool {
    LowercasePath::new(&lowercase(place)).fits(pattern)
}

/// A place in lowercase that is matched against many patterns.
pub(crate) struct LowercasePath<'p> {
    place: &'p str,
    name: &'p str,
    last: Option<u8>,
    pub(crate) has_wildcard: bool,
}

impl<'p> LowercasePath<'p> {
    /// From a place in lowercase.
    pub(crate) fn new(place: &'p str) -> Self {
        let name = place.rsplit('/').next().unwrap_or(place);
        LowercasePath { place, name, last: place.bytes().last(), has_wildcard: has_wildcard(name) }
    }

    /// Whether it matches a pattern.
    pub(crate) fn fits(&self, pattern: &str) -> bool {
        // Most patterns are ruled out by this. Only a `/` at the end of a pattern stands for other ends.
        if !self.has_wildcard && !pattern.ends_with('/') && self.ends_unlike(pattern) {
            return false;
        }
        let normal = if is_odd(pattern) { path_pattern::normal(pattern) } else { Cow::Borrowed(pattern) };
        // `secrets/` is the folder and its content.
        match normal.strip_suffix('/').filter(|folder| !folder.is_empty()) {
            Some(folder) => self.fits_normal(&format!("{folder}/**")),
            None => self.fits_normal(&normal),
        }
    }

    fn fits_normal(&self, pattern: &str) -> bool {
        let LowercasePath { place, name, has_wildcard, .. } = *self;
        if !has_wildcard && self.ends_unlike(pattern) {
            return false;
        }
        let pattern = lowercase(pattern);
        if !has_wildcard && lacks_part(&pattern, place) {
            return false;
        }
        if !pattern.contains('/') {
            return name_fits(&pattern, name);
        }
        let pattern = match pattern.strip_prefix("~/") {
            Some(below) if !place.starts_with("~/") => Cow::Owned(format!("**/{below}")),
            _ => pattern,
        };
        // A pattern for a folder's content also matches the folder.
        let folder = pattern.strip_suffix("/**").unwrap_or(&pattern);
        if glob::path_matches(&pattern, place) || glob::path_matches(folder, place) {
            return true;
        }
        // A wildcard of a command line in the last part: `.ssh/id_*`.
        let (Some((folder, last)), true) = (pattern.rsplit_once('/'), has_wildcard) else { return false };
        let folder_fits = match place.rsplit_once('/') {
            Some((above, _)) => glob::path_matches(folder, above),
            None => folder == "**",
        };
        folder_fits && could_be(name, last)
    }

    /// Whether the last characters already rule out a match.
    fn ends_unlike(&self, pattern: &str) -> bool {
        match pattern.bytes().last() {
            Some(b'*' | b'?' | b']' | b'}') | None => false,
            Some(end) => end.is_ascii() && self.last != Some(end.to_ascii_lowercase()),
        }
    }
}

/// Whether a pattern has parts that no place has: `./`, `//`, `..`, or a `/` at its end.
fn is_odd(pattern: &str) -> bool {
    pattern.contains('/')
        && (pattern.ends_with('/')
            || pattern.starts_with("./")
            || ["//", "/./", "/../"].iter().any(|part| pattern.contains(part)))
}

/// The text in lowercase, without a copy if it already is.
pub(crate) fn lowercase(text: &str) -> Cow<'_, str> {
    let is_lowercase = text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_lowercase { Cow::Borrowed(text) } else { Cow::Owned(text.to_lowercase()) }
}

/// Whether a literal part of the pattern is missing in the place.
fn lacks_part(pattern: &str, place: &str) -> bool {
    if pattern.bytes().any(|byte| matches!(byte, b'[' | b'{' | b'\\')) {
        return false;
    }
    let is_literal = |part: &str| !part.bytes().any(|byte| matches!(byte, b'*' | b'?'));
    // The home folder has several names.
    pattern.split('/').any(|part| part != "~" && is_literal(part) && !place.contains(part))
}

/// Patterns of files that places are often matched against. The letters of a place rule out most of them.
pub(crate) struct PlacePatterns(Vec<(&'static str, LetterPairs)>);

impl PlacePatterns {
    pub(crate) fn new(patterns: &[&'static str]) -> Self {
        PlacePatterns(patterns.iter().map(|pattern| (*pattern, LetterPairs::of_pattern(pattern))).collect())
    }

    /// Whether any of them matches a place, as `matches` compares them: [`path_fits`] or [`may_match`].
    pub(crate) fn any(&self, place: &str, matches: fn(&str, &str) -> bool) -> bool {
        let is_open = has_wildcard(place);
        let pairs = LetterPairs::of_path(&lowercase(place));
        let may_match = |own: LetterPairs| is_open || pairs.contain(own);
        self.0.iter().any(|(pattern, own)| may_match(*own) && matches(pattern, place))
    }
}

/// Like [`path_fits`], but stricter: a wildcard in the last part counts even if little of it is spelled out, as long as
/// its folder matches.
pub(crate) fn may_match(pattern: &str, place: &str) -> bool {
    path_fits(pattern, place) || name_may_match(pattern, place) || folder_may_match(pattern, place)
}

/// Whether wildcards in the last two parts of a place may match a protected file: `.claude/*.json`. A file that is
/// protected in every folder needs a specific wildcard: `*.db` does not count, `midrail.*` and `.mid*` do.
fn name_may_match(pattern: &str, place: &str) -> bool {
    let (above, name) = place.rsplit_once('/').unwrap_or(("", place));
    let above = above.rsplit('/').next().unwrap_or(above);
    if !has_wildcard(name) && !has_wildcard(above) {
        return false;
    }
    let mut protected = pattern.trim_end_matches("/**").rsplit('/');
    let (Some(last), folder) = (protected.next(), protected.next()) else { return false };
    let (above, name) = (above.to_lowercase(), name.to_lowercase());
    let is_or_may = |part: &str, name: &str| part == name.to_lowercase() || may_be_named(part, name);
    match folder.filter(|folder| *folder != "**") {
        Some(folder) => is_or_may(&name, last) && is_or_may(&above, folder),
        None => may_be_named(&name, last) && (name.starts_with('.') || could_be(&name, last)),
    }
}

/// Whether a part with wildcards and at least two other characters may be a name. Shell wildcards do not match the
/// dot of a hidden name.
fn may_be_named(part: &str, name: &str) -> bool {
    let literal = part.chars().filter(|c| !matches!(c, '*' | '?' | '[' | ']')).count();
    has_wildcard(part)
        && literal >= 2
        && (part.starts_with('.') || !name.starts_with('.'))
        && glob::check(part).is_ok()
        && glob::path_matches(part, name)
}

/// Whether a folder with wildcards in a place may be the protected folder: `.mid*/x`.
fn folder_may_match(pattern: &str, place: &str) -> bool {
    let Some(folder) = pattern.strip_suffix("/**").map(|folder| folder.rsplit('/').next().unwrap_or(folder))
    else {
        return false;
    };
    let aims = |part: &str| may_be_named(&part.to_lowercase(), folder);
    let mut parts = place.split('/').rev().skip(1);
    !has_wildcard(folder) && parts.any(aims)
}

fn name_fits(pattern: &str, name: &str) -> bool {
    glob::path_matches(pattern, name) || (has_wildcard(name) && could_be(name, pattern))
}

/// Whether a name has a shell wildcard.
pub(crate) fn has_wildcard(name: &str) -> bool {
    name.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// Whether a shell wildcard is specific to the files of a pattern: it matches an example of them, and at least half
/// of that example is spelled out. `.e*` and `id_?sa` are specific; `*` and `*.json` are not.
pub(crate) fn could_be(wildcard: &str, pattern: &str) -> bool {
    let example: String = pattern.chars().map(|c| if matches!(c, '*' | '?') { 'x' } else { c }).collect();
    let literal = wildcard.chars().filter(|c| !matches!(c, '*' | '?' | '[' | ']')).count();
    literal * 2 >= example.chars().count()
        && glob::check(wildcard).is_ok()
        && glob::path_matches(wildcard, &example)
}

/// Whether an argument of a call with this name contains a path.
pub fn is_path_argument(name: &str) -> bool {
    midrail_shell::action::PATH_ARGS.contains(&name)
}

/// Whether a place is generated content.
pub(crate) fn is_generated(place: &str) -> bool {
    place.split('/').any(|part| {
        FILES.has("generated folders", part)
            || FILES.list("generated suffixes").iter().any(|ending| part.ends_with(ending))
            || part.starts_with("cmake-build-")
    })
}

#[cfg(test)]
mod tests {
    use super::super::letter_pairs::LetterPairs;
    use super::*;

    #[test]
    fn bare_name_matches_in_every_folder() {
        assert!(
            path_fits(".env", "a/b/.ENV")
                && path_fits("*.pem", "/etc/x.pem")
                && path_fits("~/.ssh/**", "/home/me/.ssh/id")
        );
        assert!(
            !path_fits(".env", ".env.example")
                && !path_fits(".env", "environment")
                && !path_fits("*.pem", "pem")
        );
    }

    #[test]
    fn every_spelling_of_a_pattern_matches() {
        for pattern in ["secrets/", "./secrets/**", "./secrets/", "secrets//a", "x/../secrets/*"] {
            assert!(path_fits(pattern, "secrets/a"), "{pattern}");
            assert!(!path_fits(pattern, "src/a"), "{pattern}");
        }
    }

    #[test]
    fn only_specific_wildcards_match() {
        assert!(
            path_fits(".env", ".e*")
                && path_fits(".env", "app/.en?")
                && path_fits("id_rsa", "id_*")
                && path_fits("*.pem", "*.pem")
        );
        assert!(!path_fits(".env", "*") && !path_fits("secrets.json", "*.json") && !path_fits(".env", ".*"));
        assert!(path_fits("~/.ssh/id_*", "/home/me/.ssh/id_*"));
    }

    #[test]
    fn wildcards_match_protected_files_and_not_similar_names() {
        let settings = "**/.claude/settings.json";
        for place in
            [".claude/*.json", "a/.claude/set*", "/x/.CLAUDE/*.json", ".cl*/*.json", ".claude/settings.*"]
        {
            assert!(may_match(settings, place), "{place}");
        }
        for place in
            ["*.json", "data/*.json", "/srv/app/*.json", "*/*.json", "src/locales/*.json", ".claude/*.md"]
        {
            assert!(!may_match(settings, place), "{place}");
        }
        assert!(may_match("**/.midrail", ".mid*") && may_match("**/.midrail", "a/.mi*"));
        assert!(
            may_match("**/.midrail/**", ".mid*/pack.yaml") && may_match("**/.midrail/**", ".midrail/*.yaml")
        );
        assert!(may_match("midrail.db", "midrail.*") && may_match("midrail.db-*", "midrail.db*"));
        assert!(!may_match("midrail.db", "*.db") && !may_match("midrail.db.key", "build/*.key"));
        assert!(may_match("/etc/claude-code/**", "/etc/cl*") && !may_match("/etc/claude-code/**", "lib/cl*"));
    }

    #[test]
    fn quick_checks_miss_no_match() {
        let patterns = [
            ".env",
            "*.pem",
            "client_secret*.json",
            "**/.ssh/**",
            "/etc/shadow",
            "/etc/sudoers.d/**",
            "~/.ssh/**",
            "~/.netrc",
            "**/.config/gh/hosts.yml",
            "**/testdata/**/*.pem",
            ".git/**",
            ".git",
            "*",
            "**",
            "",
            "[ab].key",
            "{x,y/z}.pem",
            "**/{a/lit/b,c}/d",
            "\\*.pem",
            "ÄRGER/*.Key",
            "?.key",
            "x?",
            "**/café/**",
        ];
        let places = [
            ".env",
            "A/.ENV",
            "x.pem",
            "a/b/X.PEM",
            "pem",
            "client_secret_1.json",
            ".ssh",
            ".ssh/id",
            "/home/me/.ssh/id",
            "~/.ssh/id",
            "/etc/shadow",
            "etc/shadow",
            "/etc/sudoers.d",
            "/etc/sudoers.d/x",
            "~/.netrc",
            "/root2/.netrc",
            "~/.config/gh/hosts.yml",
            "testdata/a/b.pem",
            "testdata/b.pem",
            ".git",
            "a/.git",
            ".git/config",
            "a/",
            "a",
            "a.key",
            "c.key",
            "x.pem",
            "y/z.pem",
            "c/d",
            "a/lit/b/d",
            "lit/d",
            "*.pem",
            "ärger/x.key",
            "ÄRGER/Y.KEY",
            "xy",
            "",
            "/",
            "a/CAFÉ/b",
            "a/cafe/b",
            "~",
            "..",
        ];
        let mut fitting = 0;
        for pattern in patterns {
            for place in places {
                let (low, at) = (pattern.to_lowercase(), place.to_lowercase());
                let home = low.strip_prefix("~/").filter(|_| !at.starts_with("~/"));
                let whole = home.map_or(low.clone(), |below| format!("**/{below}"));
                let name = at.rsplit('/').next().unwrap();
                let expected = match low.contains('/') {
                    false => glob::path_matches(&low, name),
                    true => [whole.as_str(), whole.strip_suffix("/**").unwrap_or(&whole)]
                        .iter()
                        .any(|pattern| glob::path_matches(pattern, &at)),
                };
                if !has_wildcard(name) {
                    assert_eq!(path_fits(pattern, place), expected, "`{pattern}` and `{place}`");
                    let may_fit = LetterPairs::of_path(&at).contain(LetterPairs::of_pattern(pattern));
                    assert!(may_fit || !expected, "`{pattern}` and `{place}`");
                    fitting += usize::from(expected);
                }
            }
        }
        assert!(fitting > 60, "{fitting}");
    }

    #[test]
    fn temporary_folders_are_recognised_exactly() {
        assert!(
            is_temporary("/tmp/x")
                && !is_temporary("/tmp")
                && !is_temporary("/tmpx/y")
                && !is_temporary("/tmp/")
        );
    }

    #[test]
    fn letters_rule_out_no_match() {
        use crate::shared::data::{FILES, HOST_SETTINGS, SENSITIVE_FILES};
        let lists = [
            FILES.list("midrail files"),
            FILES.list("startup files"),
            HOST_SETTINGS.list("hosts"),
            HOST_SETTINGS.list("extensions"),
            SENSITIVE_FILES.list("protected"),
        ];
        for list in lists {
            let patterns = PlacePatterns::new(list);
            for pattern in lists.concat() {
                let plain = pattern.replace("/**", "/x/y").replace("**/", "a/").replace('*', "x");
                let short = pattern.trim_end_matches("/**").trim_start_matches("**/");
                for place in
                    [plain.as_str(), short, &plain.to_uppercase(), &format!("/home/me/{short}"), pattern]
                {
                    let expected = list.iter().any(|pattern| may_match(pattern, place));
                    assert_eq!(patterns.any(place, may_match), expected, "{place}");
                    let expected = list.iter().any(|pattern| path_fits(pattern, place));
                    assert_eq!(patterns.any(place, path_fits), expected, "{place}");
                }
            }
        }
    }
}
