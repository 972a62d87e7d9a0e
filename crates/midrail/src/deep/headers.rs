//! The headers of a request: keys are added here and nowhere else.

use midrail_guardrails::{EnvVariable, HeaderPiece, Headers};

use super::wire::Lookup;
use crate::error::Unavailable;

/// Shorter values of variables cannot be distinguished from other text.
const LEAST_SECRET: usize = 8;

/// Headers with the values of their variables.
pub(super) struct RequestHeaders {
    pub(super) values: Vec<(String, String)>,
    /// What must not come back, in an answer or in an error.
    secrets: Vec<String>,
}

impl RequestHeaders {
    /// Reads the variables that the headers name.
    pub(super) fn resolve(headers: &Headers, lookup: Lookup) -> Result<Self, Unavailable> {
        let mut resolved = RequestHeaders { values: Vec::new(), secrets: Vec::new() };
        for (name, pieces) in headers.iter() {
            let mut value = String::new();
            for piece in pieces {
                match piece {
                    HeaderPiece::Words(words) => value.push_str(words),
                    HeaderPiece::Variable(variable) => value.push_str(&resolved.read(variable, lookup)?),
                }
            }
            resolved.values.push((name.to_owned(), value));
        }
        Ok(resolved)
    }

    /// Adds a header that holds a key.
    pub(super) fn key(
        &mut self,
        name: &str,
        before: &str,
        variable: Option<&EnvVariable>,
        lookup: Lookup,
    ) -> Result<(), Unavailable> {
        if let Some(variable) = variable {
            let key = self.read(variable.as_str(), lookup)?;
            self.values.push((name.to_owned(), format!("{before}{key}")));
        }
        Ok(())
    }

    /// Adds a header that is no secret.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        self.values.push((name.to_owned(), value.to_owned()));
    }

    fn read(&mut self, variable: &str, lookup: Lookup) -> Result<String, Unavailable> {
        let value = lookup(variable).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let unset = || format!("the environment variable `{variable}` is not set; set it where Midrail runs");
        let value = value.ok_or_else(unset)?;
        if !value.chars().all(|c| (' '..='~').contains(&c)) {
            let why =
                format!("the environment variable `{variable}` has characters that a header cannot have");
            return Err(why.into());
        }
        if value.len() >= LEAST_SECRET {
            self.secrets.push(value.clone());
        }
        Ok(value)
    }

    /// A text without the values of the variables.
    pub(super) fn hide(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "…"))
    }

    /// Whether a value of a variable is in these bytes.
    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        self.secrets.iter().any(|secret| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()))
    }
}
