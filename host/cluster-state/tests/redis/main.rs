//! Tests with a real Redis or Valkey server, which `just sessions` runs. Elsewhere they are shown as ignored.
//!
//! The environment variable `REDIS_SERVER` names the program; without it, `redis-server` is started.

#![expect(clippy::disallowed_methods, reason = "the tests start the server, and make its folder")]

mod caches;
mod news;
mod server;
mod sessions;
mod state;
mod tls;
