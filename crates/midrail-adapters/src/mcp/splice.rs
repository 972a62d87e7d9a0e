//! Changes parts of a JSON text and keeps all other bytes as they came.

use std::ops::Range;

use serde_json::Value;

/// A value in a text.
pub(super) struct Span {
    /// Its bytes.
    pub(super) range: Range<usize>,
    parts: Parts,
}

enum Parts {
    Leaf,
    List(Vec<Span>),
    /// The bytes of each name, with its quotes, and its value.
    Object(Vec<(Range<usize>, Span)>),
}

impl Span {
    /// The value of a text that is valid JSON. `None`: it is not.
    pub(super) fn of(text: &str) -> Option<Span> {
        let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
        let span = scanner.value()?;
        scanner.space();
        (scanner.at == text.len()).then_some(span)
    }

    /// The value of a member.
    pub(super) fn member(&self, text: &str, name: &str) -> Option<&Span> {
        let Parts::Object(members) = &self.parts else { return None };
        members.iter().find(|(key, _)| decoded(text, key).as_deref() == Some(name)).map(|(_, value)| value)
    }

    /// The texts of the members with some names, each with its name.
    pub(super) fn members<'t>(&self, text: &'t str, is_it: impl Fn(&str) -> bool) -> Vec<&'t str> {
        let Parts::Object(members) = &self.parts else { return Vec::new() };
        let chosen = members.iter().filter(|(key, _)| is_it(&decoded(text, key).unwrap_or_default()));
        chosen.filter_map(|(key, value)| text.get(key.start..value.range.end)).collect()
    }

    /// The items of a list.
    pub(super) fn items(&self) -> &[Span] {
        match &self.parts {
            Parts::List(items) => items,
            Parts::Leaf | Parts::Object(_) => &[],
        }
    }

    /// The edits that turn the value into another one: as few as possible.
    pub(super) fn changes(&self, text: &str, old: &Value, new: &Value, edits: &mut Edits) {
        if old == new {
            return;
        }
        match (&self.parts, old, new) {
            (Parts::Object(members), Value::Object(olds), Value::Object(news))
                if olds.len() == news.len() && olds.keys().all(|key| news.contains_key(key)) =>
            {
                for (key, span) in members {
                    let name = decoded(text, key).unwrap_or_default();
                    if let (Some(old), Some(new)) = (olds.get(&name), news.get(&name)) {
                        span.changes(text, old, new, edits);
                    }
                }
            }
            (Parts::List(items), Value::Array(olds), Value::Array(news)) if olds.len() == news.len() => {
                for (span, (old, new)) in items.iter().zip(olds.iter().zip(news)) {
                    span.changes(text, old, new, edits);
                }
            }
            _ => edits.replace(self.range.clone(), new.to_string()),
        }
    }

    /// The edit that keeps only some items of a list.
    pub(super) fn keep(&self, text: &str, is_kept: impl Fn(usize) -> bool, edits: &mut Edits) {
        let items = self.items().iter().enumerate().filter(|(index, _)| is_kept(*index));
        let kept: Vec<&str> = items.filter_map(|(_, item)| text.get(item.range.clone())).collect();
        edits.replace(self.range.clone(), format!("[{}]", kept.join(",")));
    }

    /// The edit that adds an item to a list.
    pub(super) fn push(&self, item: &Value, edits: &mut Edits) {
        let end = self.range.end.saturating_sub(1);
        let comma = if self.items().is_empty() { "" } else { "," };
        edits.replace(end..end, format!("{comma}{item}"));
    }
}

/// Replacements of parts of a text that do not overlap.
#[derive(Default)]
pub(super) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    pub(super) fn replace(&mut self, range: Range<usize>, by: String) {
        self.0.push((range, by));
    }

    /// The text with all replacements.
    pub(super) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| range.start);
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for (range, by) in self.0 {
            out.push_str(text.get(done..range.start).unwrap_or_default());
            out.push_str(&by);
            done = range.end;
        }
        out.push_str(text.get(done..).unwrap_or_default());
        out
    }
}

fn decoded(text: &str, key: &Range<usize>) -> Option<String> {
    serde_json::from_str(text.get(key.clone())?).ok()
}

struct Scanner<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Scanner<'_> {
    fn space(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Skips a mark after white space, if it is next.
    fn take(&mut self, mark: u8) -> bool {
        self.space();
        let is_next = self.bytes.get(self.at) == Some(&mark);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self) -> Option<Span> {
        self.space();
        let start = self.at;
        let parts = match self.bytes.get(start)? {
            b'{' => Parts::Object(self.object()?),
            b'[' => Parts::List(self.list()?),
            b'"' => {
                self.string()?;
                Parts::Leaf
            }
            _ => {
                let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
                let rest = self.bytes.get(start..)?;
                self.at += rest.iter().position(is_end).unwrap_or(rest.len());
                Parts::Leaf
            }
        };
        (self.at > start).then_some(Span { range: start..self.at, parts })
    }

    fn list(&mut self) -> Option<Vec<Span>> {
        self.at += 1;
        let mut items = Vec::new();
        if self.take(b']') {
            return Some(items);
        }
        loop {
            items.push(self.value()?);
            if self.take(b']') {
                return Some(items);
            }
            self.take(b',').then_some(())?;
        }
    }

    fn object(&mut self) -> Option<Vec<(Range<usize>, Span)>> {
        self.at += 1;
        let mut members = Vec::new();
        if self.take(b'}') {
            return Some(members);
        }
        loop {
            self.space();
            let start = self.at;
            self.string()?;
            let key = start..self.at;
            self.take(b':').then_some(())?;
            members.push((key, self.value()?));
            if self.take(b'}') {
                return Some(members);
            }
            self.take(b',').then_some(())?;
        }
    }

    fn string(&mut self) -> Option<()> {
        (self.bytes.get(self.at) == Some(&b'"')).then_some(())?;
        self.at += 1;
        loop {
            match self.bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn spliced(text: &str, new: &Value) -> String {
        let old: Value = serde_json::from_str(text).unwrap();
        let mut edits = Edits::default();
        Span::of(text).unwrap().changes(text, &old, new, &mut edits);
        edits.apply(text)
    }

    #[test]
    fn only_changed_texts_are_replaced() {
        let text = r#"{ "a" : [1.0, "x\u0041", {"k":"secret", "z":null}],"b":1e2 }"#;
        let new = json!({"a": [1.0, "xA", {"k": "***", "z": null}], "b": 1e2});
        assert_eq!(spliced(text, &new), r#"{ "a" : [1.0, "x\u0041", {"k":"***", "z":null}],"b":1e2 }"#);
        assert_eq!(spliced("[1, 2]", &json!([1])), "[1]");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn spliced_text_is_the_new_value(old in any_json(), new in any_json(), is_pretty in any::<bool>()) {
            let text = if is_pretty { serde_json::to_string_pretty(&old).unwrap() } else { old.to_string() };
            prop_assert_eq!(&spliced(&text, &old), &text);
            let read: Value = serde_json::from_str(&spliced(&text, &new)).unwrap();
            prop_assert_eq!(read, new);
        }
    }
}
