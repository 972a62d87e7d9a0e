//! Typed slices: the name of a slice together with the type of its content.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::inputs::Missing;
use crate::session::Changes;

/// A slice of a session: its name and the type of its content, which serde turns into the stored JSON.
///
/// Content of another form is an error and not a default, so that a guardrail with damaged state fails closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key<T> {
    name: String,
    content: PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    /// The slice with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Key { name: name.into(), content: PhantomData }
    }

    /// A slice of the guardrail's own state.
    pub fn own(context: &Context<'_>, name: &str) -> Self {
        Key::new(context.key(name))
    }

    /// The name of the slice.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the slice exists, whatever it contains.
    pub fn exists(&self, context: &Context<'_>) -> Result<bool, Missing> {
        Ok(context.slice(&self.name)?.is_some())
    }

    /// Removes the slice.
    pub fn remove(&self, changes: &mut Changes) {
        changes.remove(self.name.as_str());
    }

    fn malformed(&self, error: &serde_json::Error) -> Missing {
        Missing(format!("the session's `{}` is malformed: {error}", self.name))
    }
}

impl<T: DeserializeOwned> Key<T> {
    /// The content of the slice. `None`: there is no such slice.
    pub fn read(&self, context: &Context<'_>) -> Result<Option<T>, Missing> {
        self.decode(context.slice(&self.name)?)
    }

    /// The same after changes of this decision.
    pub fn read_changed(&self, context: &Context<'_>, changes: &Changes) -> Result<Option<T>, Missing> {
        match changes.0.get(&self.name) {
            Some(changed) => self.decode(changed.as_ref()),
            None => self.read(context),
        }
    }

    /// The content of a slice that was loaded elsewhere.
    pub fn decode(&self, slice: Option<&Value>) -> Result<Option<T>, Missing> {
        slice.map(T::deserialize).transpose().map_err(|error| self.malformed(&error))
    }
}

impl<T: Serialize> Key<T> {
    /// Sets the content of the slice.
    pub fn write(&self, changes: &mut Changes, content: &T) -> Result<(), Missing> {
        let content = serde_json::to_value(content).map_err(|error| self.malformed(&error))?;
        changes.set(self.name.as_str(), content);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn content_of_another_form_is_an_error() {
        let key = Key::<Vec<u32>>::new("times");
        assert_eq!(key.decode(None), Ok(None));
        assert_eq!(key.decode(Some(&json!([1, 2]))), Ok(Some(vec![1, 2])));
        let Missing(why) = key.decode(Some(&json!(["x"]))).unwrap_err();
        assert!(why.starts_with("the session's `times` is malformed: "), "{why}");
    }

    #[test]
    fn content_is_stored_as_its_json() {
        let mut changes = Changes::default();
        Key::new("times").write(&mut changes, &vec![1_u32, 2]).unwrap();
        assert_eq!(changes.0.get("times"), Some(&Some(json!([1, 2]))));
        Key::<Vec<u32>>::new("times").remove(&mut changes);
        assert_eq!(changes.0.get("times"), Some(&None));
    }
}
