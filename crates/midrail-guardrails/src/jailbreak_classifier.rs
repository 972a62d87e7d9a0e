//! jailbreak-classifier: calls an external classifier to check whether a text tries to override the instructions.

use crate::prelude::*;
use crate::shared::classifier::CLASSIFIER;

pub(crate) const BUILTIN: Builtin = Builtin {
    events: EventKind::ALL,
    is_deep: true,
    ..Builtin::with("jailbreak-classifier", Category::Safety, 90, &[EventKind::BeforeModel], CLASSIFIER)
};
