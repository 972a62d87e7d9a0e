//! One file, one name: paths as callers spell them become places relative to the root. Lexical only; symbolic
//! links are resolved by the file probe, which knows the disk.

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Relative to the root where it lies inside, absolute (or starting with `..`) where it does not.
    pub key: String,
    /// Whether it lies inside the root.
    pub inside: bool,
}

/// Resolves a path as a caller spelt it.
///
/// - `mount` is a prefix under which the agent sees the root (`/workspace`).
/// - An absolute path under the root is the same as its relative spelling.
/// - Where a host tells no `cwd`, the root is the whole world that the agent sees, so `/a` and `a` are one file.
/// - Without a root, the `cwd` is the root.
pub fn place(path: &str, cwd: Option<&str>, root: Option<&str>, mount: Option<&str>) -> Place {
    let base = root.or(cwd).map(absolute_segments);
    let given = segments(path);

    if let Some(rest) = mount.and_then(|mount| strip(&given, &segments(mount), path.starts_with('/'))) {
        return relative_to_root(&[], rest);
    }
    if path.starts_with('/') {
        let whole = clamped(&given);
        return match &base {
            Some(base) if whole.starts_with(base) => inside(whole.get(base.len()..).unwrap_or_default()),
            _ if cwd.is_none() => relative_to_root(&[], &given),
            _ => Place { key: format!("/{}", whole.join("/")), inside: false },
        };
    }
    match (&base, cwd.map(absolute_segments)) {
        (Some(base), Some(cwd)) if cwd.starts_with(base) => {
            let below = cwd.get(base.len()..).unwrap_or_default();
            match normalise(below, &given) {
                Some(whole) => inside(&whole),
                None => outside(&cwd, &given),
            }
        }
        (Some(_), Some(cwd)) => outside(&cwd, &given),
        _ => relative_to_root(&[], &given),
    }
}

fn inside(segments: &[&str]) -> Place {
    Place { key: segments.join("/"), inside: true }
}

fn outside(cwd: &[&str], given: &[&str]) -> Place {
    let whole: Vec<&str> = cwd.iter().chain(given).copied().collect();
    Place { key: format!("/{}", clamped(&whole).join("/")), inside: false }
}

fn relative_to_root(below: &[&str], given: &[&str]) -> Place {
    match normalise(below, given) {
        Some(whole) => inside(&whole),
        None => Place { key: format!("../{}", clamped(given).join("/")), inside: false },
    }
}

/// The segments of `given` on top of `base`, with `..` resolved. `None`: they climb above it.
fn normalise<'a>(base: &[&'a str], given: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut whole = base.to_vec();
    for segment in given {
        match *segment {
            ".." => {
                whole.pop()?;
            }
            name => whole.push(name),
        }
    }
    Some(whole)
}

/// The segments with `..` resolved, where climbing above the top stays at the top, as in `/../etc`.
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

fn strip<'s, 'p>(given: &'s [&'p str], mount: &[&str], is_absolute: bool) -> Option<&'s [&'p str]> {
    (is_absolute && given.starts_with(mount)).then(|| given.get(mount.len()..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(path: &str, cwd: Option<&str>, root: Option<&str>) -> (String, bool) {
        let place = place(path, cwd, root, None);
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
    fn without_a_cwd_the_root_is_the_whole_world() {
        assert_eq!(key("/a.txt", None, Some("/tmp/x")), ("a.txt".into(), true));
        assert_eq!(key("a.txt", None, None), ("a.txt".into(), true));
        assert_eq!(key("/tmp/x/a.txt", None, Some("/tmp/x")), ("a.txt".into(), true));
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
        let place = place("/workspace/a/../b.txt", Some("/repo"), Some("/repo"), Some("/workspace"));
        assert_eq!(place, Place { key: "b.txt".into(), inside: true });
    }
}
