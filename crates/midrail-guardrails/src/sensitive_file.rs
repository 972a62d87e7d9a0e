//! sensitive-file (safety-002): blocks reading and writing files that contain credentials.

use std::sync::LazyLock;

use midrail_core::FileState;

use crate::prelude::*;
use crate::shared::data::{PROGRAMS, SENSITIVE_FILES};
use crate::shared::file_access::{FileAccess, accessed_files};
use crate::shared::file_paths::{LowercasePath, from_root, is_inside, is_temporary, lowercase};
use crate::shared::flow::available::available;
use crate::shared::letter_pairs::LetterPairs;
use crate::shared::objections::{all, first_verdict};
use crate::shared::own_files::is_created;
use crate::shared::settings::{Pattern, patterns};

pub(crate) const BUILTIN: Builtin = SAFETY
    .builtin::<SensitiveFile>("safety-002", &[EventKind::BeforeTool])
    .aliases(&["sensitive_file_protection"])
    .supports(CALLS);

/// The settings of sensitive-file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SensitiveFile {
    /// Protected files. A pattern without `/` matches in every folder.
    #[serde(default = "protected")]
    pub paths: Vec<Pattern>,
    /// Files that may be read but not written.
    #[serde(default = "read_only")]
    pub read_only: Vec<Pattern>,
    /// Exceptions.
    #[serde(default = "allowed")]
    pub except: Vec<Pattern>,
}

/// The default pack shows the default patterns; a test keeps the two in sync.
impl Default for SensitiveFile {
    fn default() -> Self {
        SensitiveFile { paths: protected(), read_only: read_only(), except: allowed() }
    }
}

fn protected() -> Vec<Pattern> {
    patterns(SENSITIVE_FILES.list("protected"))
}

fn read_only() -> Vec<Pattern> {
    patterns(SENSITIVE_FILES.list("read only"))
}

fn allowed() -> Vec<Pattern> {
    patterns(SENSITIVE_FILES.list("allowed"))
}

impl SensitiveFile {
    /// Whether a file contains credentials, by a name: relative to the project, absolute, or from the home as `~/…`.
    pub fn is_protected(&self, name: &str) -> bool {
        let name = lowercase(name);
        let place = LowercasePath::new(&name);
        self.paths.iter().any(|it| place.fits(&it.0)) && !self.except.iter().any(|it| place.fits(&it.0))
    }

    fn objection<'s>(
        &'s self,
        context: &Context<'_>,
        name: &str,
        access: &FileAccess<'_>,
    ) -> Option<&'s str> {
        let absolute: Vec<String> =
            context.absolute_names(name).iter().map(|name| name.to_lowercase()).collect();
        let is_above = |pattern: &str| {
            let fits = || matches!(context.path_fits_any_case(pattern, name), Ok(Some(true)));
            pattern.starts_with("../") && fits()
        };
        let name = lowercase(name);
        let place = LowercasePath::new(&name);
        let pairs = absolute
            .iter()
            .fold(LetterPairs::of_path(&name), |pairs, name| pairs.and(LetterPairs::of_path(name)));
        // A pattern with `..` has no pairs, so it is never ruled out.
        let may_fit = |pattern: &&Pattern| place.has_wildcard || pairs.contain(pattern.1);
        let fits = |pattern: &&str| {
            let is_absolute = pattern.starts_with('/') || pattern.starts_with("~/");
            place.fits(pattern)
                || (is_absolute && absolute.iter().any(|name| LowercasePath::new(name).fits(pattern)))
                || is_above(pattern)
        };
        // A name without an ending is also that of a folder, whose content is protected.
        let is_folder = |pattern: &str| {
            !pattern.contains(['/', '.', '*', '?', '[', '{'])
                && name.split('/').any(|part| part == pattern.to_lowercase())
        };
        let protects = |pattern: &&str| fits(pattern) || is_folder(pattern);
        let protecting =
            |list: &'s [Pattern]| list.iter().filter(may_fit).map(|it| it.0.as_str()).find(protects);
        let credentials = if access.is_named { None } else { protecting(&self.paths) };
        let found = credentials.or_else(|| access.is_write.then(|| protecting(&self.read_only)).flatten())?;
        // A wildcard may match more than the excepted file.
        let is_free = !place.has_wildcard && self.except.iter().any(|it| fits(&it.0.as_str()));
        (!is_free).then_some(found)
    }
}

