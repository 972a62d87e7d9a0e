//! What the words of a command mean in a section of `data/own_things.txt`.

use crate::shared::data::OWN_THINGS;

/// What a command does to a thing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Make,
    Delete,
}

impl Step {
    /// The keys of its rows, of its options with a value, and of its flags.
    pub(super) fn keys(self) -> [&'static str; 3] {
        match self {
            Step::Make => ["make", "make values", "make flags"],
            Step::Delete => ["delete", "delete values", "delete flags"],
        }
    }
}

/// The rows of one program.
pub(super) struct Section(&'static [&'static str]);

impl Section {
    pub(super) fn all() -> impl Iterator<Item = Section> {
        OWN_THINGS
            .iter()
            .filter(|(_, rows)| rows.iter().any(|row| row.starts_with("kind: ")))
            .map(|(_, rows)| Section(rows))
    }

    /// The texts of the rows with a key.
    pub(super) fn rows<'s>(&'s self, key: &'s str) -> impl Iterator<Item = &'static str> + 's {
        self.0.iter().filter_map(move |row| row.strip_prefix(key)?.strip_prefix(": "))
    }

    fn has(&self, key: &str, option: &str) -> bool {
        self.rows(key).flat_map(|row| row.split(' ')).any(|word| word == option)
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        self.rows(key).next().is_some()
    }

    /// The usual spelling of an option that is part of the place.
    fn place(&self, option: &str) -> Option<&'static str> {
        self.rows("place").flat_map(|row| row.split(' ')).find(|names| is_one_of(names, option))
    }
}

/// Whether a word is one of the alternatives of a row.
pub(super) fn is_one_of(alternatives: &str, word: &str) -> bool {
    alternatives.split('|').any(|it| it == word)
}

/// The words of a command, sorted by what they mean in a section.
#[derive(Default)]
pub(super) struct Words {
    operands: Vec<String>,
    statements: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) place: Vec<String>,
}

impl Words {
    /// At most so many operands are read: what follows the image of `docker run` is a command. `None`: an option is not known.
    pub(super) fn sort(section: &Section, step: Step, args: &[String], most: usize) -> Option<Self> {
        let [_, values, flags] = step.keys();
        let is_statement = section.contains("statement");
        let mut words = Words::default();
        let mut args = args.iter();
        while let Some(arg) = args.next().filter(|_| words.operands.len() < most) {
            if !arg.starts_with('-') || arg == "-" {
                // The name of a database may be the address of a server: `psql host=x`.
                if is_statement && is_address(arg) {
                    return None;
                }
                words.operands.push(arg.clone());
                continue;
            }
            let (option, attached) = match arg.split_once('=') {
                Some((option, value)) if arg.starts_with("--") => (option, Some(value)),
                _ => (arg.as_str(), None),
            };
            let mut value = || attached.map(str::to_owned).or_else(|| args.next().cloned());
            if section.has("statement", option) {
                words.statements.push(value()?);
            } else if section.has("name", option) {
                words.names.push(value()?);
            } else if let Some(names) = section.place(option) {
                words.place.push(format!("{names}={}", value()?));
            } else if section.has(values, option) {
                value().filter(|value| !is_statement || !is_address(value))?;
            } else if attached.is_some() || !is_flag(section, flags, option) {
                return None;
            }
        }
        words.place.sort();
        Some(words)
    }

    /// The names behind the words of a row. A command creates one thing.
    pub(super) fn named(&self, row: &[&str], step: Step) -> Option<Vec<String>> {
        if !self.statements.is_empty() {
            let [statement] = self.statements.as_slice() else { return None };
            let statement: Vec<&str> = statement.trim().trim_end_matches(';').split_whitespace().collect();
            let (name, words) = statement.split_last()?;
            let is_row = words.len() == row.len()
                && words.iter().zip(row).all(|(word, wanted)| word.eq_ignore_ascii_case(wanted));
            // Servers fold the case of names differently.
            let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            return (is_row && is_plain).then(|| vec![(*name).to_owned()]);
        }
        let (words, rest) = self.operands.split_at_checked(row.len())?;
        let is_row = words.iter().zip(row).all(|(word, wanted)| is_one_of(wanted, word));
        let names = match (step, self.names.as_slice()) {
            (_, []) if step == Step::Delete => rest.to_vec(),
            (_, []) => rest.iter().take(1).cloned().collect(),
            // Which of several counts depends on the program.
            (Step::Make, [_, _, ..]) => return None,
            (_, names) => names.to_vec(),
        };
        let is_plain = |name: &String| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/:".contains(c))
        };
        (is_row && !names.is_empty() && names.iter().all(is_plain)).then_some(names)
    }
}

/// Whether a word may be the address of a server.
fn is_address(word: &str) -> bool {
    word.contains("://") || word.contains('=')
}

/// Whether an option is a flag, or a group of flags of one letter: `-dit`.
fn is_flag(section: &Section, flags: &str, option: &str) -> bool {
    let letters = option.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.is_ascii());
    section.has(flags, option)
        || letters.is_some_and(|letters| letters.chars().all(|c| section.has(flags, &format!("-{c}"))))
}
