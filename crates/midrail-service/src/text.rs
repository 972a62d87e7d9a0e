//! Short texts for messages and names.

/// Text of a request in a message: without control characters, and cut short.
pub(crate) fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// A short random name. Without randomness it is not unique, which is harmless for names that only label things.
pub(crate) fn random_name() -> String {
    let mut bytes = [0_u8; 4];
    let _ = getrandom::fill(&mut bytes);
    midrail_core::hex::encode(&bytes)
}
