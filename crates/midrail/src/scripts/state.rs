//! The variables of a realm, against those that the session keeps. They are kept as text: JSON of ours has its keys in order,
//! and that of a script in the order that it gave them.

use rquickjs::{Function, Object, Result};

/// What a realm's variables are known to be.
enum Known {
    /// As the script begins.
    Initial,
    /// Those of this text.
    Kept(String),
    /// A call failed, and may have changed anything.
    Unsure,
}

/// The text where no variable has changed.
const INITIAL: &str = "{}";

/// The variables of one realm.
pub(super) struct State<'js> {
    capture: Function<'js>,
    restore: Function<'js>,
    /// The variables as they were last taken, as far as they are not as the script begins.
    text: String,
    known: Known,
}

impl<'js> State<'js> {
    /// The variables of a script that was just loaded.
    pub(super) fn new(prelude: &Object<'js>) -> Result<Self> {
        prelude.get::<_, Function<'js>>("begin")?.call::<_, ()>(())?;
        Ok(State {
            capture: prelude.get("capture")?,
            restore: prelude.get("restore")?,
            text: INITIAL.to_owned(),
            known: Known::Initial,
        })
    }

    /// Restores the variables of the session.
    pub(super) fn prepare(&mut self, wanted: Option<&str>) -> Result<()> {
        let is_so = match (&self.known, wanted) {
            (Known::Initial, None) => true,
            (Known::Kept(known), Some(wanted)) => known == wanted,
            _ => false,
        };
        if is_so {
            return Ok(());
        }
        self.known = Known::Unsure;
        self.restore.call::<_, ()>((wanted.unwrap_or(INITIAL),))?;
        self.text = self.capture.call(())?;
        self.known = wanted.map_or(Known::Initial, |wanted| Known::Kept(wanted.to_owned()));
        Ok(())
    }

    /// The variables now, where they are not what the session had.
    pub(super) fn taken(&mut self, had: Option<&str>) -> Result<Option<String>> {
        let text: String = self.capture.call(())?;
        if text != self.text || matches!(self.known, Known::Unsure) {
            self.known = match text == INITIAL && had.is_none() {
                true => Known::Initial,
                false => Known::Kept(text.clone()),
            };
            self.text = text;
        }
        Ok(match (&self.known, had) {
            (Known::Kept(now), had) if Some(now.as_str()) != had => Some(now.clone()),
            (Known::Initial, Some(_)) => Some(self.text.clone()),
            (Known::Kept(_) | Known::Initial | Known::Unsure, _) => None,
        })
    }

    /// A call failed: what it changed is undone before the next one.
    pub(super) fn doubt(&mut self) {
        self.known = Known::Unsure;
    }
}
