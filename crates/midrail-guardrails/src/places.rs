//! Where the files of an action lie: in the sandbox, in a temporary folder, or among those that a list names.

use midrail_core::glob;

/// Folders whose content nobody misses.
pub(crate) const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm"];

/// Places that are no files of anyone: writing to them changes nothing, reading from them tells nothing.
const NOBODYS: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
const STREAMS: &[&str] = &["/dev/fd/", "/dev/std", "/proc/self/fd/"];

/// Whether a place, as `Context::names_of` tells it, lies in the sandbox.
pub(crate) fn is_inside(place: &str) -> bool {
    !place.starts_with('/') && place != ".." && !place.starts_with("../") && !place.starts_with('~')
}

/// Whether a place lies below a folder, or is it.
pub(crate) fn is_below(folder: &str, place: &str) -> bool {
    if folder.is_empty() {
        // The root holds what is named from it, and nothing else.
        return !place.starts_with(['/', '~']) && !place.starts_with("../");
    }
    let folder = folder.trim_end_matches('/');
    place.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a place lies in a temporary folder, and is not that folder itself.
pub(crate) fn is_temporary(place: &str) -> bool {
    TEMPORARY.iter().any(|folder| is_below(folder, place) && place.len() > folder.len() + 1)
}

/// Whether a place is a device or a stream that holds nobody's data.
pub(crate) fn is_nobodys(place: &str) -> bool {
    NOBODYS.contains(&place) || STREAMS.iter().any(|prefix| place.starts_with(prefix))
}

/// Whether a place fits a pattern. A pattern without `/` speaks of files of that name in every folder, one that begins
/// with `~/` of the home folder however it is spelt. On some disks `.ENV` is `.env`, so that case does not count.
pub(crate) fn fits(pattern: &str, place: &str) -> bool {
    let (pattern, place) = (pattern.to_lowercase(), place.to_lowercase());
    let name = place.rsplit('/').next().unwrap_or(&place);
    if !pattern.contains('/') {
        return fits_name(&pattern, name);
    }
    let pattern = match pattern.strip_prefix("~/") {
        Some(below) if !place.starts_with("~/") => format!("**/{below}"),
        _ => pattern,
    };
    // A folder goes with all that is in it.
    let folder = pattern.strip_suffix("/**").unwrap_or(&pattern);
    if glob::path_matches(&pattern, &place) || glob::path_matches(folder, &place) {
        return true;
    }
    // A wildcard of a command line in the last part: `.ssh/id_*`.
    let (Some((folder, last)), true) = (pattern.rsplit_once('/'), has_wildcard(name)) else { return false };
    let folder_fits = match place.rsplit_once('/') {
        Some((above, _)) => glob::path_matches(folder, above),
        None => folder == "**",
    };
    folder_fits && could_be(name, last)
}

/// Whether a place that is no wildcard fits a pattern.
pub(crate) fn is_exactly(pattern: &str, place: &str) -> bool {
    !has_wildcard(place) && fits(pattern, place)
}

/// The same for what must not be hit at all: a wildcard counts where two of its characters are spelt out.
pub(crate) fn may_hit(pattern: &str, place: &str) -> bool {
    let name = place.rsplit('/').next().unwrap_or(place).to_lowercase();
    let last = pattern.trim_end_matches("/**").rsplit('/').next().unwrap_or(pattern);
    let spelt = name.chars().filter(|c| !matches!(c, '*' | '?' | '[' | ']')).count();
    fits(pattern, place)
        || (has_wildcard(&name)
            && spelt >= 2
            && glob::check(&name).is_ok()
            && glob::path_matches(&name, last))
        || folder_may_hit(pattern, place)
}

/// Whether a folder with wildcards on the way to a place may be the folder that a pattern protects: `.mid*/x`.
fn folder_may_hit(pattern: &str, place: &str) -> bool {
    let Some(folder) = pattern.strip_suffix("/**").map(|folder| folder.rsplit('/').next().unwrap_or(folder))
    else {
        return false;
    };
    let aims = |part: &str| {
        let part = part.to_lowercase();
        let spelt = part.chars().filter(|c| !matches!(c, '*' | '?' | '[' | ']')).count();
        has_wildcard(&part) && spelt >= 2 && glob::check(&part).is_ok() && glob::path_matches(&part, folder)
    };
    let mut parts = place.split('/').rev().skip(1);
    !has_wildcard(folder) && parts.any(aims)
}

fn fits_name(pattern: &str, name: &str) -> bool {
    glob::path_matches(pattern, name) || (has_wildcard(name) && could_be(name, pattern))
}

fn has_wildcard(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Whether a wildcard of a command line is aimed at files that a pattern names: it fits an example of them, and at
/// least half of that example is spelt out. `.e*` and `id_?sa` are; `*` and `*.json` are not.
fn could_be(wildcard: &str, pattern: &str) -> bool {
    let example: String = pattern.chars().map(|c| if matches!(c, '*' | '?') { 'x' } else { c }).collect();
    let spelt = wildcard.chars().filter(|c| !matches!(c, '*' | '?' | '[' | ']')).count();
    spelt * 2 >= example.chars().count()
        && glob::check(wildcard).is_ok()
        && glob::path_matches(wildcard, &example)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_speaks_of_every_folder() {
        assert!(
            fits(".env", "a/b/.ENV") && fits("*.pem", "/etc/x.pem") && fits("~/.ssh/**", "/home/me/.ssh/id")
        );
        assert!(!fits(".env", ".env.example") && !fits(".env", "environment") && !fits("*.pem", "pem"));
    }

    #[test]
    fn wildcards_of_commands_are_aimed_or_not() {
        assert!(
            fits(".env", ".e*")
                && fits(".env", "app/.en?")
                && fits("id_rsa", "id_*")
                && fits("*.pem", "*.pem")
        );
        assert!(!fits(".env", "*") && !fits("secrets.json", "*.json") && !fits(".env", ".*"));
        assert!(fits("~/.ssh/id_*", "/home/me/.ssh/id_*"));
    }

    #[test]
    fn temporary_folders_end_where_they_end() {
        assert!(
            is_temporary("/tmp/x")
                && !is_temporary("/tmp")
                && !is_temporary("/tmpx/y")
                && !is_temporary("/tmp/")
        );
    }
}