impl SensitiveFile {
    /// The verdict on a file in an unknown folder that contains credentials, if the folder is the one where they are.
    fn unknown_folder(&self, context: &Context<'_>, access: &FileAccess<'_>) -> Option<Verdict> {
        let (folder, rest) = access.file.rsplit_once('/')?;
        if !folder.contains(['$', '`'])
            || folder.rsplit('/').next().is_none_or(|last| !last.contains(['$', '`']))
        {
            return None;
        }
        let ends = |known: &&&str| known.strip_suffix(rest).is_some_and(|folder| folder.ends_with('/'));
        let known = SENSITIVE_FILES.list("known names").iter().filter(ends);
        let pattern = known.copied().find_map(|known| self.objection(context, known, access))?;
        let reason = format!("{} is in an unknown folder, and may contain credentials.", access.name());
        let verdict = Verdict::new(Effect::Escalate, reason).advise("Name the folder in the call.");
        Some(verdict.with("path", access.file).with("pattern", pattern))
    }
}

impl SensitiveFile {
    /// The real places of the files with credentials that the call creates or changes, with their states. A file that receives the
    /// content of another one, or of a download, is not the agent's.
    fn written(&self, context: &Context<'_>) -> Result<Vec<(String, FileState)>, Missing> {
        let action = context.action()?;
        let written = action.writes.iter().filter(|path| !path.contains(['$', '`', '*', '?', '{']));
        let mut found = Vec::new();
        for path in written {
            if action.fetched.contains(path) || self.is_copy_of_own(context, path)? == Some(false) {
                continue;
            }
            let access =
                FileAccess { file: path, is_write: true, is_named: false, is_replaced: true, script: None };
            let place = context.real_place(path, None)?;
            let is_near = is_inside(&place.key) || is_temporary(&place.key);
            let protecting = self.objection(context, &place.key, &access).filter(|_| is_near);
            if protecting.is_some_and(|pattern| !self.read_only.iter().any(|it| it.0 == pattern)) {
                found.push((place.key.clone(), context.file(&place)?.clone()));
            }
        }
        Ok(found)
    }

    /// Whether the file of an access is the agent's, or becomes it.
    fn is_own_file(&self, context: &Context<'_>, access: &FileAccess<'_>) -> Result<bool, Missing> {
        Ok(self.is_own(context, access.file)?
            || self.is_new_key(context, access)?
            || self.is_new_copy(context, access)?)
    }

    /// Whether the call creates the file as a copy of the agent's own files.
    fn is_new_copy(&self, context: &Context<'_>, access: &FileAccess<'_>) -> Result<bool, Missing> {
        let is_copy = access.is_write && access.script.is_none();
        if !is_copy || self.is_copy_of_own(context, access.file)? != Some(true) {
            return Ok(false);
        }
        let place = context.real_place(access.file, None)?;
        Ok(*context.file(&place)? == FileState::Absent)
    }

    /// Whether the file that the call copies to a path is the agent's, with all that comes into the same folder. `None`: it copies
    /// none.
    fn is_copy_of_own(&self, context: &Context<'_>, path: &str) -> Result<Option<bool>, Missing> {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let copies = context.action()?.copies.iter();
        let sources: Vec<(&str, bool)> = copies
            .filter(|copy| copy.to == path || path.starts_with(copy.to.trim_end_matches('/')))
            .map(|copy| (copy.from.as_str(), copy.to == path || name(&copy.from) == name(path)))
            .collect();
        let is_named = sources.iter().any(|(_, is_named)| *is_named);
        let own: Vec<bool> = all(sources.iter().map(|(from, is_it)| {
            Ok(self.is_own(context, from)? || (is_named && !is_it && is_created(context, from)?))
        }))?;
        Ok(if own.is_empty() { None } else { Some(own.into_iter().all(|is_own| is_own)) })
    }

    /// Whether a file is the agent's: it created it, and no one else has changed it since.
    fn is_own(&self, context: &Context<'_>, file: &str) -> Result<bool, Missing> {
        let place = context.real_place(file, None)?;
        let Some(content) = created_key(context, &place.key).read(context)? else { return Ok(false) };
        Ok(matches!(context.file(&place)?, FileState::File { checksum } if *checksum == content))
    }

    /// Whether the call creates the file as a new key: `openssl genrsa -out server.key`.
    fn is_new_key(&self, context: &Context<'_>, access: &FileAccess<'_>) -> Result<bool, Missing> {
        let programs = &context.action()?.programs;
        let makes_keys = programs.iter().any(|program| PROGRAMS.has("key generators", program));
        if !makes_keys || !access.is_write || access.script.is_some() {
            return Ok(false);
        }
        let place = context.real_place(access.file, None)?.key;
        let written = self.written(context)?;
        Ok(written.iter().any(|(key, state)| *key == place && *state == FileState::Absent))
    }
}

/// The slice with the checksum of a file that the agent created. Empty: the call that creates it has not ended.
fn created_key(context: &Context<'_>, place: &str) -> Key<String> {
    Key::own(context, &format!("created/{place}"))
}

