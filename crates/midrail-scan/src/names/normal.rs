//! The one spelling of a name: lower case, without `www.`, trailing dots, schemes and the spaces of numbers.

/// Forges: hosts whose first two parts of a path name an owner and a repository.
const FORGES: &[&str] = &[
    "github.com",
    "gitlab.com",
    "bitbucket.org",
    "codeberg.org",
    "gitee.com",
    "git.sr.ht",
    "huggingface.co",
];

/// Hosts whose pages belong to many owners, each of which has an address of its own. Naming such a host, or another page of it,
/// names none of them.
const SHARED_HOSTS: &[&str] = &[
    "api.dropboxapi.com",
    "api.github.com",
    "api.notion.com",
    "api.telegram.org",
    "api.trello.com",
    "content.dropboxapi.com",
    "discord.com",
    "discordapp.com",
    "docs.google.com",
    "drive.google.com",
    "dropbox.com",
    "file.io",
    "forms.gle",
    "gist.github.com",
    "gist.githubusercontent.com",
    "graph.facebook.com",
    "graph.microsoft.com",
    "hooks.slack.com",
    "hooks.zapier.com",
    "maker.ifttt.com",
    "notion.so",
    "paste.rs",
    "pastebin.com",
    "raw.githubusercontent.com",
    "s3.amazonaws.com",
    "script.google.com",
    "slack.com",
    "storage.googleapis.com",
    "transfer.sh",
    "trello.com",
    "uploads.github.com",
    "webhook.site",
];

/// Endings of files that are also top levels of domains: `setup.py` in a prompt is a file and names no host.
const FILE_ENDINGS: &[&str] = &[
    "ai", "app", "cc", "cs", "do", "env", "in", "md", "mk", "ml", "mm", "mov", "pl", "pm", "ps", "py", "rs",
    "sc", "sh", "so", "sql", "st", "vi", "zip",
];

/// The most bytes of a name.
const MAX_NAME: usize = 512;

/// The fewest digits of the number of a phone or an account.
const MIN_DIGITS: usize = 7;

/// Splits the value of an argument into single destinations: `Ann <a@x.example>, b@y.example`.
pub fn destinations(text: &str) -> Vec<String> {
    let text = text.trim();
    let mails: Vec<String> = text
        .split([',', ';', ' ', '\n', '\t', '<', '>', '"', '(', ')', '?', '&', '='])
        .filter_map(mail)
        .collect();
    if text.is_empty() {
        Vec::new()
    } else if mails.is_empty() || text.contains("://") {
        vec![text.to_owned()]
    } else {
        mails
    }
}

/// The spellings of a destination, one of which must be named: that of a URL is named by its host as well.
pub fn spellings(text: &str) -> Vec<String> {
    let text = trim(text);
    let text = text.strip_prefix("tel:").unwrap_or(text);
    if let [mail] = destinations(text).as_slice()
        && let Some(mail) = mail_address(mail)
    {
        return vec![mail];
    }
    if let Some(address) = Address::parse(text) {
        return address.spellings();
    }
    plain(text).into_iter().collect()
}

/// The names that a URL or host in a text stands for.
pub(super) fn address_names(word: &str) -> Option<Vec<String>> {
    let address = Address::parse(word)?;
    let mut names = vec![address.host_name(), address.whole()];
    names.extend(address.owner());
    Some(names)
}

/// The host of a URL, or of a text that is one.
pub(super) fn host(text: &str) -> Option<String> {
    let text = trim(text);
    let authority = text.split(['/', '?', '#']).next().unwrap_or(text);
    match authority.split(':').next() {
        // `localhost:a@other.example` is another host.
        Some("localhost") if !authority.contains(['@', '\\']) => Some("localhost".to_owned()),
        _ if text == "::1" => Some(text.to_owned()),
        _ => Address::parse(text).map(|address| address.host),
    }
}

/// The address of a mailbox in one spelling. `None`: the word is none.
pub(super) fn mail(word: &str) -> Option<String> {
    mail_address(trim(word))
}

