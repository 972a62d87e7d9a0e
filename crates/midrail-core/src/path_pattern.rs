//! Path patterns of packs and the files that they match: every spelling of both, and what wildcards in a path leave open.

use std::borrow::Cow;

use crate::glob;
use crate::glob_overlap::{is_open, may_match};
use crate::path::{self, Roots};

/// What `*` and `?` of a path can stand for: nothing, one character, and many.
const RUNS: [&str; 3] = ["", "\u{1}", "\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}"];

/// Whether a path, as it is, matches a pattern. `None`: the path has wildcards or variables of a shell, which may match.
pub fn fits(pattern: &str, path: &str) -> Option<bool> {
    if !is_open(path) {
        return Some(glob::path_matches(pattern, path));
    }
    let is_plain = !path.contains(['[', '$', '`']);
    if is_plain && RUNS.iter().all(|run| glob::path_matches(pattern, &sample(path, run))) {
        return Some(true);
    }
    if may_match(pattern, path) { None } else { Some(false) }
}

/// A path with wildcards replaced by a sample.
fn sample(path: &str, run: &str) -> String {
    path.replace('*', run).replace('?', "\u{1}")
}

/// Where patterns and paths of an event are: the folder of the session and the home folder.
#[derive(Debug, Clone, Copy, Default)]
pub struct Folders<'a> {
    /// The folder of the session.
    pub roots: Roots<'a>,
    /// The working directory of the event.
    pub cwd: Option<&'a str>,
    /// The home folder, as a place.
    pub home: Option<&'a str>,
    /// The absolute path that the event has for the place, where no root is known.
    pub spelling: Option<&'a str>,
    /// Whether upper and lower case are the same, as on some file systems.
    pub ignores_case: bool,
}

impl Folders<'_> {
    /// Whether a place matches a pattern by any of its names: patterns that begin with `/` apply to absolute names, others to
    /// the name relative to the root. `None`: the place has wildcards or variables, which may match.
    pub fn fits(&self, pattern: &str, place: &str) -> Option<bool> {
        let mut may = false;
        for pattern in self.patterns(pattern) {
            let mut names = if pattern.starts_with('/') { self.absolute(place) } else { Vec::new() };
            names.extend(self.spelling.filter(|_| pattern.starts_with('/')).map(str::to_owned));
            let names = names.iter().map(String::as_str).chain([place]);
            for name in names {
                let fit = if self.ignores_case {
                    fits(&pattern.to_lowercase(), &name.to_lowercase())
                } else {
                    fits(&pattern, name)
                };
                match fit {
                    Some(true) => return Some(true),
                    Some(false) => {}
                    None => may = true,
                }
            }
        }
        if may { None } else { Some(false) }
    }

    /// The absolute names of a place inside the root, one for each spelling of the root.
    pub fn absolute(&self, place: &str) -> Vec<String> {
        if place.starts_with(['/', '~']) || place == ".." || place.starts_with("../") {
            return Vec::new();
        }
        // Nothing is known about the folder of a path that begins with a variable.
        if path::below_unknown(place).is_some() {
            return Vec::new();
        }
        let folders = self.roots.root.or(self.cwd).into_iter();
        let folders = folders.chain(self.roots.aliases.iter().map(String::as_str));
        folders.map(|folder| join(folder, place)).collect()
    }

    /// The spellings of a pattern as places have them: without `.` and `..`, with the folder of one that ends in `/`, and with
    /// the home folder.
    fn patterns<'p>(&self, pattern: &'p str) -> Vec<Cow<'p, str>> {
        let normal = normal(pattern);
        let mut all = Vec::new();
        if let Some(above) = normal.strip_prefix("../") {
            all.extend(self.roots.root.or(self.cwd).and_then(|root| above_root(root, above)).map(Cow::Owned));
        }
        if let Some(below) = normal.strip_prefix("~/") {
            match self.home {
                Some(home) => all.push(Cow::Owned(join_place(home, below))),
                // Every folder may be the home folder.
                None => all.push(Cow::Owned(format!("/**/{below}"))),
            }
        }
        all.push(normal);
        let folders: Vec<_> = all.iter().filter_map(|it| it.strip_suffix('/')).map(str::to_owned).collect();
        all.extend(folders.iter().flat_map(|it| [it.clone(), format!("{it}/**")]).map(Cow::Owned));
        all
    }
}

