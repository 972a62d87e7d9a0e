//! Files that must have changed since the session began, and texts that files must contain.

use std::collections::BTreeMap;

use midrail_core::path::Place;
use midrail_core::{FileState, StopFinding, WantedText};

use super::evaluation::{Evaluation, Moment, State, named};
use super::settings::Completion;
use crate::prelude::*;
use crate::shared::settings::Pattern;
use crate::shared::text::shorten;

/// The kinds of event whose first one is the beginning of a session. A call that already ran may have changed the files.
pub(super) const STARTS: &[EventKind] = &[
    EventKind::SessionStart,
    EventKind::BeforeModel,
    EventKind::BeforeTool,
    EventKind::BeforeHandoff,
    EventKind::BeforeStop,
];

/// The most bytes of a wanted text that are shown.
const SHOWN: usize = 80;

/// The content of the files of one path or pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Content {
    /// There is no such file.
    Absent,
    /// There is a folder or another special file.
    Special,
    /// A digest of the content.
    Digest(String),
    /// It could not be read, for this reason.
    Unknown(String),
}

/// The files of one path or pattern.
enum Watched {
    /// One file, by its path.
    File(String),
    /// All files that match a pattern.
    Files(String),
}

impl Watched {
    fn new(pattern: &Pattern) -> Self {
        let path = pattern.0.strip_prefix("./").unwrap_or(&pattern.0);
        if path.ends_with('/') {
            Watched::Files(format!("{path}**"))
        } else if midrail_core::glob::is_pattern(path) {
            Watched::Files(path.to_owned())
        } else {
            Watched::File(path.to_owned())
        }
    }

    fn content(&self, evaluation: &Evaluation<'_, '_>) -> Result<Content, Missing> {
        let context = evaluation.context;
        Ok(match self {
            Watched::File(path) => match context.file(&evaluation.place(path))? {
                FileState::Absent => Content::Absent,
                FileState::Special => Content::Special,
                FileState::File { checksum } => Content::Digest(checksum.clone()),
            },
            Watched::Files(pattern) => match context.contents_digest(std::slice::from_ref(pattern))? {
                "" => Content::Absent,
                digest => Content::Digest(digest.to_owned()),
            },
        })
    }
}

/// The content of files, by their path or pattern in the settings.
type Contents = BTreeMap<String, Content>;

/// The content of files compared with that at the beginning of the session.
enum Comparison {
    Same(Content),
    Differs(Content),
    /// It is not known, or not compared now.
    Unknown(State),
}

/// The slice with the content of files at the beginning of the session.
fn start_key(context: &Context<'_>) -> Key<Contents> {
    Key::own(context, "start")
}

impl Completion {
    /// Whether any content is compared with that at the beginning of the session.
    pub(super) fn compares_content(&self) -> bool {
        self.maps().iter().any(|(_, checks)| checks.changed.is_some() || checks.unchanged.is_some())
    }

    /// The files that are compared, without those of the maps below.
    pub(super) fn compared(&self) -> impl Iterator<Item = &Pattern> {
        [&self.changed, &self.unchanged].into_iter().flatten().flat_map(|patterns| patterns.iter())
    }
}

impl Evaluation<'_, '_> {
    /// Requests the facts about the content of files of a map.
    pub(super) fn prefetch_content(&self, checks: &Completion) {
        for watched in checks.compared().map(Watched::new) {
            let _ = start_key(self.context).exists(self.context);
            if self.moment != Moment::Call || matches!(watched, Watched::File(_)) {
                let _ = watched.content(self);
            }
        }
        for (file, _) in checks.wanted_texts() {
            let _ = self.context.file(&self.place(file));
        }
    }

    /// Files that must differ from those at the beginning of the session.
    pub(super) fn changed(&self, files: &[Pattern]) -> Result<State, Fault> {
        let start = start_key(self.context).read(self.context)?.unwrap_or_default();
        let mut is_known = true;
        let mut unchanged: Vec<&str> = Vec::new();
        for pattern in files {
            let name = pattern.0.as_str();
            let lacks = |why: &str| Ok(State::lacks(format!("`{name}` must change, but {why}.")));
            match self.compare(&start, pattern)? {
                Comparison::Unknown(State::Unknown) => is_known = false,
                Comparison::Unknown(state) => return Ok(state),
                Comparison::Same(Content::Absent) | Comparison::Differs(Content::Absent) => {
                    return match Watched::new(pattern) {
                        Watched::File(_) => lacks("it does not exist"),
                        Watched::Files(_) => lacks("no file matches"),
                    };
                }
                Comparison::Same(Content::Special) | Comparison::Differs(Content::Special) => {
                    return lacks("it is not a file");
                }
                Comparison::Same(_) => unchanged.push(name),
                Comparison::Differs(_) => {}
            }
        }
        let what = match (unchanged.len(), is_known) {
            (0, true) => return Ok(State::Complete),
            (0, false) => return Ok(State::Unknown),
            (1, _) => format!("`{}` has not changed since the session began.", named(&unchanged)),
            (count, _) => {
                format!("{count} files have not changed since the session began: {}", named(&unchanged))
            }
        };
        Ok(State::Incomplete(what, StopFinding::new(format!("unchanged: {}", unchanged.join("\n")))))
    }

