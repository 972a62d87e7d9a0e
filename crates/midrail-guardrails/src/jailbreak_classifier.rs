//! jailbreak-classifier: asks an external classifier whether a text tries to override the instructions.

use midrail_core::{Category, EventKind};

use crate::builtin::Builtin;
use crate::shared::classifier::{CLASSIFIER, MissingClassifier};

pub(crate) const BUILTIN: Builtin = Builtin {
    is_deep: true,
    settings: CLASSIFIER,
    ..Builtin::without_settings::<MissingClassifier>(
        "jailbreak-classifier",
        Category::Safety,
        90,
        &[EventKind::BeforeModel],
    )
};
