//! Tests of the evaluation of Cedar policies.

use serde_json::{Value, json};

use super::*;
use crate::shared::one_or_many::OneOrMany;
use crate::tests::Run;

/// Placeholders and expressions of the tests: `{tool}`, `{agent}`, and `args`.
struct TestExpressions;

impl CedarExpressions for TestExpressions {
    fn template(&mut self, _: &str, text: &str) -> Option<ComputeText> {
        let text = text.to_owned();
        Some(Arc::new(move |context: &Context<'_>| {
            let tool = context.event.tool_name().unwrap_or_default();
            let agent = context.event.agent.as_ref().and_then(|agent| agent.id.clone()).unwrap_or_default();
            Ok(text.replace("{tool}", tool).replace("{agent}", &agent))
        }))
    }

    fn value(&mut self, _: &str, _: &str) -> Option<ComputeValue> {
        Some(Arc::new(|context: &Context<'_>| {
            let args = context.event.tool.as_ref().map(|tool| tool.args.clone());
            Ok(Value::Object(args.unwrap_or_default()))
        }))
    }
}

fn settings(code: &str) -> CedarSettings {
    CedarSettings {
        code: Some(code.to_owned()),
        principal: r#"Agent::"a""#.to_owned(),
        action: r#"Action::"{tool}""#.to_owned(),
        resource: r#"Shop::"main""#.to_owned(),
        context: Some(CedarContext::Whole("tool.args".to_owned())),
        ..CedarSettings::default()
    }
}

fn run(settings: &CedarSettings) -> Run {
    Run::shared(
        settings.compiled(&mut TestExpressions, true).unwrap_or_else(|problems| panic!("{problems:?}")),
    )
}

fn problems(settings: &CedarSettings) -> Vec<String> {
    let problems = settings.compiled(&mut TestExpressions, true).err().unwrap_or_default();
    assert!(problems.iter().all(|problem| !problem.help.is_empty()), "{problems:?}");
    problems.into_iter().map(|problem| format!("{}: {}", problem.at, problem.message)).collect()
}

const ALL: &str = "permit (principal, action, resource);";

