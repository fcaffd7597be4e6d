//! Sockets for foreign components, which are linked and refuse everything: the runtimes of many languages import
//! sockets even if the program does not use any.

use wasmtime::Result;
use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::sockets::{
    instance_network, ip_name_lookup, network, tcp, tcp_create_socket, udp, udp_create_socket,
};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsCtxView, WasiSocketsView as _};

use super::state::InstanceState;

/// The prefix of the names of these interfaces.
pub(super) const INTERFACES: &str = "wasi:sockets/";

/// Links the interfaces. The interfaces refuse everything, because a `WasiCtx` allows no protocols and no look-ups
/// by default. Attempts to open a socket or look up a name are recorded.
///
/// # Errors
///
/// Two interfaces define one name: a fault of this program.
pub(super) fn link(linker: &mut Linker<InstanceState>) -> Result<()> {
    tcp::add_to_linker::<InstanceState, WasiSockets>(linker, InstanceState::sockets)?;
    udp::add_to_linker::<InstanceState, WasiSockets>(linker, InstanceState::sockets)?;
    let options = network::LinkOptions::default();
    network::add_to_linker::<InstanceState, WasiSockets>(linker, &options, InstanceState::sockets)?;
    instance_network::add_to_linker::<InstanceState, WasiSockets>(linker, InstanceState::sockets)?;
    tcp_create_socket::add_to_linker::<InstanceState, WasiSockets>(linker, |state| {
        record_refusal(state, "open a TCP socket")
    })?;
    udp_create_socket::add_to_linker::<InstanceState, WasiSockets>(linker, |state| {
        record_refusal(state, "open a UDP socket")
    })?;
    ip_name_lookup::add_to_linker::<InstanceState, WasiSockets>(linker, |state| {
        record_refusal(state, "look up a host's address")
    })
}

fn record_refusal<'a>(state: &'a mut InstanceState, subject: &str) -> WasiSocketsCtxView<'a> {
    state.gate.refuse_to_all("sockets", subject);
    state.sockets()
}
