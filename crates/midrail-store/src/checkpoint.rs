//! Signed checkpoints of the audit log, and the public keys that verify them.

use ed25519_dalek::{Signature, VerifyingKey};
use midrail_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::chain::unhex;

/// A signature over the log up to one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The record.
    pub seq: u64,
    /// The record's hash.
    pub hash: String,
    /// When it was signed, exactly as in the signed message.
    pub time: String,
    /// The id of the key.
    pub key: String,
    /// The signature, in hexadecimal.
    pub signature: String,
}

impl Checkpoint {
    /// The signed message.
    pub(crate) fn message(&self) -> String {
        let Checkpoint { seq, hash, time, key, .. } = self;
        format!("midrail-checkpoint-v1\n{seq}\n{hash}\n{time}\n{key}\n")
    }

    /// Checks that one of the keys has signed this.
    pub fn check(&self, keys: &[PublicKey]) -> Result<(), &'static str> {
        let key = keys.iter().find(|key| key.id == self.key).ok_or("its key is unknown")?;
        let public = key.verifying().ok_or("its key is invalid, or has another id")?;
        let signature = unhex(&self.signature).ok_or("its signature is malformed")?;
        public
            .verify_strict(self.message().as_bytes(), &Signature::from_bytes(&signature))
            .map_err(|_| "its signature does not match")
    }
}

/// A key that verifies checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublicKey {
    /// Its id: the first 16 digits of the SHA-256 of its bytes.
    pub id: String,
    /// Its 32 bytes, in hexadecimal.
    pub public: String,
}

impl PublicKey {
    pub(crate) fn new(key: &VerifyingKey) -> Self {
        PublicKey { id: key_id(key.as_bytes()), public: hex::encode(key.as_bytes()) }
    }

    fn verifying(&self) -> Option<VerifyingKey> {
        let bytes = unhex(&self.public)?;
        (key_id(&bytes) == self.id).then(|| VerifyingKey::from_bytes(&bytes).ok())?
    }
}

fn key_id(bytes: &[u8; 32]) -> String {
    let mut whole = hex::encode(&Sha256::digest(bytes));
    whole.truncate(16);
    whole
}
