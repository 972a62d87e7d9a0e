//! One command of Windows: its program, switches, parameters and targets.

use super::path::posix;
use crate::command::invocation::Arg;
use crate::words::windows::VALUED;

/// One command of PowerShell or cmd.
#[derive(Debug, Clone, Default)]
pub(super) struct WindowsCommand {
    /// Its words; the first is the program.
    pub(super) words: Vec<Arg>,
    /// It holds something that came from elsewhere.
    pub(super) is_fetched: bool,
    /// It holds something that was decoded, into what is not known.
    pub(super) is_decoded: bool,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl WindowsCommand {
    /// The program's name, without folder and `.exe`, in small letters.
    pub(super) fn program(&self) -> String {
        let word = self.words.first().filter(|word| word.is_known()).map_or("", |word| word.text.as_str());
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
        name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(&name).to_owned()
    }

    pub(super) fn args(&self) -> &[Arg] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Whether a switch of this name is set; names may be cut off: `-rec`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.args().iter().any(|arg| {
            arg.text.strip_prefix('-').is_some_and(|given| {
                let given = given.split(':').next().unwrap_or("").to_ascii_lowercase();
                !given.is_empty() && name.starts_with(&given)
            })
        })
    }

    pub(super) fn has_word(&self, wanted: &str) -> bool {
        self.args().iter().any(|arg| {
            let word = arg.text.to_ascii_lowercase();
            wanted.strip_suffix('*').map_or(word == wanted, |start| word.starts_with(start))
        })
    }

    /// The value of a parameter: `-Path x`, `-Path:x`.
    pub(super) fn value(&self, names: &[&str]) -> Option<Arg> {
        let mut args = self.args().iter();
        while let Some(arg) = args.next() {
            let Some(given) = arg.text.strip_prefix('-') else { continue };
            let (given, inline) =
                given.split_once(':').map_or((given, None), |(name, value)| (name, Some(value)));
            let given = given.to_ascii_lowercase();
            if !given.is_empty() && names.iter().any(|name| name.starts_with(&given)) {
                return inline.map(Arg::known).or_else(|| args.next().cloned());
            }
        }
        None
    }

    /// What is neither a parameter nor its value, with paths in POSIX terms.
    pub(super) fn targets(&self) -> Vec<Arg> {
        let mut targets = Vec::new();
        let mut args = self.args().iter();
        while let Some(arg) = args.next() {
            match arg.text.strip_prefix('-').map(str::to_ascii_lowercase) {
                Some(name) if VALUED.iter().any(|known| name.len() > 1 && known.starts_with(&name)) => {
                    args.next();
                }
                Some(_) => {}
                None => targets.push(translated(arg)),
            }
        }
        targets
    }

    /// The targets of a command of cmd, whose switches start with a slash.
    pub(super) fn slash_targets(&self) -> Vec<Arg> {
        self.args().iter().filter(|arg| !is_switch(&arg.text)).map(translated).collect()
    }

    pub(super) fn has_slash(&self, name: u8) -> bool {
        self.args().iter().filter(|arg| is_switch(&arg.text)).any(|arg| {
            // `/s/q` are two.
            arg.text.split('/').any(|switch| {
                switch.as_bytes().first().is_some_and(|letter| letter.eq_ignore_ascii_case(&name))
            })
        })
    }
}

pub(super) fn is_switch(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|name| {
        let name = name.split([':', '/']).next().unwrap_or("");
        !name.is_empty()
            && name.len() <= 8
            && name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'-')
    })
}

/// A word with its path in POSIX terms. What is unknown stays where it is.
pub(super) fn translated(arg: &Arg) -> Arg {
    if !arg.is_known() {
        // Backslashes and slashes are as long as each other: the places of unknown parts stay right.
        return Arg { text: arg.text.replace('\\', "/"), ..arg.clone() };
    }
    let text = posix(&arg.text);
    let is_glob = text.contains(['*', '?']);
    Arg { text, unknown: Vec::new(), is_glob }
}
