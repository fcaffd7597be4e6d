//! The sockets that a confined process may make.

/// Kinds of sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sockets {
    None,
    /// Those of the internet protocols, which stay in the network of the process.
    Internet,
    All,
}