    /// Files that must be as at the beginning of the session.
    pub(super) fn unchanged(&self, files: &[Pattern]) -> Result<State, Fault> {
        let start = start_key(self.context).read(self.context)?.unwrap_or_default();
        let mut whole = State::Complete;
        for pattern in files {
            match self.compare(&start, pattern)? {
                Comparison::Same(_) => {}
                Comparison::Unknown(State::Unknown) => whole = State::Unknown,
                Comparison::Unknown(state) => return Ok(state),
                Comparison::Differs(_) => {
                    let name = &pattern.0;
                    return Ok(State::lacks(format!("`{name}` must be as it was when the session began.")));
                }
            }
        }
        Ok(whole)
    }

    /// Compares the files of a pattern with those at the beginning of the session.
    fn compare(&self, start: &Contents, pattern: &Pattern) -> Result<Comparison, Fault> {
        let (name, watched) = (pattern.0.as_str(), Watched::new(pattern));
        // The content of many files is not read after every call.
        if self.moment == Moment::Call && matches!(watched, Watched::Files(_)) {
            return Ok(Comparison::Unknown(State::Unknown));
        }
        let why = match (start.get(name), self.available(watched.content(self))?) {
            (_, Err(Missing(why))) => why,
            (None | Some(Content::Unknown(_)), _) if self.moment == Moment::Call => {
                return Ok(Comparison::Unknown(State::Unknown));
            }
            (Some(Content::Unknown(why)), _) => {
                format!("its content at the beginning of the session is not known ({why})")
            }
            (None, _) => {
                "no earlier event of this session was seen, so changes count from this stop on".to_owned()
            }
            (Some(start), Ok(now)) if *start == now => return Ok(Comparison::Same(now)),
            (Some(_), Ok(now)) => return Ok(Comparison::Differs(now)),
        };
        Ok(Comparison::Unknown(State::lacks(format!("Whether `{name}` changed is unknown: {why}."))))
    }

    /// Texts that a file must contain, and patterns that one of its lines must match.
    pub(super) fn texts(&self, checks: &Completion) -> Result<State, Fault> {
        let mut missing = Vec::new();
        for (file, wanted) in checks.wanted_texts() {
            let place = self.place(file);
            match self.available(self.has_text(&place, &wanted))? {
                Ok(None) => {}
                Ok(Some(why)) => missing.push(format!("`{file}` {why}.")),
                Err(why) => {
                    missing.push(format!("Whether `{file}` {} is unknown: {why}.", requirement(&wanted)));
                }
            }
        }
        let more = missing.len().saturating_sub(super::evaluation::NAMED);
        missing.truncate(super::evaluation::NAMED);
        if more > 0 {
            missing.push(format!("{more} more texts are missing."));
        }
        Ok(if missing.is_empty() { State::Complete } else { State::lacks(missing.join(" ")) })
    }

    /// What is wrong with a file. `None`: it has the text.
    fn has_text(&self, place: &Place, wanted: &WantedText) -> Result<Option<String>, Missing> {
        Ok(match self.context.file(place)? {
            FileState::Absent => {
                Some(format!("does not exist, and it must be a file that {}", requirement(wanted)))
            }
            FileState::Special => Some(format!("is not a file that {}", requirement(wanted))),
            FileState::File { .. } => match (self.context.count_texts(place, wanted)?, wanted) {
                (1.., _) => None,
                (0, WantedText::Contains(text)) => {
                    Some(format!("does not contain `{}`", shorten(text, SHOWN)))
                }
                (0, WantedText::Matches(text)) => {
                    Some(format!("has no line that matches `{}`", shorten(text, SHOWN)))
                }
            },
        })
    }
}

/// What is required of a file, after its name.
pub(super) fn requirement(wanted: &WantedText) -> String {
    match wanted {
        WantedText::Contains(text) => format!("contains `{}`", shorten(text, SHOWN)),
        WantedText::Matches(pattern) => format!("has a line `{}`", shorten(pattern, SHOWN)),
    }
}

/// Stores the content of the files at the first event of the session. What is unknown until a stop counts from there.
pub(super) fn observe(evaluation: &Evaluation<'_, '_>, changes: &mut Changes) -> Result<(), Fault> {
    let (context, event) = (evaluation.context, evaluation.context.event);
    let key = start_key(context);
    let before = key.read(context)?.unwrap_or_default();
    let mut after = if event.is_new_run() { BTreeMap::new() } else { before.clone() };
    let mut pending = None;
    let maps = evaluation.whole.maps();
    for pattern in maps.iter().flat_map(|(_, checks)| checks.compared()) {
        let is_known = match after.get(&pattern.0) {
            None => false,
            Some(Content::Unknown(_)) => event.kind != EventKind::BeforeStop,
            Some(_) => true,
        };
        if is_known {
            continue;
        }
        let content = match Watched::new(pattern).content(evaluation) {
            Ok(content) => content,
            Err(Missing(why)) if !context.has_pending_needs() => Content::Unknown(why),
            Err(missing) => {
                pending = Some(missing);
                continue;
            }
        };
        after.insert(pattern.0.clone(), content);
    }
    if let Some(missing) = pending {
        return Err(missing.into());
    }
    // A cleared session forgets what it does not store anew.
    if after != before || event.is_new_run() {
        key.write(changes, &after)?;
    }
    Ok(())
}