/// A pattern without `.` and empty segments, and without `..` after a literal segment.
pub fn normal(pattern: &str) -> Cow<'_, str> {
    let body = pattern.strip_prefix('/').unwrap_or(pattern);
    let is_odd = |part: &str| matches!(part, "." | ".." | "");
    if !body.strip_suffix('/').unwrap_or(body).split('/').any(is_odd) {
        return Cow::Borrowed(pattern);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in body.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != ".." && *last != "**") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let start = if pattern.starts_with('/') { "/" } else { "" };
    let end = if pattern.ends_with('/') && !parts.is_empty() { "/" } else { "" };
    Cow::Owned(format!("{start}{}{end}", parts.join("/")))
}

/// A pattern relative to the folder above the root, as an absolute one.
fn above_root(root: &str, pattern: &str) -> Option<String> {
    let mut parent = root.trim_end_matches('/').rsplit_once('/')?.0;
    let mut rest = pattern;
    while let Some(above) = rest.strip_prefix("../") {
        parent = parent.rsplit_once('/').map_or("", |(above, _)| above);
        rest = above;
    }
    Some(format!("{parent}/{rest}"))
}

fn join(folder: &str, place: &str) -> String {
    let folder = folder.trim_end_matches('/');
    match (folder, place) {
        ("", _) => format!("/{place}"),
        (_, "") => folder.to_owned(),
        _ => format!("{folder}/{place}"),
    }
}

/// A pattern below a place, which is empty for the root.
fn join_place(place: &str, below: &str) -> String {
    if place.is_empty() { below.to_owned() } else { format!("{}/{below}", place.trim_end_matches('/')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPO: Folders<'static> = Folders {
        roots: Roots { root: Some("/work/repo"), aliases: &[] },
        cwd: None,
        home: None,
        spelling: None,
        ignores_case: false,
    };

    #[test]
    fn a_file_has_all_its_names() {
        for pattern in [
            "secrets/**",
            "./secrets/**",
            "secrets/",
            "./secrets/",
            "secrets//a",
            "/work/repo/secrets/**",
            "/work/*/secrets/a",
            "../repo/secrets/**",
            "../../work/repo/secrets/",
            "src/../secrets/a",
            "/work/other/../repo/secrets/a",
        ] {
            assert_eq!(REPO.fits(pattern, "secrets/a"), Some(true), "{pattern}");
            assert_eq!(REPO.fits(pattern, "src/a"), Some(false), "{pattern}");
        }
        assert_eq!(REPO.fits("../other/**", "/work/other/a"), Some(true));
        assert_eq!(REPO.fits("**/work/**", "a"), Some(false), "relative patterns are below the root");
        let disk = Folders { cwd: Some("/"), ..Folders::default() };
        assert_eq!(disk.fits("/etc/shadow", "etc/shadow"), Some(true));
        assert_eq!(
            Folders::default().fits("/etc/shadow", "etc/shadow"),
            Some(false),
            "the root is not known"
        );
    }

    #[test]
    fn the_home_folder_has_all_its_names() {
        let home = |home| Folders { home, ..REPO };
        assert_eq!(home(Some("/home/me")).fits("~/notes/**", "/home/me/notes/a"), Some(true));
        assert_eq!(home(Some("/home/me")).fits("~/notes/**", "/home/you/notes/a"), Some(false));
        assert_eq!(home(Some("")).fits("~/notes/**", "notes/a"), Some(true));
        assert_eq!(home(None).fits("~/notes/**", "/home/me/notes/a"), Some(true));
        assert_eq!(home(None).fits("~/notes/**", "~/notes/a"), Some(true));
        assert_eq!(home(None).fits("~/notes/**", "/home/me/other/a"), Some(false));
    }

    #[test]
    fn wildcards_in_a_path_leave_open_what_they_match() {
        assert_eq!(REPO.fits("secrets/**", "s*/a"), None);
        assert_eq!(REPO.fits("/work/repo/secrets/**", "s*/a"), None);
        assert_eq!(REPO.fits("secrets/**", "secrets/*.txt"), Some(true));
        assert_eq!(REPO.fits("src/**", "src/*/a"), Some(true));
        assert_eq!(REPO.fits("a?", "a*"), None);
        assert_eq!(REPO.fits("secrets/**", "src/*"), Some(false));
        assert_eq!(REPO.fits("secrets/**", "$X"), None);
    }
}
