//! Sums and products of known numbers in `$((…))`. Everything else is not known.

use super::invocation::Arg;
use super::scope::Scope;

/// The value of an expression.
pub(super) fn value(expression: &Arg, scope: &Scope) -> Option<i64> {
    if !expression.is_known() || expression.text.len() > 200 {
        return None;
    }
    let mut reader = Reader { text: expression.text.as_bytes(), at: 0, scope, depth: 0 };
    let value = reader.sum()?;
    reader.skip();
    (reader.at == reader.text.len()).then_some(value)
}

/// A sign, and what it does with two numbers.
type Operator = (u8, fn(i64, i64) -> Option<i64>);

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    scope: &'a Scope,
    depth: usize,
}

impl Reader<'_> {
    fn skip(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn eat(&mut self, sign: u8) -> bool {
        self.skip();
        let found = self.text.get(self.at) == Some(&sign);
        if found {
            self.at += 1;
        }
        found
    }

    fn sum(&mut self) -> Option<i64> {
        self.operands(&[(b'+', i64::checked_add), (b'-', i64::checked_sub)], Reader::product)
    }

    fn product(&mut self) -> Option<i64> {
        let operators: &[Operator] =
            &[(b'*', i64::checked_mul), (b'/', i64::checked_div), (b'%', i64::checked_rem)];
        self.operands(operators, Reader::factor)
    }

    /// Operands with one of some operators between two.
    fn operands(&mut self, operators: &[Operator], operand: fn(&mut Self) -> Option<i64>) -> Option<i64> {
        let mut value = operand(self)?;
        while let Some((_, apply)) = operators.iter().find(|(sign, _)| self.eat(*sign)) {
            value = apply(value, operand(self)?)?;
        }
        Some(value)
    }

    fn factor(&mut self) -> Option<i64> {
        if self.depth > 16 {
            return None;
        }
        if self.eat(b'-') {
            self.depth += 1;
            let value = self.factor()?.checked_neg();
            self.depth -= 1;
            return value;
        }
        if self.eat(b'(') {
            self.depth += 1;
            let value = self.sum()?;
            self.depth -= 1;
            return self.eat(b')').then_some(value);
        }
        self.skip();
        let start = self.at;
        while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            self.at += 1;
        }
        let word = std::str::from_utf8(self.text.get(start..self.at)?).ok()?;
        if let Some(hex) = word.strip_prefix("0x") {
            return i64::from_str_radix(hex, 16).ok();
        }
        if word.len() > 1 && word.starts_with('0') {
            return i64::from_str_radix(word, 8).ok();
        }
        if let Ok(number) = word.parse() {
            return Some(number);
        }
        self.scope.first_value(word)?.text.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_arithmetic_is_evaluated() {
        for (text, expected) in
            [("1+2*3", Some(7)), ("(1+2)*3", Some(9)), ("-0x10", Some(-16)), ("x+1", None), ("1/0", None)]
        {
            assert_eq!(value(&Arg::known(text), &Scope::default()), expected, "{text}");
        }
    }
}
