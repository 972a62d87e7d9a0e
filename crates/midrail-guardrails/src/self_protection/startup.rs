//! Files that a shell obeys when it starts: a line in them can replace Midrail or an agent's settings in the next session.

use midrail_core::Context;

use crate::shared::data::FILES;
use crate::shared::file_access::FileAccess;
use crate::shared::file_paths::path_fits;

/// Why a startup file must not be changed in this way.
pub(super) fn objection(
    context: &Context<'_>,
    access: &FileAccess<'_>,
    names: &[String],
) -> Option<&'static str> {
    let is_startup =
        |name: &String| FILES.list("startup files").iter().any(|pattern| path_fits(pattern, name));
    if access.script.is_some() || !names.iter().any(is_startup) {
        return None;
    }
    let tool = context.event.tool.as_ref()?;
    let text = serde_json::to_string(&tool.args).unwrap_or_default();
    disables(&text).then_some("would replace Midrail or an agent's settings in later sessions")
}

/// Whether a text names Midrail, a variable that moves an agent's settings, or defines a command with an agent's name.
fn disables(text: &str) -> bool {
    let is_defined = |agent: &&str| {
        [format!("alias {agent}="), format!("{agent}()"), format!("{agent} ()"), format!("function {agent}")]
            .iter()
            .any(|definition| text.contains(definition))
    };
    text.to_lowercase().contains("midrail")
        || FILES.list("agent variables").iter().any(|name| text.contains(name))
        || FILES.list("agent programs").iter().any(is_defined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_agents_are_found() {
        for text in
            ["alias claude='claude --bare'", "codex() { :; }", "export CODEX_HOME=/tmp", "alias midrail=true"]
        {
            assert!(disables(text), "{text}");
        }
        for text in ["export PATH=~/bin:$PATH", "alias ll='ls -l'", "eval \"$(starship init zsh)\""] {
            assert!(!disables(text), "{text}");
        }
    }
}
