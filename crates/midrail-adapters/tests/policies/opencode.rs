//! OpenCode.

use midrail::Effect;
use midrail_adapters::policy::FileScope;

use crate::world::{decide, engine, file, import, policy, rules};

const HOST: &str = "opencode";

/// The rules of a project come after those of the user.
#[test]
fn the_project_decides_before_the_user() {
    let imported = policy(HOST).import(&[
        file("project", FileScope::Project, r#"{"permission": {"bash": {"make *": "allow"}}}"#),
        file(
            "user",
            FileScope::User,
            r#"{"permission": {"bash": {"make deploy": "deny", "curl *": "deny"}}}"#,
        ),
    ]);
    assert_eq!(rules(&imported.dead), ["bash \"make deploy\": deny"]);
    assert!(decide(&engine(&imported.yaml), "curl x") >= Effect::Block);
}

/// An ask that decides before a deny cannot be an exception: Midrail blocks, and the report lists it.
#[test]
fn an_ask_is_no_exception_of_a_deny() {
    let imported = import(HOST, r#"{"permission": {"bash": {"git *": "deny", "git push *": "ask"}}}"#);
    let reasons: Vec<&str> = imported.stricter.iter().map(|finding| finding.reason.as_str()).collect();
    assert!(
        reasons.iter().any(|reason| reason.contains("(ask) decides before it in the host")),
        "{reasons:?}"
    );
    assert!(decide(&engine(&imported.yaml), "git push") >= Effect::Block);
}