fn mail_address(word: &str) -> Option<String> {
    let word = word.strip_prefix("mailto:").unwrap_or(word);
    let word = word.split('?').next().unwrap_or_default();
    let (name, host) = word.rsplit_once('@')?;
    let is_name = !name.is_empty() && !name.contains([':', '/', '@', ' ', '<', '>']);
    let host = normal_host(host).filter(|host| is_domain(host))?;
    (is_name && word.len() <= MAX_NAME).then(|| format!("{}@{host}", name.to_lowercase()))
}

/// Any other name: the number of a phone or an account without its spaces, or words in lower case.
pub(super) fn plain(text: &str) -> Option<String> {
    let text = trim(text).trim_start_matches(['@', '#']);
    if text.is_empty() || text.len() > MAX_NAME {
        return None;
    }
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_number = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '(' | ')' | '+' | '.' | '/'));
    let has_words =
        text.split(' ').any(|word| word.len() > 4 && word.chars().all(|c| c.is_ascii_alphabetic()));
    if digits >= MIN_DIGITS && is_number && !has_words {
        return Some(compact(text));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    Some(words.join(" ").to_lowercase())
}

/// A number without its spaces and signs.
pub(super) fn compact(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// A word without the punctuation around it.
pub(super) fn trim(word: &str) -> &str {
    word.trim().trim_matches([
        '.', ',', ';', ':', '!', '?', '"', '\'', '`', '<', '>', '(', ')', '[', ']', '{', '}', '*',
    ])
}

/// A URL, or a host with or without a path.
struct Address {
    host: String,
    /// Below the host, without slashes at the ends.
    path: String,
}

impl Address {
    fn parse(text: &str) -> Option<Self> {
        // Most words of a text have none of these signs, one of which every address has.
        let may_be_one = text.bytes().any(|byte| matches!(byte, b'.' | b'/' | b'[' | b'@'));
        if !may_be_one || text.len() > MAX_NAME || text.contains(char::is_whitespace) {
            return None;
        }
        let (scheme, rest) = text.split_once("//").unwrap_or(("", text));
        let has_scheme = text.starts_with("//") || scheme.ends_with(':');
        let rest = if has_scheme { rest } else { text };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = (rest.get(..end)?, rest.get(end..)?);
        // Programs disagree about the host of `https://a\@b/`.
        if authority.contains('\\') {
            return None;
        }
        // `git@host:path`
        let copied =
            authority.split_once('@').and_then(|(_, host)| host.split_once(':')).filter(|_| !has_scheme);
        let (host, path) = match copied {
            Some((host, below)) => (host, format!("{below}{path}")),
            None if authority.contains('@') && !has_scheme => return None,
            None => (without_port(authority.rsplit('@').next()?), path.to_owned()),
        };
        let host = normal_host(host)?;
        let is_host = is_domain(&host) && !(path.is_empty() && is_file_name(&host));
        if !has_scheme && copied.is_none() && !is_host && !is_number_host(&host) {
            return None;
        }
        let path = path.split('#').next().unwrap_or_default().trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path).to_lowercase();
        Some(Address { host, path })
    }

    /// The name of the host, which is not that of a file.
    fn host_name(&self) -> String {
        if is_file_name(&self.host) { format!("//{}", self.host) } else { self.host.clone() }
    }

    fn whole(&self) -> String {
        if self.path.is_empty() { self.host_name() } else { format!("{}/{}", self.host_name(), self.path) }
    }

    /// On a forge, the host with the first two parts of the path, which name an owner and what they own.
    fn owner(&self) -> Option<String> {
        let path = self.path.split('?').next().unwrap_or_default();
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let (first, second) = (parts.next()?, parts.next()?);
        FORGES.contains(&self.host.as_str()).then(|| format!("{}/{first}/{second}", self.host))
    }

    fn spellings(&self) -> Vec<String> {
        let host = self.host.as_str();
        let is_shared = FORGES.contains(&host) || SHARED_HOSTS.contains(&host);
        let wider = if is_shared { self.owner() } else { Some(self.host_name()) };
        // No one owns a shared host as a whole.
        let whole = Some(self.whole()).filter(|_| !is_shared || !self.path.is_empty());
        let whole = whole.unwrap_or_else(|| format!("{host}/"));
        std::iter::once(whole).chain(wider).collect()
    }
}

