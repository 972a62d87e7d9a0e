//! scope-classifier: asks an external classifier whether a call belongs to the task.

use midrail_core::{Category, EventKind};

use crate::builtin::Builtin;
use crate::classifier::Classifier;

pub(crate) const BUILTIN: Builtin = Builtin {
    is_deep: true,
    ..Builtin::new::<Classifier>(
        "scope-classifier",
        Category::Scope,
        90,
        &[EventKind::BeforeModel, EventKind::BeforeTool],
    )
};
