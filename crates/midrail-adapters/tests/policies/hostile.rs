//! Hostile texts: no reader panics, and what it writes is always a valid pack.

use midrail::pack::PackDocument;
use midrail_adapters::policy::{FileScope, PolicyFile, PolicyFormat};
use proptest::prelude::*;

use crate::world::{of_project, policies, policy};

/// Parts of settings in an order that makes little sense.
fn fragments() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("prefix_rule(".to_owned()),
        Just("pattern=[".to_owned()),
        Just("network_rule(host=".to_owned()),
        Just("\"\"\"".to_owned()),
        Just("]]])))".to_owned()),
        Just("[[rule]]\n".to_owned()),
        Just("toolName = \"run_shell_command\"\n".to_owned()),
        Just("commandRegex = \"((a|b)*[x\\\\]+\"\n".to_owned()),
        Just("decision = \"deny\"\n".to_owned()),
        Just("{\"permissions\": {\"deny\": [\"".to_owned()),
        Just("Bash(".to_owned()),
        Just(":*)\"]}}".to_owned()),
        Just("\", \"".to_owned()),
        Just("--deny-tool 'shell(".to_owned()),
        Just("\\".to_owned()),
        Just("\u{feff}".to_owned()),
        "[ -~\n]{0,12}",
        "\\PC{0,6}",
    ];
    proptest::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// A rule of a host in a valid file.
fn rule_files() -> impl Strategy<Value = (&'static PolicyFormat, String)> {
    ("[ -~é\u{202e}]{0,24}", 0..3_usize).prop_map(|(text, kind)| {
        let quoted = serde_json::to_string(&text).unwrap();
        let shell = serde_json::to_string(&format!("Bash({text})")).unwrap();
        let path = serde_json::to_string(&format!("Read({text})")).unwrap();
        match kind {
            0 => (policy("claude-code"), format!("{{\"permissions\": {{\"deny\": [{shell}, {path}, {quoted}], \"ask\": [{quoted}], \"allow\": [{shell}]}}}}")),
            1 => (policy("opencode"), format!("{{\"permission\": {{\"bash\": {{\"*\": \"deny\", {quoted}: \"allow\"}}, \"edit\": {{{quoted}: \"deny\"}}, \"webfetch\": {{{quoted}: \"deny\"}}}}}}")),
            _ => (policy("codex"), format!("prefix_rule(pattern=[\"git\", {quoted}], decision=\"forbidden\", match=[[\"git\", {quoted}]])")),
        }
    })
}

fn is_valid(yaml: &str) -> Result<(), TestCaseError> {
    let read = PackDocument::read("imported.yaml", yaml, None);
    prop_assert!(read.is_ok(), "{}\n{yaml}", read.err().map(|report| report.to_string()).unwrap_or_default());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn every_reader_survives_every_text(text in fragments()) {
        for host in policies() {
            for scope in [FileScope::Managed, FileScope::User, FileScope::Project] {
                let imported = host.import(&[PolicyFile { name: "x".to_owned(), text: text.clone(), scope }]);
                is_valid(&imported.yaml)?;
                host.export(&imported.pack);
            }
        }
    }

    #[test]
    fn every_rule_gives_a_valid_pack((host, text) in rule_files()) {
        let imported = host.import(&of_project(&text));
        is_valid(&imported.yaml)?;
        for other in policies() {
            let exported = other.export(&imported.pack);
            let again = other.import(&of_project(&exported.text));
            is_valid(&again.yaml)?;
        }
    }
}

/// Brackets without end, and long lines, are read in bounded depth and time.
#[test]
fn deep_and_long_texts_are_read() {
    let deep = ["[", "{\"a\":", "prefix_rule(pattern=[", "(((", "x = [", "copilot --deny-tool 'shell("];
    for part in deep {
        let text = part.repeat(20_000);
        for host in policies() {
            host.import(&of_project(&text));
        }
    }
    let rules: Vec<String> = (0..500).map(|i| format!("\"Bash(tool{i} *)\"")).collect();
    let text = format!("{{\"permissions\": {{\"deny\": [{}]}}}}", rules.join(", "));
    let imported = policy("claude-code").import(&of_project(&text));
    assert_eq!(imported.stricter.len(), 500);
}