/// Whether a file contains credentials, by the default patterns.
pub(crate) fn holds_credentials(context: &Context<'_>, file: &str) -> Result<bool, Missing> {
    static DEFAULT: LazyLock<SensitiveFile> = LazyLock::new(SensitiveFile::default);
    let access = FileAccess { file, is_write: false, is_named: false, is_replaced: false, script: None };
    let mut names = context.places(file)?;
    names.extend(from_root(file));
    Ok(names.iter().any(|name| DEFAULT.objection(context, name, &access).is_some()))
}

/// A named file that is replaced (`cp .env.example .env`) counts as written if it exists.
fn resolve_replaced<'a>(context: &Context<'_>, access: &FileAccess<'a>) -> FileAccess<'a> {
    if !(access.is_named && access.is_write && access.is_replaced) {
        return *access;
    }
    let place = context.real_place(access.file, None);
    let is_new = place.is_ok_and(|place| matches!(context.file(&place), Ok(FileState::Absent)));
    FileAccess { is_named: is_new, ..*access }
}

impl Guardrail for SensitiveFile {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.tool.is_none() {
            return Ok(Verdict::allow());
        }
        let files = accessed_files(context)?;
        first_verdict(files.iter().map(|it| {
            let access = resolve_replaced(context, it);
            let mut names = context.places(it.file)?;
            names.extend(from_root(it.file));
            let Some(pattern) = names.iter().find_map(|name| self.objection(context, name, &access)) else {
                return Ok(self.unknown_folder(context, &access));
            };
            if !self.read_only.iter().any(|it| it.0 == pattern)
                && available(context, self.is_own_file(context, &access))?.unwrap_or(false)
            {
                return Ok(None);
            }
            let (reason, advice) = if self.read_only.iter().any(|it| it.0 == pattern) {
                ("is managed by a program and cannot be written directly", "Use that program, such as git.")
            } else {
                (
                    "contains credentials and cannot be accessed",
                    "Use an example file such as .env.example, or refer to the value by its name.",
                )
            };
            let verdict = Verdict::block(format!("{} {reason}.", it.name())).advise(advice);
            Ok(Some(verdict.with("path", it.file).with("pattern", pattern)))
        }))
    }

    /// Records the files with credentials that the agent creates.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if context.event.tool.is_none() || !effect.allows() {
            return Ok(());
        }
        let has_ended = context.event.kind == EventKind::AfterTool;
        // A file with an unknown state does not count as created.
        for (place, state) in available(context, self.written(context))?.unwrap_or_default() {
            let key = created_key(context, &place);
            match state {
                FileState::Absent if !has_ended => key.write(changes, &String::new())?,
                FileState::File { checksum } => match key.read(context)? {
                    Some(_) if has_ended => key.write(changes, &checksum)?,
                    // Someone else wrote it.
                    Some(known) if known != checksum => key.remove(changes),
                    _ => {}
                },
                FileState::Absent | FileState::Special => {}
            }
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::BeforeTool, EventKind::AfterTool]
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Do not access files with credentials, such as .env and private keys.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use serde_json::{Value, json};

    fn effect(tool: &str, args: Value) -> Effect {
        Run::of(SensitiveFile::default()).before(tool, args).effect
    }

    #[test]
    fn credentials_are_protected() {
        for file in [
            ".env",
            "app/.ENV.local",
            "x/../.env",
            "deploy/prod.pem",
            "/home/me/.ssh/id_rsa",
            "~/.aws/credentials",
            "credentials",
            "deploy/credentials",
            "config/credentials.yml",
            "aws_credentials",
            "ops/aws_credentials.csv",
            ".secrets",
            "app/.secrets/token",
            "keys/deploy",
            "keys/prod/signing.bin",
        ] {
            assert_eq!(effect("Read", json!({"file_path": file})), Effect::Block, "{file}");
            assert_eq!(effect("Write", json!({"file_path": file})), Effect::Block, "{file}");
        }
    }

    #[test]
    fn similar_names_are_allowed() {
        for file in [
            ".env.example",
            "src/environment.rs",
            "id_rsa.pub",
            "docs/keys.md",
            ".github/x.yml",
            "monkey.rs",
            "src/credentials/mod.rs",
            "src/credentials.rs",
            "config/credentials.yml.enc",
            "credentials.example",
            "src/keys/bindings.json",
            "keys/parse.rs",
            "keys/id.pub",
            "docs/secrets.md",
        ] {
            assert_eq!(effect("Write", json!({"file_path": file})), Effect::Allow, "{file}");
        }
    }

    #[test]
    fn git_files_are_read_only() {
        assert_eq!(effect("Read", json!({"file_path": ".git/config"})), Effect::Allow);
        assert_eq!(effect("Write", json!({"file_path": ".git/hooks/pre-commit"})), Effect::Block);
        assert_eq!(effect("Write", json!({"file_path": ".gitignore"})), Effect::Allow);
    }
}
