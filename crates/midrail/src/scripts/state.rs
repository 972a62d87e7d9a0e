//! The variables of a realm, against those that the session keeps.

use rquickjs::{Function, Object, Result};
use serde_json::Value;

/// What a realm's variables are known to be.
enum Known {
    /// As the script begins.
    Initial,
    /// As this value says.
    Kept(Value),
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

/// Why variables could not be taken.
pub(super) enum Failed {
    /// JavaScript threw it.
    Thrown(rquickjs::Error),
    /// They came out as no JSON.
    Json(serde_json::Error),
}

impl From<rquickjs::Error> for Failed {
    fn from(error: rquickjs::Error) -> Self {
        Failed::Thrown(error)
    }
}

impl From<serde_json::Error> for Failed {
    fn from(error: serde_json::Error) -> Self {
        Failed::Json(error)
    }
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

    /// Makes the variables what the session says they are.
    pub(super) fn prepare(&mut self, wanted: Option<&Value>) -> std::result::Result<(), Failed> {
        let is_so = match (&self.known, wanted) {
            (Known::Initial, None) => true,
            (Known::Kept(known), Some(wanted)) => known == wanted,
            _ => false,
        };
        if is_so {
            return Ok(());
        }
        self.known = Known::Unsure;
        let text = wanted.map(serde_json::to_string).transpose()?;
        self.restore.call::<_, ()>((text.as_deref().unwrap_or(INITIAL),))?;
        self.text = self.capture.call(())?;
        self.known = match wanted {
            Some(wanted) => Known::Kept(wanted.clone()),
            None => Known::Initial,
        };
        Ok(())
    }

    /// The variables now, where they are not what the session had.
    pub(super) fn taken(&mut self, had: Option<&Value>) -> std::result::Result<Option<Value>, Failed> {
        let text: String = self.capture.call(())?;
        if text != self.text || matches!(self.known, Known::Unsure) {
            self.known = if text == INITIAL && had.is_none() {
                Known::Initial
            } else {
                Known::Kept(serde_json::from_str(&text)?)
            };
            self.text = text;
        }
        Ok(match (&self.known, had) {
            (Known::Kept(now), had) if Some(now) != had => Some(now.clone()),
            (Known::Initial, Some(_)) => Some(serde_json::from_str(&self.text)?),
            (Known::Kept(_) | Known::Initial | Known::Unsure, _) => None,
        })
    }

    /// A call failed: what it changed is undone before the next one.
    pub(super) fn doubt(&mut self) {
        self.known = Known::Unsure;
    }
}
