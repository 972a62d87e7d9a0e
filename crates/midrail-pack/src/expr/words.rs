//! Words of other languages in expressions, and what to write instead.

/// Words between values.
const OPERATORS: &[(&[&str], &str)] = &[
    (&["like", "ilike", "regex", "glob", "rlike"], "use `matches 'PATTERN'`, in which `*` matches any text"),
    (&["startswith", "starts_with", "beginswith", "begins"], "use `starts with`"),
    (&["endswith", "ends_with"], "use `ends with`"),
    (&["has", "have", "includes", "include", "containing"], "use `contains`"),
    (&["between"], "write both limits: `x >= 1 AND x <= 100`"),
    (&["equals", "equal", "eq", "is_equal"], "use `==`"),
    (&["ne", "neq", "unequal", "differs"], "use `!=`"),
    (&["gt", "above", "over", "exceeds", "greater", "more"], "use `>`"),
    (&["lt", "below", "under", "less", "fewer"], "use `<`"),
    (&["gte", "ge"], "use `>=`"),
    (&["lte", "le"], "use `<=`"),
    (&["xor", "unless", "but"], "use `AND NOT (…)`"),
    (&["then", "else"], "an expression is true or false: `effect` is a key of its own"),
    (&["of"], "multiply: `80% * task.token_budget`"),
];

/// Advice for a word after a complete part. `number`: the number before it.
pub(super) fn after(word: &str, number: Option<&str>) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    if let Some(number) = number {
        let unit = match lower.as_str() {
            "ms" | "millisecond" | "milliseconds" => {
                return Some("write a duration in seconds: `0.5s`".to_owned());
            }
            "second" | "seconds" | "sec" | "secs" | "s" => "s",
            "minute" | "minutes" | "min" | "mins" | "m" => "m",
            "hour" | "hours" | "h" => "h",
            "day" | "days" | "d" => "d",
            "percent" => "%",
            "of" => return find(&lower).map(str::to_owned),
            _ if find(&lower).is_none() => return Some(format!("write the number alone: `{number}`")),
            _ => return find(&lower).map(str::to_owned),
        };
        return Some(format!("write `{number}{unit}`"));
    }
    find(&lower).map(str::to_owned)
}

fn find(word: &str) -> Option<&'static str> {
    OPERATORS.iter().find(|(words, _)| words.contains(&word)).map(|(_, help)| *help)
}

/// Advice for an expression that starts with a word of a sentence.
pub(super) fn first(word: &str) -> Option<&'static str> {
    match word.to_ascii_lowercase().as_str() {
        "unless" | "except" => Some("use `not (…)`"),
        "if" | "when" | "where" | "require" | "assert" => {
            Some("leave this word out: the key says what the expression is for")
        }
        _ => None,
    }
}

/// Advice for a function that does not exist.
pub(super) fn function(word: &str) -> Option<&'static str> {
    Some(match word {
        "startswith" | "starts_with" | "hasprefix" => "write `TEXT starts with 'PREFIX'`",
        "endswith" | "ends_with" | "hassuffix" => "write `TEXT ends with 'SUFFIX'`",
        "contains" | "includes" | "in" => "write `TEXT contains 'PART'`",
        "matches" | "match" | "regex" | "glob" | "like" => {
            "write `TEXT matches 'PATTERN'`, in which `*` matches any text"
        }
        "exists" | "defined" | "has" | "isset" | "is_null" | "isnull" => {
            "write `NAME is known`, or `NAME is unknown`"
        }
        "count" | "length" | "size" => "use `len(…)`",
        "lowercase" | "tolower" | "upper" | "toupper" => {
            "use `lower(…)`, and compare with a text in lower case"
        }
        "any" | "all" | "none" => {
            "write `LIST any match ['PATTERN']`, `LIST all match […]` or `LIST none match […]`"
        }
        _ => return None,
    })
}

/// The name that another name stands for in this language.
pub(super) fn name(first: &str) -> Option<&'static str> {
    Some(match first {
        "args" | "arguments" | "input" | "tool_input" | "params" | "tool_args" => "tool.args",
        "tool_name" | "toolname" | "tools" => "tool.name",
        "command" | "cmd" | "bash" => "action.command",
        "path" | "file" | "file_path" | "filename" | "target" => "action.target_file",
        "host" | "hosts" | "url" | "domain" => "action.hosts",
        "role" | "user" => "agent.role",
        "tokens" => "usage.tokens",
        "cost" => "usage.cost",
        "exit_code" => "result.exit_code",
        "risk" => "task.risk",
        "content" | "tool_response" | "tool_output" => "result.content",
        _ => return None,
    })
}
