//! Parts of rules that several hosts have, as rules of Midrail: commands, files, regular expressions and `TOOL(PART)`.

use super::pattern::{MARKS, folder_patterns, literal, operator};
use super::regex;
use super::rule::{CommandPattern, PolicyRule, Problem, Subject, Verdict, dead, left_out};

/// Why every imported deny of a command is stricter than in its host.
pub(crate) const PARSED: &str = "Midrail parses the command, so other spellings and wrappers count too (`/bin/rm`, `env rm`, `sh -c 'rm …'`)";

/// Why an exact deny is stricter.
const LONGER: &str = "Midrail also blocks the command with further arguments";

/// Why a deny with an inner `*` is stricter.
const TEXT: &str = "Midrail compares the text of the whole line, so a line that contains it counts too";

/// Why a deny with variables in front of the program is stricter.
pub(crate) const ASSIGNED: &str = "Midrail does not compare the variables that a line sets";

/// Why a deny by a regular expression is stricter.
const GLOB: &str = "Midrail compares the text of the whole line with a glob pattern";

/// Why a deny of a file is stricter.
const ALL_TOOLS: &str = "Midrail applies it to every tool and to commands such as `cat`, and ignores case";

/// A rule on the text of a command: `*` matches anything, a trailing ` *` also nothing.
pub(crate) fn text_rule(verdict: Verdict, pattern: &str) -> PolicyRule {
    let mut words: Vec<&str> = pattern.split_whitespace().collect();
    let assigned = words.iter().take_while(|word| is_assignment(word)).count();
    let is_named = words.get(assigned).is_some_and(|word| *word != "*");
    if assigned > 0 && is_named && verdict != Verdict::Allow {
        words.drain(..assigned);
        return text_rule(verdict, &words.join(" ")).stricter(ASSIGNED);
    }
    let pattern = words.join(" ");
    let inner = pattern.strip_suffix('*').unwrap_or(&pattern);
    let stem = inner.strip_suffix(' ').unwrap_or(inner);
    let rule = |subject| PolicyRule::new(verdict, subject);
    if stem.is_empty() {
        return rule(Subject::every_command());
    }
    // A pattern that the words of a command cannot express.
    let is_only_assigned = assigned > 0 && verdict != Verdict::Allow;
    if stem.contains('*') || stem.starts_with('-') || stem.contains(MARKS) || is_only_assigned {
        if verdict == Verdict::Allow {
            return rule(Subject::Command(CommandPattern::exact(pattern)));
        }
        // The glob pattern is for lines that contain the text.
        let contained = literal(pattern.trim_matches('*'));
        return rule(Subject::CommandText(format!("*{}*", contained.trim()))).stricter(TEXT);
    }
    if inner.len() == pattern.len() {
        return rule(Subject::Command(CommandPattern::exact(pattern))).stricter(PARSED).stricter(LONGER);
    }
    let words = if stem.len() < inner.len() { stem.to_owned() } else { pattern };
    rule(Subject::Command(CommandPattern::prefix(words))).stricter(PARSED)
}

/// A strict rule on the text of a command in which `?` matches one character.
pub(crate) fn character_rule(verdict: Verdict, pattern: &str) -> PolicyRule {
    let contained = literal(pattern.trim_matches('*').trim()).replace("\\?", "?");
    PolicyRule::new(verdict, Subject::CommandText(format!("*{contained}*"))).stricter(TEXT)
}

/// Whether a word sets a variable for the command after it: `FOO=1`.
pub(crate) fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name.strip_suffix('+').unwrap_or(name));
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A rule on the leading words of a command, without wildcards.
pub(crate) fn words_rule(verdict: Verdict, words: &str) -> PolicyRule {
    text_rule(verdict, &format!("{} *", words.trim()))
}

/// A rule on commands in which a regular expression finds something.
pub(crate) fn expression_rule(verdict: Verdict, expression: &str) -> Result<PolicyRule, Problem> {
    if verdict == Verdict::Allow {
        return Err(left_out("`vouch` has no regular expressions"));
    }
    let glob = regex::to_glob(expression)
        .ok_or_else(|| left_out("the regular expression cannot be written as a glob pattern"))?;
    Ok(PolicyRule::new(verdict, Subject::CommandText(glob)).stricter(GLOB))
}

/// Rules on a file, or on a folder with its content.
pub(crate) fn path_rules(
    verdict: Verdict,
    path: &str,
    subject: impl Fn(String) -> Subject,
) -> Vec<PolicyRule> {
    let patterns = folder_patterns(path.trim_start_matches("./"), verdict != Verdict::Allow).into_iter();
    patterns.map(|pattern| PolicyRule::new(verdict, subject(pattern)).stricter(ALL_TOOLS)).collect()
}

/// Checks that a pattern is for one command. A host splits a line before it compares.
pub(crate) fn check_single_command(host: &str, pattern: &str) -> Result<(), Problem> {
    operator(pattern).map_or(Ok(()), |operator| {
        Err(dead(format!("{host} splits a line at `{operator}` first, so no command matches it")))
    })
}

/// The tool and the part in brackets of `TOOL(PART)`. A part that matches everything is as good as none.
pub(crate) fn tool_and_part(text: &str) -> Result<(&str, Option<&str>), Problem> {
    let Some((tool, rest)) = text.split_once('(') else { return Ok((text.trim(), None)) };
    let part = rest.trim_end().strip_suffix(')');
    let part = part.ok_or_else(|| dead("the closing `)` is missing, so the rule matches no tool"))?.trim();
    Ok((tool.trim(), Some(part).filter(|part| !part.is_empty() && *part != "*")))
}
