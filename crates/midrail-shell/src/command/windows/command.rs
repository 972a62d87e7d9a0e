//! One command of Windows: its program, switches, parameters and targets, with paths in POSIX terms.

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
    /// It is one of cmd: its switches begin with a slash.
    pub(super) is_cmd: bool,
}

impl WindowsCommand {
    /// The same command with other words.
    pub(super) fn with_words(&self, words: Vec<Arg>) -> Self {
        WindowsCommand { words, ..self.clone() }
    }

    /// The program's name, without folder and `.exe`, in small letters.
    pub(super) fn program(&self) -> String {
        let word = self.words.first().filter(|word| word.is_known()).map_or("", |word| word.text.as_str());
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
        name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(&name).to_owned()
    }

    pub(super) fn args(&self) -> &[Arg] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Whether a switch of PowerShell with this name is set; names may be cut off: `-rec`.
    pub(super) fn has(&self, name: &str) -> bool {
        let is_it = |given: &str| {
            let given = given.split(':').next().unwrap_or("").to_ascii_lowercase();
            !given.is_empty() && name.starts_with(&given)
        };
        !self.is_cmd && self.args().iter().any(|arg| arg.text.strip_prefix('-').is_some_and(is_it))
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

    /// The files that it names.
    pub(super) fn files(&self) -> Vec<Arg> {
        if self.is_cmd { self.slash_targets() } else { self.targets() }
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
    Arg { is_glob, ..Arg::known(text) }
}

/// A path with slashes; the roots of Windows become their counterparts: `C:\` is `/`, `C:\Windows` lies in `/usr`,
/// `C:\Users\x` is `~`. Other paths keep their drive.
pub(super) fn posix(path: &str) -> String {
    let path = path.replace('\\', "/");
    let Some((drive, rest)) = path.split_once(':') else { return path };
    let is_drive = drive.len() == 1 && drive.bytes().all(|letter| letter.is_ascii_alphabetic());
    if !is_drive || !(rest.is_empty() || rest.starts_with('/')) {
        return path;
    }
    let rest = rest.trim_start_matches('/');
    let (first, below) = rest.split_once('/').unwrap_or((rest, ""));
    let under =
        |root: &str, below: &str| if below.is_empty() { root.to_owned() } else { format!("{root}/{below}") };
    match first.to_ascii_lowercase().as_str() {
        "" => "/".to_owned(),
        "*" | "*.*" => "/*".to_owned(),
        "windows" if below.to_ascii_lowercase().starts_with("temp/") => {
            under("/tmp", below.get(5..).unwrap_or(""))
        }
        "windows" | "program files" | "program files (x86)" => under("/usr", below),
        "programdata" => under("/var/lib", below),
        "temp" | "tmp" => under("/tmp", below),
        "users" if below.is_empty() => "/home".to_owned(),
        "users" => match below.split_once('/') {
            None if below == "*" => "/home/*".to_owned(),
            None => "~".to_owned(),
            Some((_, inside)) if inside.to_ascii_lowercase().starts_with("appdata/local/temp/") => {
                under("/tmp", inside.get(19..).unwrap_or(""))
            }
            Some((_, inside)) => under("~", inside),
        },
        _ => path,
    }
}

/// The value of a well-known variable of the environment.
pub(super) fn environment(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "userprofile" | "home" | "homepath" => Some("~"),
        "temp" | "tmp" => Some("/tmp"),
        "systemdrive" | "homedrive" => Some("C:"),
        "systemroot" | "windir" => Some("C:\\Windows"),
        "programfiles" | "programfiles(x86)" => Some("C:\\Program Files"),
        "programdata" | "allusersprofile" => Some("C:\\ProgramData"),
        "appdata" => Some("~/AppData/Roaming"),
        "localappdata" => Some("~/AppData/Local"),
        "public" => Some("C:\\Users\\Public"),
        _ => None,
    }
}