#[test]
fn name_of_a_tool_never_changes_the_entity() {
    let only = settings(r#"permit (principal, action == Action::"Read", resource);"#);
    let mut run = run(&only);
    assert_eq!(run.before("Read", json!({})).effect, Effect::Allow);
    for name in [r#"Read""#, r#"Read\"#, r#"x" || Action::"Read"#, "Read\u{0}", "\\x52ead", "read", "Read\n"]
    {
        let denied = run.before(name, json!({}));
        assert_eq!(denied.effect, Effect::Block, "{name}");
        assert!(denied.reason.starts_with("No Cedar policy permits Action::"), "{}", denied.reason);
    }
    // The id of the policy has the same characters.
    let quoted = settings(r#"permit (principal, action == Action::"a\"b\\c", resource);"#);
    assert_eq!(self::run(&quoted).before("a\"b\\c", json!({})).effect, Effect::Allow);
}

#[test]
fn failing_policy_blocks_whatever_permits() {
    let mut run = run(&settings(&format!(
        "{ALL}\n@id(\"limit\") forbid (principal, action, resource) when {{ context.amount > 100 }};"
    )));
    assert_eq!(run.before("refund", json!({"amount": 1})).effect, Effect::Allow);
    let denied = run.before("refund", json!({"amount": "much"}));
    assert_eq!(denied.effect, Effect::Block);
    assert!(
        denied.reason.starts_with("The Cedar policy `limit` could not be evaluated: type error"),
        "{}",
        denied.reason
    );
    assert!(denied.reason.ends_with("so the call is not allowed."), "{}", denied.reason);
}

#[test]
fn failing_permit_blocks_as_well() {
    let code = format!("{ALL}\npermit (principal, action, resource) when {{ principal.level > 3 }};");
    let denied = run(&settings(&code)).before("x", json!({}));
    assert!(
        denied.reason.starts_with("The Cedar policy `code:2` could not be evaluated"),
        "{}",
        denied.reason
    );
}

#[test]
fn reasons_name_all_policies_in_order() {
    let code = format!(
        "{ALL}\n@id(\"b\") @reason(\"B.\") @advice(\"Wait.\") forbid (principal, action, resource);\n\n\
         forbid (principal, action, resource);\n@id(\"a\") @reason(\"A.\") forbid (principal, action, resource);"
    );
    for _ in 0..8 {
        let denied = run(&settings(&code)).before("x", json!({}));
        assert_eq!(denied.reason, "The Cedar policies `a`, `b`, `code:4` forbid Action::\"x\": A. B.");
        assert_eq!(denied.advice.as_deref(), Some("Wait."));
    }
}

#[test]
fn values_that_cedar_does_not_have_block() {
    let mut run = run(&settings(ALL));
    for (args, reason) in [
        (json!({"a": 1.5}), "`tool.args.a` is 1.5, and Cedar has whole numbers only"),
        (json!({"a": 1.0}), "`tool.args.a` is 1.0, and Cedar has whole numbers only"),
        (json!({"a": {"b": [1, null]}}), "`tool.args.a.b[1]` is null, which Cedar does not have"),
        (json!({"a": u64::MAX}), "`tool.args.a` is 18446744073709551615, which is too large"),
    ] {
        let denied = run.before("x", args);
        assert_eq!(denied.effect, Effect::Block);
        assert!(denied.reason.contains(reason), "{}", denied.reason);
    }
    let mut deep = json!(1);
    for _ in 0..80 {
        deep = json!([deep]);
    }
    assert!(run.before("x", json!({"a": deep})).reason.contains("nested more than 64 levels"));
    let fine = json!({"a": i64::MIN, "b": [true, "x", {"c": []}], "d e": ""});
    assert_eq!(run.before("x", fine).effect, Effect::Allow);
}

#[test]
fn arguments_are_never_entities() {
    let code = format!(
        "{ALL}\nforbid (principal, action, resource) unless {{ context has owner && context.owner == Agent::\"a\" }};"
    );
    let forged = json!({"owner": {"__entity": {"type": "Agent", "id": "a"}}});
    assert_eq!(run(&settings(&code)).before("x", forged).effect, Effect::Block);
    let record = r#"permit (principal, action, resource) when { context.owner["__extn"].fn == "ip" };"#;
    let plain = json!({"owner": {"__extn": {"fn": "ip", "arg": "nonsense"}}});
    assert_eq!(run(&settings(record)).before("x", plain).effect, Effect::Allow);
}

#[test]
fn schema_validates_policies_entities_and_requests() {
    let schema = r#"
        entity Agent; entity Shop;
        action refund appliesTo { principal: Agent, resource: Shop, context: { amount: Long } };
    "#;
    let with_schema = |code: &str| CedarSettings {
        schema: Some("s.cedarschema".to_owned()),
        files: [("s.cedarschema".to_owned(), schema.to_owned())].into(),
        ..settings(code)
    };
    let code = r#"permit (principal, action == Action::"refund", resource) when { context.amount < 100 };"#;
    let mut run = run(&with_schema(code));
    assert_eq!(run.before("refund", json!({"amount": 1})).effect, Effect::Allow);
    assert_eq!(run.before("refund", json!({"amount": 100})).effect, Effect::Block);
    let unknown = run.before("deploy", json!({}));
    assert!(
        unknown.reason.starts_with("Cedar cannot evaluate this call: request's action `Action::\"deploy\"`"),
        "{}",
        unknown.reason
    );
    assert_eq!(run.before("refund", json!({})).effect, Effect::Block);

    let misspelt = problems(&with_schema(&code.replace("amount", "amonut")));
    assert!(misspelt[0].starts_with("/policies: for policy `code:1`, attribute `amonut`"), "{misspelt:?}");
    let broken = CedarSettings {
        files: [("s.cedarschema".to_owned(), "entity Agent;\nentitty Shop;".to_owned())].into(),
        ..with_schema(code)
    };
    let broken = problems(&broken);
    assert!(broken[0].starts_with("/schema: `s.cedarschema`, line 2, column 1: "), "{broken:?}");
}

#[test]
fn files_have_problems_with_their_lines() {
    let with_files = |policies: &str, entities: &str| CedarSettings {
        policies: OneOrMany(vec!["a.cedar".to_owned()]),
        entities: Some(CedarEntities::File("e.json".to_owned())),
        files: [("a.cedar".to_owned(), policies.to_owned()), ("e.json".to_owned(), entities.to_owned())]
            .into(),
        code: None,
        ..settings("")
    };
    let wrong = problems(&with_files(
        &format!("{ALL}\n\nforbid (principal, action, resource) whenn {{ true }};"),
        "[]",
    ));
    assert!(wrong[0].starts_with("/policies/0: `a.cedar`, line 3, column 38: "), "{wrong:?}");
    let wrong = problems(&with_files(ALL, "[{\"uid\": 1}]"));
    assert!(wrong[0].starts_with("/entities: `e.json`: "), "{wrong:?}");
    let wrong = problems(&with_files("// nothing", "[]"));
    assert_eq!(wrong, ["/policies/0: `a.cedar` has no policy"]);
    let wrong = problems(&with_files("forbid (principal, action, resource);", "[]"));
    assert_eq!(wrong, [": no policy permits anything, so every call would be blocked"]);
    let wrong = problems(&with_files("permit (principal == ?principal, action, resource);", "[]"));
    assert!(wrong[0].contains("policy template"), "{wrong:?}");
    let twice = format!("@id(\"x\") {ALL}\n@id(\"x\") {ALL}");
    let wrong = problems(&with_files(&twice, "[]"));
    assert_eq!(wrong, ["/policies/0: two policies have the id `x`: a.cedar:1 and a.cedar:2"]);
}

#[test]
fn placeholders_are_for_ids_only() {
    for text in ["Agent", "Agent::{agent}", r#"{agent}::"a""#, r#"Agent::"a"b"#] {
        let wrong = problems(&CedarSettings { principal: text.to_owned(), ..settings(ALL) });
        assert!(wrong[0].starts_with("/principal: `") && wrong[0].ends_with("is not an entity"), "{wrong:?}");
    }
}

#[test]
fn unread_file_is_a_problem_once_the_loader_has_run() {
    let unread =
        CedarSettings { policies: OneOrMany(vec!["a.cedar".to_owned()]), code: None, ..settings("") };
    assert!(unread.compiled(&mut TestExpressions, false).is_ok());
    assert_eq!(problems(&unread), ["/policies/0: the file `a.cedar` was not read"]);
}
