//! One name for one file: resolves paths as callers spell them to places relative to the root. Lexical only; the file probe
//! resolves symbolic links.

/// The place of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Relative to the root if it is inside, otherwise absolute or starting with `..`.
    pub key: String,
    /// Whether it is inside the root.
    pub inside: bool,
}

/// The folder that paths are resolved against, in every known spelling (through symbolic links).
#[derive(Debug, Clone, Copy, Default)]
pub struct Roots<'a> {
    /// The folder itself.
    pub root: Option<&'a str>,
    /// Other spellings of it.
    pub aliases: &'a [String],
}

/// Resolves a path as a caller spelt it. Lexical: the place probe follows symbolic links.
///
/// - `mount` is a prefix under which the agent sees the root (`/workspace`).
/// - An absolute path under the root is the same as its relative spelling; any other absolute path is outside.
/// - Without a root, the `cwd` is the root; without both, no path is outside, and `/a` and `a` are one file.
pub fn resolve(path: &str, cwd: Option<&str>, roots: Roots<'_>, mount: Option<&str>) -> Place {
    let path = path.strip_prefix("file://").unwrap_or(path);
    if path == "~" || path.starts_with("~/") {
        return Place { key: path.to_owned(), inside: false };
    }
    if let Some(place) = resolve_plain(path, cwd, roots).filter(|_| mount.is_none()) {
        return place;
    }
    let given = segments(path);
    if path.starts_with('/') {
        let whole = clamped(&given);
        if let Some(rest) = mount.and_then(|mount| whole.strip_prefix(segments(mount).as_slice())) {
            return inside(rest);
        }
        return match below_root(&whole, cwd, roots) {
            Some(below) => inside(&below),
            None if roots.root.is_none() && cwd.is_none() => inside(&whole),
            None => Place { key: format!("/{}", whole.join("/")), inside: false },
        };
    }
    let Some(cwd) = cwd else { return relative_to_root(&given) };
    let cwd = absolute_segments(cwd);
    let whole: Vec<&str> = cwd.iter().chain(&given).copied().collect();
    let whole = clamped(&whole);
    match below_root(&whole, Some(&format!("/{}", cwd.join("/"))), roots) {
        Some(below) => inside(&below),
        None => Place { key: format!("/{}", whole.join("/")), inside: false },
    }
}

/// The same for a path in normal form below or next to a root with one spelling, as nearly every path is.
fn resolve_plain(path: &str, cwd: Option<&str>, roots: Roots<'_>) -> Option<Place> {
    let root = roots.root.or(cwd).filter(|root| roots.aliases.is_empty() && is_plain(root))?;
    let joined;
    let whole = if path.starts_with('/') {
        path
    } else {
        joined = [cwd?, "/", path].concat();
        &joined
    };
    let below = whole.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    is_plain(whole).then(|| Place {
        key: below.map_or(whole, |rest| rest.strip_prefix('/').unwrap_or(rest)).to_owned(),
        inside: below.is_some(),
    })
}

/// Whether an absolute path has no empty segments, no `.` and no `..`.
fn is_plain(path: &str) -> bool {
    let mut segments = path.split('/');
    segments.next() == Some("") && segments.all(|segment| !matches!(segment, "" | "." | ".."))
}

/// The rest of a path that begins with a folder which is not known: `etc/hosts` of `$DIR/etc/hosts`, and of a path that leaves the
/// root of a call whose folder is not known. `None`: the folder is known.
pub fn below_unknown(path: &str) -> Option<&str> {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    first.contains(['$', '`']).then_some(rest)
}

/// The part of an absolute path below the root, for any spelling of the root.
fn below_root<'p>(whole: &[&'p str], cwd: Option<&str>, roots: Roots<'_>) -> Option<Vec<&'p str>> {
    let spellings = roots.root.or(cwd).into_iter().chain(roots.aliases.iter().map(String::as_str));
    for root in spellings.map(absolute_segments) {
        let is_below = whole.len() >= root.len() && whole.iter().zip(&root).all(|(mine, its)| *mine == *its);
        if is_below {
            return whole.get(root.len()..).map(<[&str]>::to_vec);
        }
    }
    None
}

fn inside(segments: &[&str]) -> Place {
    Place { key: segments.join("/"), inside: true }
}

fn relative_to_root(given: &[&str]) -> Place {
    let mut depth = 0_usize;
    let climbs_out = given.iter().any(|segment| {
        let below = if *segment == ".." { depth.checked_sub(1) } else { Some(depth + 1) };
        depth = below.unwrap_or(0);
        below.is_none()
    });
    let whole = clamped(given);
    if climbs_out { Place { key: format!("../{}", whole.join("/")), inside: false } } else { inside(&whole) }
}

