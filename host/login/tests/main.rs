//! Tests of logins, against a local server and a local issuer.
#![expect(clippy::disallowed_methods, reason = "tests make the files they need")]

mod stand_in;

mod hostile;
mod login;