/// Whether a word is rather the name of a file than a host.
pub(super) fn is_file_name(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    matches!(parts.as_slice(), [_, ending] if FILE_ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

fn without_port(authority: &str) -> &str {
    if authority.starts_with('[') {
        return authority.split_inclusive(']').next().unwrap_or(authority);
    }
    authority.split(':').next().unwrap_or(authority)
}

/// A host in one spelling: lower case, in ASCII, without `www.` and a trailing dot.
fn normal_host(host: &str) -> Option<String> {
    let host = host.trim_end_matches('.').to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let is_host = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    if host.is_empty() || host.len() > 253 || !host.chars().all(is_host) {
        return None;
    }
    let labels: Option<Vec<String>> = host.split('.').map(ascii_label).collect();
    labels.map(|labels| labels.join("."))
}

/// Whether a host is a domain with a top level: `example.org`.
fn is_domain(host: &str) -> bool {
    let labels: Vec<&str> = host.split('.').collect();
    let top = labels.last().copied().unwrap_or_default();
    labels.len() > 1
        && labels.iter().all(|label| !label.is_empty() && !label.starts_with('-'))
        && top.len() > 1
        && (top.starts_with("xn--") || top.chars().all(|c| c.is_ascii_alphabetic()))
}

fn is_number_host(host: &str) -> bool {
    host.parse::<std::net::Ipv4Addr>().is_ok() || host.starts_with('[')
}

/// A label of a host in ASCII (RFC 3492).
fn ascii_label(label: &str) -> Option<String> {
    if label.is_ascii() {
        return Some(label.to_owned());
    }
    let basic: String = label.chars().filter(char::is_ascii).collect();
    let mut out = if basic.is_empty() { String::new() } else { format!("{basic}-") };
    let length = u32::try_from(label.chars().count()).ok()?;
    let basic_count = u32::try_from(basic.len()).ok()?;
    let (mut code, mut delta, mut bias, mut done) = (128_u32, 0_u32, 72_u32, basic_count);
    while done < length {
        let next = label.chars().map(u32::from).filter(|c| *c >= code).min()?;
        delta = delta.checked_add((next - code).checked_mul(done + 1)?)?;
        code = next;
        for c in label.chars().map(u32::from) {
            if c < code {
                delta = delta.checked_add(1)?;
            }
            if c == code {
                let mut rest = delta;
                let mut k = 36;
                loop {
                    let threshold = if k <= bias { 1 } else { (k - bias).min(26) };
                    if rest < threshold {
                        break;
                    }
                    out.push(digit(threshold + (rest - threshold) % (36 - threshold))?);
                    rest = (rest - threshold) / (36 - threshold);
                    k += 36;
                }
                out.push(digit(rest)?);
                bias = adapted(delta, done + 1, done == basic_count);
                delta = 0;
                done += 1;
            }
        }
        delta = delta.checked_add(1)?;
        code = code.checked_add(1)?;
    }
    Some(format!("xn--{out}"))
}

fn digit(value: u32) -> Option<char> {
    match value {
        0..26 => char::from_u32(u32::from(b'a') + value),
        _ => char::from_u32(u32::from(b'0') + value - 26),
    }
}

fn adapted(delta: u32, count: u32, is_first: bool) -> u32 {
    let mut delta = if is_first { delta / 700 } else { delta / 2 };
    delta += delta / count;
    let mut k = 0;
    while delta > 455 {
        delta /= 35;
        k += 36;
    }
    k + 36 * delta / (delta + 38)
}
