//! Copilot CLI and VS Code.

use crate::world::{import, rules};

const HOST: &str = "copilot";

#[test]
fn an_exact_allow_stays_exact() {
    let imported = import(
        HOST,
        "copilot --allow-tool 'shell(npm test)' --allow-tool 'shell(ls:*)' --allow-tool shell\n",
    );
    let commands = serde_json::json!([{"exact": "npm test"}, "ls", "*"]);
    assert_eq!(imported.pack["vouch"]["commands"], commands);
    assert_eq!(imported.taken[0].rule, "--allow-tool shell(npm test)");
    assert!(rules(&imported.stricter).is_empty());
}
