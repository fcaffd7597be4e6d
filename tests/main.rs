//! The black-box tests: they run the built binary like a user does.
//!
//! Most tests are folders in `tests/cases`: see [`cases`]. Tests in Rust cover what a transcript
//! cannot express.
#![expect(clippy::disallowed_methods, reason = "that list is about the host, not about its tests")]

mod approvals;
mod architecture;
mod audit;
mod bombs;
mod bounds;
mod cases;
mod changes;
mod closed;
mod commands;
mod concurrent;
mod configurations;
mod confined;
mod crowds;
mod dev;
mod documents;
mod ends;
mod families;
mod generation;
mod generation_faults;
mod generation_options;
mod generation_traces;
mod grants;
mod http_server;
mod isolation;
mod listing;
mod new_projects;
mod offers;
mod on_windows;
mod ownership;
mod paths;
mod permits;
mod plugin_cases;
mod plugin_sources;
mod plugins;
mod processes;
mod protocol;
mod reload;
mod report;
mod run_loading;
mod run_notices;
mod runs;
mod secrets;
mod secured;
mod setup;
mod several_hosts;
mod shops;
mod strangers;
mod support;
mod telemetry;
mod terminal;
mod trail;
mod transports;
mod turns;
mod unconfined;
mod unreal;
mod upstream_cold;
mod upstream_faults;
mod upstream_login;
mod upstreams;
mod views;
mod wrap;
