//! Options and operands of a program, told apart by which options take a value.

use super::invocation::Arg;

/// The arguments of a program, sorted.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// What is no option, by its place among the arguments.
    pub(super) operands: Vec<usize>,
    /// Options with a value of their own: `-o file`, `-ofile`, `--output=file`.
    pub(super) values: Vec<(String, Arg)>,
    /// Options without a value; clusters such as `-rf` are taken apart.
    pub(super) flags: Vec<String>,
}

impl Sorted {
    /// Whether one of these options stands there without a value.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.flags.iter().any(|flag| names.contains(&flag.as_str()))
    }

    /// The values of one of these options.
    pub(super) fn values_of<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Arg> {
        self.values.iter().filter(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value)
    }
}

/// Sorts arguments. With `stops`, everything from the first operand on is left to the caller: its place is then the
/// only operand.
pub(super) fn sort(args: &[Arg], values: &[&str], stops: bool) -> Sorted {
    let mut sorted = Sorted::default();
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let text = arg.text.as_str();
        if text == "--" {
            sorted.operands.extend((at + 1..args.len()).take(if stops { 1 } else { usize::MAX }));
            return sorted;
        }
        if text.len() < 2
            || !text.starts_with('-')
            || arg.unknown.first().is_some_and(|range| range.start == 0)
        {
            sorted.operands.push(at);
            if stops {
                return sorted;
            }
        } else if values.contains(&text) {
            at += 1;
            sorted.values.push((text.to_owned(), args.get(at).cloned().unwrap_or_default()));
        } else if text.starts_with("--") {
            match text.split_once('=') {
                Some((name, _)) => {
                    let value = tail(arg, name.len() + 1);
                    sorted.values.push((name.to_owned(), value));
                }
                None => sorted.flags.push(text.to_owned()),
            }
        } else {
            at += cluster(arg, values, args.get(at + 1), &mut sorted);
        }
        at += 1;
    }
    sorted
}

/// `-rf`, `-ofile` and `-xo file`. Answers how many further arguments were taken.
fn cluster(arg: &Arg, values: &[&str], next: Option<&Arg>, sorted: &mut Sorted) -> usize {
    let text = arg.text.as_str();
    // Options of one dash with a long name: `-exec`, `-name`.
    for (at, c) in text.char_indices().skip(1) {
        let flag = format!("-{c}");
        if values.contains(&flag.as_str()) {
            let after = at + c.len_utf8();
            if after < text.len() {
                sorted.values.push((flag, tail(arg, after)));
                return 0;
            }
            sorted.values.push((flag, next.cloned().unwrap_or_default()));
            return 1;
        }
        sorted.flags.push(flag);
        if at > 12 {
            break;
        }
    }
    sorted.flags.push(text.to_owned());
    0
}

/// A word whose value is not known.
pub(super) fn unknown(text: &str) -> Arg {
    Arg { text: text.to_owned(), unknown: std::iter::once(0..text.len()).collect(), is_glob: false }
}

/// A word from some byte on.
pub(super) fn tail(arg: &Arg, from: usize) -> Arg {
    Arg {
        text: arg.text.get(from..).unwrap_or("").to_owned(),
        unknown: arg
            .unknown
            .iter()
            .filter(|range| range.end > from)
            .map(|range| range.start.saturating_sub(from)..range.end - from)
            .collect(),
        is_glob: arg.is_glob,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_operands_are_told_apart() {
        let args: Vec<Arg> = ["-rf", "-ofile", "x", "-vo", "y", "--n=1", "--", "-z"].map(Arg::known).into();
        let sorted = sort(&args, &["-o"], false);
        assert_eq!(sorted.operands, [2, 7]);
        let values: Vec<(&str, &str)> =
            sorted.values.iter().map(|(name, value)| (name.as_str(), value.text.as_str())).collect();
        assert_eq!(values, [("-o", "file"), ("-o", "y"), ("--n", "1")]);
        assert!(sorted.has(&["-r"]) && sorted.has(&["-v"]) && !sorted.has(&["-z"]));
    }
}
