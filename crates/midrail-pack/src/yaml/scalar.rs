//! Values of plain scalars by the core schema of YAML 1.2.

use crate::yaml::node::{NodeValue, TextStyle};

/// The value of a scalar without quotes.
pub(super) fn plain(text: &str) -> NodeValue {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => NodeValue::Null,
        "true" | "True" | "TRUE" => NodeValue::Bool(true),
        "false" | "False" | "FALSE" => NodeValue::Bool(false),
        ".nan" | ".NaN" | ".NAN" => NodeValue::Float(f64::NAN),
        _ => number(text).unwrap_or_else(|| NodeValue::Text(text.to_owned(), TextStyle::Plain)),
    }
}

/// The value of a scalar with a core tag. `None`: the text does not match the tag.
pub(super) fn tagged(text: &str, style: TextStyle, tag: &str) -> Option<NodeValue> {
    match (tag, plain(text)) {
        ("str", _) => Some(NodeValue::Text(text.to_owned(), style)),
        ("null", value @ NodeValue::Null)
        | ("bool", value @ NodeValue::Bool(_))
        | ("int", value @ NodeValue::Int(_))
        | ("float", value @ NodeValue::Float(_)) => Some(value),
        ("float", NodeValue::Int(_)) => text.parse().ok().map(NodeValue::Float),
        _ => None,
    }
}

fn number(text: &str) -> Option<NodeValue> {
    let first = text.bytes().next()?;
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.')) {
        return None;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let digits = Some(digits).filter(|digits| !digits.starts_with(['+', '-']))?;
            return i64::from_str_radix(digits, radix).ok().map(NodeValue::Int);
        }
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        let negative = text.starts_with('-');
        return Some(NodeValue::Float(if negative { f64::NEG_INFINITY } else { f64::INFINITY }));
    }
    if !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return match text.parse() {
            Ok(value) => Some(NodeValue::Int(value)),
            Err(_) => text.parse().ok().map(NodeValue::Float),
        };
    }
    if is_float(unsigned) { text.parse().ok().map(NodeValue::Float) } else { None }
}

/// `.5`, `1.`, `1.5` and each with an exponent, or a whole number with one.
fn is_float(unsigned: &str) -> bool {
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_mantissa = !whole.is_empty() || !fraction.is_empty();
    has_mantissa && !exponent.is_empty() && [whole, fraction, exponent].into_iter().all(are_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        let text = |text: &str| NodeValue::Text(text.to_owned(), TextStyle::Plain);
        let cases = [
            ("", NodeValue::Null),
            ("~", NodeValue::Null),
            ("True", NodeValue::Bool(true)),
            ("tRue", text("tRue")),
            ("on", text("on")),
            ("yes", text("yes")),
            ("no", text("no")),
            ("12", NodeValue::Int(12)),
            ("-0012", NodeValue::Int(-12)),
            ("+7", NodeValue::Int(7)),
            ("0x1F", NodeValue::Int(31)),
            ("0o17", NodeValue::Int(15)),
            ("0x", text("0x")),
            ("0x-1", text("0x-1")),
            ("9223372036854775808", NodeValue::Float(9_223_372_036_854_775_808.0)),
            ("1.5", NodeValue::Float(1.5)),
            (".5", NodeValue::Float(0.5)),
            ("1.", NodeValue::Float(1.0)),
            ("-1e3", NodeValue::Float(-1000.0)),
            ("-.inf", NodeValue::Float(f64::NEG_INFINITY)),
            (".", text(".")),
            ("1e", text("1e")),
            ("1.2.3", text("1.2.3")),
            ("1_000", text("1_000")),
            ("80%", text("80%")),
            ("inf", text("inf")),
            ("-", text("-")),
        ];
        for (source, expected) in cases {
            assert_eq!(plain(source), expected, "{source}");
        }
        assert!(matches!(plain(".nan"), NodeValue::Float(value) if value.is_nan()));
    }
}
