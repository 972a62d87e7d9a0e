//! What is suspicious about one definition: hidden characters, orders, names that imitate others, sizes.

use midrail_core::{Confidence, OfferedTool};
use midrail_scan::injection::{self, invisible_character, name_letters};

use crate::shared::mcp_pins::{McpNames, is_tool};

/// The most bytes of the texts of one definition.
pub(super) const MAX_TEXT: usize = 64 << 10;

/// The first thing that a person has to know before they accept a definition.
pub(super) fn find(tool: &OfferedTool, names: &McpNames, key: &str) -> Option<String> {
    if tool.text.len() > MAX_TEXT {
        return Some(format!("it has {} bytes of text, more than {MAX_TEXT}", tool.text.len()));
    }
    if let Some(c) = invisible_character(&tool.text).or_else(|| invisible_character(&tool.name)) {
        return Some(format!("it contains the invisible character U+{:04X}", u32::from(c)));
    }
    if !tool.name.is_ascii() && is_plain(&tool.name) {
        return Some(format!("its name has letters that look like those of `{}`", name_letters(&tool.name)));
    }
    if let Some(what) = order(&tool.text) {
        return Some(what);
    }
    if let Some((server, other)) = names.alike(key, &tool.name, &tool.hash).filter(|_| is_tool(&tool.name)) {
        return Some(format!("its name is or looks like that of `{other}` of the server `{server}`"));
    }
    let (server, other) = names.named_in(key, &tool.name, &tool.text)?;
    Some(format!("its text names `{other}` of the server `{server}`"))
}

/// Whether a name with other letters reads as one in Latin letters.
fn is_plain(name: &str) -> bool {
    is_tool(name) && name_letters(name).is_ascii()
}

/// An instruction to the model beyond the description of the tool.
fn order(text: &str) -> Option<String> {
    let hits = injection::scan(text).into_iter().filter(|hit| hit.confidence >= Confidence::Medium);
    if let Some(hit) = hits.max_by_key(|hit| hit.confidence) {
        return Some(format!("it tries to instruct the model: {}", hit.explanation));
    }
    let words = normalized(text);
    let all = |parts: &[&str]| parts.iter().all(|part| words.contains(part));
    let any = |parts: &[&'static str]| parts.iter().find(|part| words.contains(**part)).copied();
    if let Some(phrase) = any(SECRECY) {
        return Some(format!("it asks the model to hide something from the user: `{}`", phrase.trim()));
    }
    if let Some(tag) = any(TAGS) {
        return Some(format!("it imitates a message to the model: `{tag}`"));
    }
    if let Some(file) = any(SECRET_FILES).filter(|_| any(TAKES).is_some()) {
        return Some(format!("it asks for a file with secrets: `{}`", file.trim()));
    }
    let orders = ORDERS.iter().find(|parts| all(parts));
    orders.map(|parts| format!("it gives orders about other calls: `{}`", parts.join(" … ").trim()))
}

/// The words of a text in lower case, each after one space.
fn normalized(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    for word in text.split_whitespace() {
        words.push(' ');
        words.extend(word.chars().map(|c| if c == '’' { '\'' } else { c }).flat_map(char::to_lowercase));
    }
    words.push(' ');
    words
}

const SECRECY: &[&str] = &[
    " do not tell ",
    " don't tell ",
    " do not mention ",
    " don't mention ",
    " do not inform ",
    " don't inform ",
    " never tell ",
    " never mention ",
    " without telling ",
    " without informing ",
    " without mentioning ",
    " do not reveal this",
    " do not show this",
    " hide this from ",
    " keep this secret",
    " the user must not know",
    " the user should not know",
    " do not notify ",
    " silently ",
    " without asking the user",
    " without the user's knowledge",
    " not visible to the user",
    " user does not need to know",
    " user doesn't need to know",
];

const TAGS: &[&str] = &[
    "<important>",
    "</important>",
    "<system>",
    "</system>",
    "<secret>",
    "<instructions>",
    "<instruction>",
    "<hidden>",
    "[system]",
    "[inst]",
    "<|im_start|>",
    "<|system|>",
    "### system",
    "<assistant>",
    "<critical>",
];

const SECRET_FILES: &[&str] = &[
    ".ssh",
    "id_rsa",
    "id_ed25519",
    ".aws/credentials",
    ".env ",
    ".env`",
    ".env,",
    "/etc/shadow",
    "/etc/passwd",
    ".cursor/mcp.json",
    ".netrc",
    ".kube/config",
    ".npmrc",
    ".git-credentials",
    "private key",
    "api keys",
    "access tokens",
    "environment variables",
    "claude_desktop_config",
];

const TAKES: &[&str] = &[
    " read ",
    " include ",
    " pass ",
    " send ",
    " attach ",
    " append ",
    " provide ",
    " fetch ",
    " open ",
    " cat ",
    " upload ",
    " contents of ",
    " content of ",
];

/// Words of which all occur in a text that orders other calls.
const ORDERS: &[&[&str]] = &[
    &[" before ", " using any other tool"],
    &[" before ", " calling any other tool"],
    &[" before ", " any other tool", " must "],
    &[" whenever ", " other tool", " must "],
    &[" instead of ", " any other tool"],
    &[" ignore ", " other tools"],
    &[" do not use ", " other tool"],
    &[" must first call "],
    &[" you must call this tool"],
    &[" always call this tool"],
    &[" all emails must "],
    &[" bcc ", " must "],
    &[" change the recipient"],
    &[" replace the recipient"],
    &[" previous instructions"],
    &[" prior instructions"],
    &[" system prompt"],
    &[" conversation history"],
    &[" entire conversation"],
    &[" full conversation"],
    &[" otherwise the ", " will not work", " must "],
];
