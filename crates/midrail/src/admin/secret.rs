//! Random secrets for keys.

use midrail_core::hex;

use crate::admin::handle::conflict;
use crate::error::EngineError;

/// `N` random bytes in hexadecimal.
pub(crate) fn random_hex<const N: usize>() -> Result<String, EngineError> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| conflict(format!("no random bytes are available: {error}")))?;
    Ok(hex::encode(&bytes))
}
