//! scope-classifier: asks an external classifier whether a call belongs to the task.

use midrail_core::{Category, EventKind};

use crate::builtin::Builtin;
use crate::shared::classifier::{CLASSIFIER, MissingClassifier};

pub(crate) const BUILTIN: Builtin = Builtin {
    is_deep: true,
    settings: CLASSIFIER,
    ..Builtin::without_settings::<MissingClassifier>(
        "scope-classifier",
        Category::Scope,
        90,
        &[EventKind::BeforeModel, EventKind::BeforeTool],
    )
};
