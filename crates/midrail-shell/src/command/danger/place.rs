//! Where a target is, by its spelling alone, and how bad a loss is there. The file system is not read.

use midrail_core::Severity;

use crate::command::invocation::{Arg, Folder, TEMPORARY_FOLDER, below_unknown, variable_folder};
use crate::tables::{LOSSES, Loss, Place};
use crate::words::places::{
    CACHES, CERTAIN_SYSTEM, CERTIFICATES, HISTORY, NOT_SYSTEM, OWN, PERSONAL, PUBLIC_ENDINGS, PUBLIC_NAMES,
    REBUILT, REGENERATED, SECRET, SECRET_ENDINGS, SECRET_NAMES, SINKS, STARTUP, SYSTEM, SYSTEM_CACHES,
    SYSTEM_ROOTS, TEMPORARY, TRASH,
};

/// A target and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The path, relative to the folder that the command line starts in.
    pub(super) path: String,
    /// Where it lies.
    pub(super) place: Place,
}

/// How bad a loss is at a place. `None`: it does not matter.
pub(super) fn severity(loss: Loss, place: Place) -> Option<Severity> {
    let row = LOSSES.iter().find(|row| row.kind == loss)?;
    let severities =
        [(row.critical, Severity::Critical), (row.high, Severity::High), (row.medium, Severity::Medium)];
    severities.into_iter().find(|(places, _)| places.contains(&place)).map(|(_, severity)| severity)
}

/// Whether a loss at a place is everyday work.
pub(super) fn is_harmless(place: Place) -> bool {
    matches!(place, Place::Inside | Place::Temporary | Place::Sink)
}

/// Finds the place of a word that names a file.
pub(super) fn locate(arg: &Arg, folder: &Folder, is_remote: bool) -> Target {
    let text = arg.text.as_str();
    let known = match arg.unknown.first() {
        Some(range) if range.start == 0 => {
            let (name, rest) = text.split_at_checked(range.end).unwrap_or((text, ""));
            let is_all = is_bare(rest) && !rest.is_empty() && !name.contains("mktemp");
            match variable_folder(name) {
                Some(TEMPORARY_FOLDER) if is_all => return unknown(text, name, rest),
                Some(folder) => format!("{folder}{rest}"),
                None => return unknown(text, name, rest),
            }
        }
        Some(_) => filled(arg, "variable"),
        None => text.to_owned(),
    };
    let resolved = resolve(&known, folder, arg.is_glob);
    let mut place = resolved.place(is_remote);
    if arg.unknown.first().is_some_and(|range| range.start > 0) {
        // What is not known may well be empty.
        place = match resolve(&filled(arg, ""), folder, true).place(is_remote) {
            Place::Root => Place::UnknownRoot,
            Place::Start => Place::Unknown,
            _ => place,
        };
    }
    let path = if arg.is_known() { resolved.spelling(folder, text) } else { text.to_owned() };
    Target { path, place }
}

/// A word with something in the place of each part that is not known.
fn filled(arg: &Arg, by: &str) -> String {
    arg.pieces().map(|(text, is_known)| if is_known { text } else { by }).collect()
}

/// The place of all that is in a folder: below a temporary folder, where the folder itself would not be.
pub(super) fn locate_content(arg: &Arg, folder: &Folder, is_remote: bool) -> Target {
    let target = locate(arg, folder, is_remote);
    if target.place == Place::Unknown {
        return target;
    }
    let mut all = arg.clone();
    all.text.push_str("/*");
    all.is_glob = true;
    Target { place: locate(&all, folder, is_remote).place, ..target }
}

/// The place that something is put at: a folder that many share is not replaced by what is put into it.
pub(super) fn destination(arg: &Arg, folder: &Folder, is_remote: bool) -> Target {
    let target = locate(arg, folder, is_remote);
    if target.place != Place::System {
        return target;
    }
    let mut below = arg.clone();
    below.text.push_str("/file");
    Target { place: locate(&below, folder, is_remote).place, ..target }
}

/// A path that starts with something that is not known.
fn unknown(text: &str, name: &str, rest: &str) -> Target {
    let is_guarded =
        name.contains(":?") || name.contains(":-") || name.contains(":=") || name.starts_with("$(");
    let below = rest.trim_start_matches('/');
    let is_root = rest.starts_with('/') && !is_guarded && {
        let folder = Folder::lost();
        let resolved = resolve(rest, &folder, true);
        matches!(resolved.place(false), Place::Root | Place::System | Place::Home)
    };
    let last = below.rsplit('/').next().unwrap_or(below);
    let place = match (is_root, REGENERATED.contains(last) || REBUILT.contains(last)) {
        (true, _) => Place::UnknownRoot,
        (false, true) => Place::Temporary,
        (false, false) => Place::Unknown,
    };
    Target { path: text.to_owned(), place }
}

/// Whether a component means everything in its folder: `*`, `.*`, `?*`, `.[!.]*`.
fn is_all(component: &str) -> bool {
    component.contains('*')
        && component
            .chars()
            .all(|letter| matches!(letter, '*' | '?' | '.' | '[' | ']' | '!' | '^' | '-' | '{' | '}' | ','))
}

