//! scope-classifier: calls an external classifier to check whether a call belongs to the task.

use crate::prelude::*;
use crate::shared::classifier::CLASSIFIER;

const EVENTS: &[EventKind] = &[EventKind::BeforeModel, EventKind::BeforeTool];

pub(crate) const BUILTIN: Builtin = Builtin {
    events: EventKind::ALL,
    is_deep: true,
    ..Builtin::with("scope-classifier", Category::Scope, 90, EVENTS, CLASSIFIER)
};
