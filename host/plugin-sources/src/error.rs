//! Why a component could not be fetched or published.

use std::io;
use std::path::PathBuf;

use portcullis_egress::Fault;

use crate::digest::Digest;
use crate::signature::SignatureError;

/// Why a component could not be fetched or published. Each text says what failed, and some say what to do.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file cannot be read.
    #[error("reading {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The component, or another part of the artifact, is too large.
    #[error("{what} has more than {most} bytes, which is the limit")]
    TooLarge {
        /// The part.
        what: String,
        /// The limit, in bytes.
        most: u64,
    },
    /// The request failed.
    #[error("the request to {url} failed: {cause}{}", hint(*cause))]
    Request {
        /// The address, without its query.
        url: String,
        /// The cause.
        cause: Fault,
    },
    /// The address cannot be used in a request.
    #[error("{0:?} cannot be used as an address")]
    Url(String),
    /// The server answers with an unexpected status.
    #[error("{url} answers with HTTP status {status}{said}")]
    Status {
        /// The address, without its query.
        url: String,
        /// The status.
        status: u16,
        /// The error message of the registry. Empty: there is none.
        said: String,
    },
    /// The answer is a redirect that is not followed.
    #[error("{url} redirects to {to:?}, which is not followed: {why}")]
    Redirect {
        /// The address, without its query.
        url: String,
        /// Where the answer leads.
        to: String,
        /// Why it is not followed.
        why: &'static str,
    },
    /// The registry demands a login, or does not accept the login that was used.
    #[error(
        "{registry} refuses {what} without a login, or with the login that was used\n  hint: {hint}"
    )]
    Login {
        /// The registry.
        registry: String,
        /// The refused action.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The registry demands a login in a way that is not supported.
    #[error("{registry} demands a login in a way that is not supported: {why}")]
    Challenge {
        /// The registry.
        registry: String,
        /// Why it is not supported.
        why: String,
    },
    /// The file of logins cannot be used.
    #[error("the logins of registries in {}: {why}", path.display())]
    Logins {
        /// The file.
        path: PathBuf,
        /// Why it cannot be used.
        why: String,
    },
    /// There is no such artifact.
    #[error("{0} was not found: it does not exist, or only other users may see it")]
    Missing(String),
    /// The bytes are not those that the digest names.
    #[error(
        "{what} has the digest {found}, but the expected digest is {expected}: the server sent something else, and \
         nothing of it was used"
    )]
    WrongDigest {
        /// The part of the artifact.
        what: String,
        /// The expected digest.
        expected: Digest,
        /// The digest of the bytes that were sent.
        found: Digest,
    },
    /// The part has another size than the manifest says.
    #[error("{what} has {found} bytes, and its manifest says {expected}; nothing of it was used")]
    WrongSize {
        /// The part of the artifact.
        what: String,
        /// The size in the manifest.
        expected: u64,
        /// The number of bytes that were sent.
        found: u64,
    },
    /// The artifact is not a component.
    #[error("{artifact} is not a component: {why}")]
    NotComponent {
        /// The artifact.
        artifact: String,
        /// Why not.
        why: String,
    },
    /// The registry's answer cannot be understood.
    #[error("the answer of {url} cannot be understood: {why}")]
    Answer {
        /// The address, without its query.
        url: String,
        /// Why not.
        why: String,
    },
    /// `portcullis.toml` allows nothing from this source.
    #[error(
        "portcullis.toml allows no component from here: [plugin-sources.\"{pattern}\"] has `allow = false`"
    )]
    NotAllowed {
        /// The table's name.
        pattern: String,
    },
    /// The artifact lacks the signature or the provenance that `portcullis.toml` demands.
    #[error(
        "{artifact} is refused, because it does not meet [plugin-sources.\"{pattern}\"] of portcullis.toml: {cause}"
    )]
    Unverified {
        /// The artifact.
        artifact: String,
        /// The table's name.
        pattern: String,
        /// What is missing.
        #[source]
        cause: SignatureError,
    },
    /// All of the work took too long.
    #[error("{what} took more than {seconds} seconds, and was given up")]
    TooSlow {
        /// The work.
        what: String,
        /// The limit.
        seconds: u64,
    },
}

/// What the operator can do about a fault.
fn hint(cause: Fault) -> &'static str {
    match cause {
        Fault::AddressDenied => {
            "\n  hint: only the host that you name may have a private address; requests do not follow a redirect, or a \
             token server, to another private address"
        }
        Fault::Denied => {
            "\n  hint: HTTP is only for the server on this machine that you name; a redirect or a token server must \
             use HTTPS"
        }
        Fault::Certificate => {
            "\n  hint: if your own certificate authority issued the certificate, let the system trust this authority, \
             or name a file with all trusted authorities in the environment variable SSL_CERT_FILE"
        }
        Fault::TooMany
        | Fault::BadUrl
        | Fault::Misconfigured
        | Fault::ConnectionRefused
        | Fault::Unreachable
        | Fault::TimedOut
        | Fault::RequestTooLong
        | Fault::Protocol
        | Fault::Encoded
        | Fault::TooLong
        | Fault::Incomplete => "",
    }
}