/// Whether nothing but slashes and stars follows.
fn is_bare(rest: &str) -> bool {
    rest.split('/').all(|component| component.is_empty() || component == "." || is_all(component))
}

/// Where the components of a path start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Start,
    Home,
    Root,
    Drive,
    Unknown,
    /// A folder after a loop, which may as well be the root.
    Lost,
}

#[derive(Debug)]
struct Resolved<'a> {
    base: Base,
    components: Vec<&'a str>,
    /// More `..` than there were components.
    is_above: bool,
    /// All that is in the folder, not the folder.
    is_content: bool,
}

fn resolve<'a>(text: &'a str, folder: &'a Folder, is_glob: bool) -> Resolved<'a> {
    let mut resolved =
        Resolved { base: Base::Start, components: Vec::new(), is_above: false, is_content: false };
    let is_windows = text.as_bytes().get(1) == Some(&b':')
        && text.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_absolute = text.starts_with(['/', '~']) || is_windows;
    match folder {
        _ if is_absolute => {}
        Folder::Known(path) => resolved.push(path),
        Folder::Unknown(path) => {
            resolved.base = if folder.is_lost() { Base::Lost } else { Base::Unknown };
            resolved.push(path.split_once('/').map_or("", |(_, below)| below));
        }
    }
    resolved.push(text);
    if is_glob {
        while resolved.components.last().is_some_and(|last| is_all(last)) {
            resolved.components.pop();
            resolved.is_content = true;
        }
    }
    resolved
}

impl<'a> Resolved<'a> {
    fn push(&mut self, text: &'a str) {
        let mut rest = text;
        if let Some(path) = text.strip_prefix('~') {
            self.base = Base::Home;
            // `~name` is a home as well.
            rest = path.find('/').and_then(|slash| path.get(slash..)).unwrap_or("");
        } else if text.starts_with('/') {
            self.base = Base::Root;
        } else if text.as_bytes().get(1) == Some(&b':')
            && text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        {
            self.base = Base::Drive;
            rest = text.get(2..).unwrap_or("");
        }
        let separators: &[char] = if self.base == Base::Drive { &['/', '\\'] } else { &['/'] };
        for component in rest.split(separators) {
            match component {
                "" | "." => {}
                ".." if self.components.pop().is_some() => {}
                ".." => self.is_above |= matches!(self.base, Base::Start | Base::Home),
                _ => self.components.push(component),
            }
        }
    }

    fn place(&self, is_remote: bool) -> Place {
        let components = self.components.as_slice();
        let place = match self.base {
            _ if self.is_above => Place::Above,
            Base::Start => start_place(components),
            Base::Home => home_place(components),
            Base::Root => root_place(components, self.is_content),
            Base::Drive => drive_place(components),
            Base::Unknown => unknown_place(components),
            Base::Lost => match components.last() {
                Some(last) if REBUILT.contains(last) => Place::Rebuilt,
                _ => Place::UnknownRoot,
            },
        };
        let is_ours = matches!(
            place,
            Place::Inside
                | Place::Temporary
                | Place::Start
                | Place::Repository
                | Place::Own
                | Place::Above
                | Place::BelowHome
                | Place::Elsewhere
                | Place::Regenerated
                | Place::Rebuilt
                | Place::Startup
                | Place::Personal
        );
        if is_remote && is_ours { Place::Remote } else { place }
    }

    /// The path as seen from the start folder.
    fn spelling(&self, folder: &Folder, text: &str) -> String {
        match folder {
            Folder::Known(path) if !path.is_empty() && self.base == Base::Start && !self.is_above => {
                let mut spelt = self.components.join("/");
                if self.is_content {
                    spelt.push_str(if spelt.is_empty() { "*" } else { "/*" });
                } else if spelt.is_empty() {
                    spelt.push('.');
                }
                spelt
            }
            Folder::Known(path) if !path.is_empty() && !text.starts_with(['/', '~']) => {
                format!("{}/{text}", path.trim_end_matches('/'))
            }
            Folder::Unknown(folder) if matches!(self.base, Base::Unknown | Base::Lost) => {
                below_unknown(folder, text)
            }
            Folder::Known(_) | Folder::Unknown(_) => text.to_owned(),
        }
    }
}

fn start_place(components: &[&str]) -> Place {
    match components {
        [] => Place::Start,
        [".midrail", ..] => Place::Own,
        [.., last] if last.ends_with(".lock") => Place::Inside,
        components if components.contains(&".git") => Place::Repository,
        _ => Place::Inside,
    }
}

/// The place below a folder that a variable names: ordinary work, unless the path would be one of the system or of a home.
fn unknown_place(components: &[&str]) -> Place {
    let is_system = is_below(components, CERTAIN_SYSTEM)
        || matches!(home_place(components), Place::Own | Place::Secret | Place::Startup | Place::History);
    match components.last() {
        Some(_) if is_system => Place::UnknownSystem,
        Some(last) if REBUILT.contains(last) || REGENERATED.contains(last) => Place::Temporary,
        _ => Place::Unknown,
    }
}

