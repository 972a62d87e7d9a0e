//! Gemini CLI.

use midrail::Effect;
use midrail_adapters::policy::FileScope;

use crate::world::{decide, engine, file, import, policy, rules};

const HOST: &str = "gemini";

/// The tier decides before the priority.
#[test]
fn the_tier_decides_first() {
    let rule = |decision: &str, priority: u32| {
        format!(
            "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"make\"\ndecision = \"{decision}\"\npriority = {priority}\n"
        )
    };
    let imported = policy(HOST).import(&[
        file("admin", FileScope::Managed, &rule("deny", 1)),
        file("project", FileScope::Project, &rule("allow", 999)),
    ]);
    assert_eq!(imported.dead.len(), 1);
    assert!(decide(&engine(&imported.yaml), "make") >= Effect::Block);
    let imported = policy(HOST).import(&[
        file("project", FileScope::Project, &rule("deny", 999)),
        file("user", FileScope::User, &rule("allow", 1)),
    ]);
    assert_eq!(rules(&imported.dead).len(), 1);
    assert!(imported.pack.get("guardrails").is_none(), "{}", imported.yaml);
}

#[test]
fn invalid_files_are_left_out_with_a_line() {
    let imported = import(HOST, "[[rule]]\ntoolName = \n");
    assert_eq!((imported.left_out.len(), imported.left_out[0].source.line), (1, 2));
    let imported = import(HOST, "[safety]\nx = 1\n");
    assert_eq!(rules(&imported.left_out), ["safety"]);
}
