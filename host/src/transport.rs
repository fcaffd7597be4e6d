//! How clients reach the host. The caller owns listener and shutdown.

pub mod http;
pub mod stdio;