fn home_place(components: &[&str]) -> Place {
    let Some(last) = components.last() else { return Place::Home };
    let folders =
        [(OWN, Place::Own), (CACHES, Place::Rebuilt), (TRASH, Place::Regenerated), (HISTORY, Place::History)];
    if let Some((_, place)) = folders.into_iter().find(|(folders, _)| is_below(components, folders)) {
        place
    } else if is_below(components, SECRET) {
        match *last {
            "config" => Place::Startup,
            "known_hosts" => Place::BelowHome,
            public if public.ends_with(".pub") => Place::BelowHome,
            _ => Place::Secret,
        }
    } else if is_below(components, STARTUP) {
        Place::Startup
    } else if REBUILT.contains(last) && components.len() > 1 {
        Place::Rebuilt
    } else if REGENERATED.contains(last) && components.len() > 1 {
        Place::Regenerated
    } else if is_below(components, PERSONAL) {
        Place::Personal
    } else {
        Place::BelowHome
    }
}

fn root_place(components: &[&str], is_content: bool) -> Place {
    let components = match components {
        ["private", rest @ ..] if matches!(rest.first(), Some(&"tmp" | &"var" | &"etc")) => rest,
        all => all,
    };
    let above = components.split_last().map_or(components, |(_, above)| above);
    match components {
        [] => Place::Root,
        ["dev", "shm" | "fd", _, ..] => Place::Temporary,
        ["dev", name] if SINKS.contains(name) || name.starts_with("tty") => Place::Sink,
        ["dev", "pts", ..] => Place::Sink,
        ["dev", ..] => Place::Device,
        ["home" | "Users"] | ["root"] => Place::Home,
        ["home" | "Users", _] => Place::Home,
        ["home" | "Users", _, rest @ ..] => home_place(rest),
        ["root", rest @ ..] => home_place(rest),
        _ if is_temporary(components, is_content) => Place::Temporary,
        _ if is_exactly(components, SYSTEM_ROOTS) => Place::System,
        _ if is_below(components, SYSTEM_CACHES) => Place::Rebuilt,
        _ if is_below(components, NOT_SYSTEM) => Place::Elsewhere,
        _ if is_below(components, SYSTEM) => Place::System,
        [.., last] if REBUILT.contains(last) && components.len() > 1 && !is_exactly(above, SYSTEM_ROOTS) => {
            Place::Rebuilt
        }
        [.., last] if (REBUILT.contains(last) || REGENERATED.contains(last)) && components.len() > 1 => {
            Place::Regenerated
        }
        _ => Place::Elsewhere,
    }
}

fn drive_place(components: &[&str]) -> Place {
    match components {
        [] => Place::Root,
        [first] if first.eq_ignore_ascii_case("users") => Place::Home,
        [first, _] if first.eq_ignore_ascii_case("users") => Place::Home,
        [first, _, rest @ ..] if first.eq_ignore_ascii_case("users") => home_place(rest),
        [first, ..]
            if first.eq_ignore_ascii_case("windows") || first.eq_ignore_ascii_case("program files") =>
        {
            Place::System
        }
        _ => Place::Elsewhere,
    }
}

fn is_temporary(components: &[&str], is_content: bool) -> bool {
    is_below(components, TEMPORARY) && (is_content || !is_exactly(components, TEMPORARY))
}

fn is_exactly(components: &[&str], folders: &[&str]) -> bool {
    folders.iter().any(|folder| folder.split('/').eq(components.iter().copied()))
}

fn is_below(components: &[&str], folders: &[&str]) -> bool {
    let start = |length: usize| components.iter().copied().take(length);
    folders.iter().any(|folder| folder.split('/').eq(start(folder.split('/').count())))
}

/// How bad it is to write to a target. A key that is added to a login gives access at any later time.
pub(super) fn write_severity(target: &Target) -> Option<Severity> {
    let severity = severity(Loss::Write, target.place);
    let gives_access = target.place == Place::Secret && target.path.contains("authorized_keys");
    if gives_access { severity.max(Some(Severity::High)) } else { severity }
}

/// Whether a path names keys or passwords, by its place or by its name.
pub(super) fn is_secret(target: &Target) -> bool {
    let name = target.path.rsplit('/').next().unwrap_or_default();
    !PUBLIC_ENDINGS.iter().any(|ending| name.ends_with(ending))
        && !PUBLIC_NAMES.contains(name)
        && !is_certificate(name)
        && (target.place == Place::Secret
            || SECRET_NAMES.contains(name)
            || name.starts_with(".env.")
            || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending)))
}

/// Whether a file holds a certificate or a public key by its name: `server-cert.pem`, `fullchain.pem`.
fn is_certificate(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".pem") else { return false };
    let last = stem.rsplit(['-', '_', '.']).next().unwrap_or(stem);
    CERTIFICATES.contains(last.trim_end_matches(|letter: char| letter.is_ascii_digit()))
}
