//! Sockets for foreign components, which are linked and refuse everything: the runtimes of many languages import
//! sockets even if the program does not use any.

use portcullis_engine::EngineKind;
use wasmtime::component::{Linker, Resource};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::p2::bindings::sockets::{
    instance_network, ip_name_lookup, network, tcp, tcp_create_socket, udp, udp_create_socket,
};
use wasmtime_wasi::p3::bindings::sockets as wasi_0_3;
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
pub(super) fn link(linker: &mut Linker<InstanceState>, kind: EngineKind) -> Result<()> {
    link_wasi_0_2(linker)?;
    match kind {
        EngineKind::Synchronous => Ok(()),
        EngineKind::Concurrent => link_wasi_0_3(linker),
    }
}

fn link_wasi_0_2(linker: &mut Linker<InstanceState>) -> Result<()> {
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

/// The interfaces of WASI 0.3. The functions that open sockets are replaced by functions that refuse: all others need
/// a socket.
fn link_wasi_0_3(linker: &mut Linker<InstanceState>) -> Result<()> {
    use wasi_0_3::types::{ErrorCode, IpAddressFamily, TcpSocket, UdpSocket};
    type Opened<T> = (std::result::Result<Resource<T>, ErrorCode>,);

    wasi_0_3::types::add_to_linker::<InstanceState, WasiSockets>(linker, InstanceState::sockets)?;
    wasi_0_3::ip_name_lookup::add_to_linker::<InstanceState, WasiSockets>(linker, |state| {
        record_refusal(state, "look up a host's address")
    })?;
    linker.allow_shadowing(true);
    let mut types = linker.instance("wasi:sockets/types@0.3.0")?;
    types.func_wrap(
        "[static]tcp-socket.create",
        |mut store: StoreContextMut<'_, InstanceState>, _: (IpAddressFamily,)| {
            record_refusal(store.data_mut(), "open a TCP socket");
            Ok::<Opened<TcpSocket>, wasmtime::Error>((Err(ErrorCode::AccessDenied),))
        },
    )?;
    types.func_wrap(
        "[static]udp-socket.create",
        |mut store: StoreContextMut<'_, InstanceState>, _: (IpAddressFamily,)| {
            record_refusal(store.data_mut(), "open a UDP socket");
            Ok::<Opened<UdpSocket>, wasmtime::Error>((Err(ErrorCode::AccessDenied),))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

fn record_refusal<'a>(state: &'a mut InstanceState, subject: &str) -> WasiSocketsCtxView<'a> {
    state.gate.refuse_to_all("sockets", subject);
    state.sockets()
}
