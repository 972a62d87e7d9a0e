//! Random identifiers and secrets.

use midrail_core::hex;

use crate::error::{EngineError, EngineResult};

/// `N` random bytes in hexadecimal.
pub(crate) fn random_hex<const N: usize>() -> EngineResult<String> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| EngineError::conflict(format!("no random bytes are available: {error}")))?;
    Ok(hex::encode(&bytes))
}

/// A random UUID, version 4.
pub(crate) fn unique_id() -> String {
    let mut bytes = [0_u8; 16];
    if getrandom::fill(&mut bytes).is_err() {
        return "00000000-0000-4000-8000-000000000000".to_owned();
    }
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
    *version = (*version & 0x0f) | 0x40;
    *variant = (*variant & 0x3f) | 0x80;
    let text = hex::encode(&bytes);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}
