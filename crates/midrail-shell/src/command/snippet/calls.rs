//! Lookup of the functions of other languages in the rows of `data/code.toml`.

use crate::tables::{Effect, FUNCTIONS, Language, METHODS, PATH_METHODS};

/// What calling the function of this full name does.
pub(super) fn effect(language: Language, name: &str) -> Option<Effect> {
    let last = name.rsplit('.').next().unwrap_or(name);
    // The functions of Perl and PHP are listed without their modules; those of Ruby's Kernel need none.
    let short = match language {
        Language::Perl | Language::Php => last,
        Language::Ruby => name.strip_prefix("Kernel.").unwrap_or(name),
        // `__import__('urllib.request')` is the package, not the module in it.
        Language::Python if name.starts_with("urllib.request.request.") => {
            name.get("urllib.request.".len()..).unwrap_or(name)
        }
        Language::Python => name.strip_prefix("builtins.").unwrap_or(name),
        _ => name.strip_prefix("globalThis.").unwrap_or(name),
    };
    in_language(language, FUNCTIONS.get(short)).or_else(|| in_language(language, FUNCTIONS.get(name)))
}

/// What calling a method of this name does, for any receiver.
pub(super) fn method(language: Language, name: &str) -> Option<Effect> {
    in_language(language, METHODS.get(name))
}

fn in_language(language: Language, rows: Option<&&[(Language, Effect)]>) -> Option<Effect> {
    rows?.iter().find(|(known, _)| *known == language).map(|(_, effect)| *effect)
}

/// What calling a method of a path does.
pub(super) fn path_method(name: &str) -> Option<Effect> {
    PATH_METHODS.get(name).copied()
}

/// Constructors of paths, whose methods [`path_method`] knows.
pub(super) fn makes_path(name: &str) -> bool {
    matches!(name, "pathlib.Path" | "pathlib.PosixPath" | "Path" | "Pathname.new" | "Pathname" | "File")
}