/// The segments with `..` resolved; `..` at the top stays at the top, as in `/../etc`.
fn clamped<'a>(given: &[&'a str]) -> Vec<&'a str> {
    let mut whole = Vec::new();
    for segment in given {
        if *segment == ".." {
            whole.pop();
        } else {
            whole.push(*segment);
        }
    }
    whole
}

fn segments(path: &str) -> Vec<&str> {
    path.split('/').filter(|segment| !segment.is_empty() && *segment != ".").collect()
}

fn absolute_segments(path: &str) -> Vec<&str> {
    clamped(&segments(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(path: &str, cwd: Option<&str>, root: Option<&str>) -> (String, bool) {
        let place = resolve(path, cwd, Roots { root, aliases: &[] }, None);
        (place.key, place.inside)
    }

    #[test]
    fn one_file_has_one_key() {
        for path in [
            "src/a.rs",
            "./src/a.rs",
            "src//a.rs",
            "src/x/../a.rs",
            "/repo/src/a.rs",
            "/repo/../repo/src/a.rs",
        ] {
            assert_eq!(key(path, Some("/repo"), Some("/repo")), ("src/a.rs".into(), true), "{path}");
        }
        assert_eq!(key("a.rs", Some("/repo/src"), Some("/repo")), ("src/a.rs".into(), true));
        assert_eq!(key("../b.rs", Some("/repo/src"), Some("/repo")), ("b.rs".into(), true));
    }

    #[test]
    fn plain_paths_have_the_places_of_others() {
        let paths =
            ["/repo", "/repo/a", "/repository/a", "/", "a", "", "a/b", "../a", "/repo/a/", "./a", ".."];
        for (path, cwd, root) in paths.into_iter().flat_map(|path| {
            [None, Some("/repo"), Some("/repo/src"), Some("/other"), Some("repo"), Some("/")]
                .into_iter()
                .flat_map(move |cwd| [None, Some("/repo"), Some("/")].map(|root| (path, cwd, root)))
        }) {
            let place = |aliases: &[String]| resolve(path, cwd, Roots { root, aliases }, None);
            // A root with several spellings takes the long way.
            assert_eq!(place(&[]), place(&["/no/such/root".to_owned()]), "{path} {cwd:?} {root:?}");
        }
    }

    #[test]
    fn without_root_and_cwd_every_path_is_inside() {
        assert_eq!(key("/a.txt", None, None), ("a.txt".into(), true));
        assert_eq!(key("a.txt", None, None), ("a.txt".into(), true));
        assert_eq!(key("/tmp/x/a.txt", None, Some("/tmp/x")), ("a.txt".into(), true));
        assert_eq!(key("/etc/passwd", None, Some("/tmp/x")), ("/etc/passwd".into(), false));
    }

    #[test]
    fn every_spelling_of_the_root_is_the_root() {
        let aliases = ["/link".to_owned()];
        let roots = Roots { root: Some("/real"), aliases: &aliases };
        assert_eq!(resolve("/link/a", Some("/link"), roots, None).key, "a");
        assert_eq!(resolve("/real/a", Some("/link/sub"), roots, None).key, "a");
        assert_eq!(resolve("a", Some("/link/sub"), roots, None).key, "sub/a");
    }

    #[test]
    fn a_home_is_outside_and_a_file_address_is_a_path() {
        assert_eq!(key("~/.bashrc", Some("/repo"), Some("/repo")), ("~/.bashrc".into(), false));
        assert_eq!(key("file:///repo/a", Some("/repo"), Some("/repo")), ("a".into(), true));
    }

    #[test]
    fn climbing_out_is_outside() {
        assert_eq!(key("../../etc/passwd", None, Some("/tmp/x")), ("../etc/passwd".into(), false));
        assert_eq!(key("../etc/passwd", Some("/repo"), Some("/repo")), ("/etc/passwd".into(), false));
        assert_eq!(key("/etc/passwd", Some("/repo"), Some("/repo")), ("/etc/passwd".into(), false));
        assert_eq!(key("/../etc/passwd", Some("/repo"), Some("/repo")), ("/etc/passwd".into(), false));
        assert_eq!(key("/repo2/a", Some("/repo"), Some("/repo")), ("/repo2/a".into(), false));
    }

    #[test]
    fn a_mount_prefix_is_the_root() {
        let roots = Roots { root: Some("/repo"), aliases: &[] };
        for path in ["/workspace/a/../b.txt", "/workspace/../workspace/b.txt"] {
            let place = resolve(path, Some("/repo"), roots, Some("/workspace"));
            assert_eq!(place, Place { key: "b.txt".into(), inside: true });
        }
        assert!(!resolve("/workspacex/f", Some("/repo"), roots, Some("/workspace")).inside);
    }
}
