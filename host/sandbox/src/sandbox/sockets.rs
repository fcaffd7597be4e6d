//! Sockets for plain components: there, so that such a component can be linked, and refusing everything.
//!
//! What a language's runtime brings imports sockets, whether its program uses them or not.

use wasmtime::Result;
use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::sockets::{
    instance_network, ip_name_lookup, network, tcp, tcp_create_socket, udp, udp_create_socket,
};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsCtxView, WasiSocketsView as _};

use super::state::State;

/// The start of the names of what is linked here.
pub(super) const INTERFACES: &str = "wasi:sockets/";

/// Links them. They refuse because a `WasiCtx` allows no protocol and no look-ups unless told to; each
/// attempt to begin something is recorded.
///
/// # Errors
///
/// Where two parts define one name: a fault of this program.
pub(super) fn link(linker: &mut Linker<State>) -> Result<()> {
    tcp::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    udp::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    let options = network::LinkOptions::default();
    network::add_to_linker::<State, WasiSockets>(linker, &options, State::sockets)?;
    instance_network::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    tcp_create_socket::add_to_linker::<State, WasiSockets>(linker, |state| {
        refusing(state, "open a TCP socket")
    })?;
    udp_create_socket::add_to_linker::<State, WasiSockets>(linker, |state| {
        refusing(state, "open a UDP socket")
    })?;
    ip_name_lookup::add_to_linker::<State, WasiSockets>(linker, |state| {
        refusing(state, "look up a host's address")
    })
}

fn refusing<'a>(state: &'a mut State, subject: &str) -> WasiSocketsCtxView<'a> {
    state.gate.refuse_to_all("sockets", subject);
    state.sockets()
}
