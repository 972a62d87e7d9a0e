//! Realistic settings of every host with the verdicts of the host itself: `data/HOST.txt`.
//!
//! An entry begins with `== NAME`. Then come the settings, a line `--`, and one line per call: the verdict of the host
//! and the call. After them, `left out: N` and `dead: N` are the numbers of rules with that report.
//!
//! A verdict is `deny`, `ask` or `allow`, or `-` where no rule of the settings decides. With `!`, Midrail is stricter. A
//! call is a command, or begins with `Read `, `Edit `, `Fetch ` or `Tool `.

use midrail::Effect;

use crate::vouched::is_vouched;
use crate::world::{decide, engine, import, policy, rules, warnings};

/// Settings, and what the host answers.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) text: String,
    /// Verdicts and calls.
    pub(crate) calls: Vec<(&'static str, &'static str)>,
    /// How many rules are left out, and how many are dead.
    pub(crate) left_out: usize,
    dead: usize,
}

/// Every host, and its entries.
const DATA: [(&str, &str); 6] = [
    ("claude-code", include_str!("data/claude-code.txt")),
    ("codex", include_str!("data/codex.txt")),
    ("gemini", include_str!("data/gemini.txt")),
    ("cursor", include_str!("data/cursor.txt")),
    ("opencode", include_str!("data/opencode.txt")),
    ("copilot", include_str!("data/copilot.txt")),
];

/// The entries of a host.
pub(crate) fn samples(host: &str) -> Vec<Sample> {
    let (_, text) = DATA.into_iter().find(|(name, _)| *name == host).unwrap();
    text.split("\n== ").skip(1).map(sample).collect()
}

/// The settings of an entry.
pub(crate) fn settings(host: &str, name: &str) -> String {
    samples(host).into_iter().find(|sample| sample.name == name).unwrap().text
}

fn sample(text: &'static str) -> Sample {
    let (head, tail) =
        text.split_once("\n--\n").unwrap_or_else(|| panic!("an entry without a line `--`:\n{text}"));
    let (name, settings) = head.split_once('\n').unwrap();
    let mut sample =
        Sample { name: name.trim(), text: format!("{settings}\n"), calls: Vec::new(), left_out: 0, dead: 0 };
    for line in tail.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(count) = line.strip_prefix("left out: ") {
            sample.left_out = count.parse().unwrap();
        } else if let Some(count) = line.strip_prefix("dead: ") {
            sample.dead = count.parse().unwrap();
        } else {
            let (verdict, call) = line.split_once(' ').unwrap_or_else(|| panic!("{name}: {line}"));
            sample.calls.push((verdict, call.trim()));
        }
    }
    sample
}

/// Whether an effect is the verdict of a host, or stricter where the verdict has `!`.
fn is_expected(verdict: &str, effect: Effect) -> bool {
    match verdict {
        "deny" => effect >= Effect::Block,
        "ask" => effect == Effect::Escalate,
        "allow" | "-" => effect < Effect::Escalate,
        "ask!" => effect >= Effect::Block,
        "allow!" | "-!" => effect >= Effect::Escalate,
        other => panic!("unknown verdict {other}"),
    }
}

/// Checks the entries of a host: the imported pack decides like the host, or more strictly where the report says so; and
/// the exported rules of that pack decide like the pack, unless the report about the export says otherwise.
fn check(host: &str) {
    let samples = samples(host);
    assert!(samples.len() >= 60, "{host} has only {} entries", samples.len());
    let mut names: Vec<&str> = samples.iter().map(|sample| sample.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), samples.len(), "{host}: two entries have one name");
    let problems: Vec<String> = samples.iter().flat_map(|sample| problems(host, sample)).collect();
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n\n"));
}

fn problems(host: &str, sample: &Sample) -> Vec<String> {
    let imported = import(host, &sample.text);
    let mut problems = Vec::new();
    if (imported.left_out.len(), imported.dead.len()) != (sample.left_out, sample.dead) {
        problems.push(format!("left out: {:#?}\ndead: {:#?}", imported.left_out, imported.dead));
    }
    problems.extend(warnings(&imported.yaml));
    let exported = policy(host).export(&imported.pack);
    let again = import(host, &exported.text);
    let (engine, exported_engine) = (engine(&imported.yaml), engine(&again.yaml));
    for (verdict, call) in &sample.calls {
        let effect = decide(&engine, call);
        if !is_expected(verdict, effect) {
            problems.push(format!("`{call}` is {verdict}, but {effect:?}"));
        }
        if verdict.ends_with('!') && imported.stricter.is_empty() {
            problems.push(format!("`{call}` is {verdict}, but the report has no stricter rule"));
        }
        // Midrail vouches for what the host allows, and for nothing else.
        let is_vouched_for = effect < Effect::Escalate && is_vouched(&imported.pack, call);
        match *verdict {
            "-" if is_vouched_for => {
                problems.push(format!("`{call}` is {verdict}, but the pack vouches for it"))
            }
            "allow" if !is_vouched_for && imported.left_out.is_empty() => {
                problems.push(format!("`{call}` is allowed, but the pack does not vouch for it"));
            }
            _ => {}
        }
        let of_export = decide(&exported_engine, call);
        let is_kept = match (exported.left_out.is_empty(), exported.stricter.is_empty()) {
            (true, true) => of_export == effect,
            (true, false) => of_export >= effect,
            (false, _) => true,
        };
        if !is_kept {
            problems
                .push(format!("`{call}` is {effect:?}, but {of_export:?} after export\n{}", exported.text));
        }
        let vouches_again = of_export < Effect::Escalate && is_vouched(&again.pack, call);
        if vouches_again && !is_vouched_for {
            problems.push(format!("`{call}` is vouched for only after export\n{}", exported.text));
        }
    }
    let dead = rules(&again.dead);
    if !dead.is_empty() {
        problems.push(format!("exported rules are dead: {dead:?}"));
    }
    if let Some(last) = problems.last_mut() {
        last.push_str(&format!("\n{}", imported.yaml));
    }
    problems.into_iter().map(|problem| format!("{host}: {}: {problem}", sample.name)).collect()
}

#[test]
fn imported_rules_decide_like_claude_code_or_more_strictly() {
    check("claude-code");
}

#[test]
fn imported_rules_decide_like_codex_or_more_strictly() {
    check("codex");
}

#[test]
fn imported_rules_decide_like_gemini_or_more_strictly() {
    check("gemini");
}

#[test]
fn imported_rules_decide_like_cursor_or_more_strictly() {
    check("cursor");
}

#[test]
fn imported_rules_decide_like_opencode_or_more_strictly() {
    check("opencode");
}

#[test]
fn imported_rules_decide_like_copilot_or_more_strictly() {
    check("copilot");
}
