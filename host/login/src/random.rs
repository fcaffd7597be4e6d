//! Random values that nobody can guess: for `state`, code verifiers and assertions.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

/// The operating system has no random bytes.
#[derive(Debug, Error)]
#[error("the system has no random bytes: {0}")]
pub struct RandomError(getrandom::Error);

/// 256 random bits in Base64url.
pub(crate) fn random() -> Result<String, RandomError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(RandomError)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
