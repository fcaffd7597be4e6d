//! Connects a confined program to the hosts that were granted to it. The program is in a network of its own, in which
//! only these hosts exist ([`portcullis_confine::enter_network`]); the keeper, outside of this network, accepts the
//! program's connections, connects to the host, and passes the bytes on in both directions.
//!
//! The bytes are not read: TLS is between the program and the host. A name that leads to an address that is not public
//! is refused, unless the address is granted: otherwise, whoever owns the name could lead the program into a private
//! network.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, FromRawFd as _, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use portcullis_confine::{Host, MAX_HOSTS};
use portcullis_egress::is_public;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The maximum number of connections at the same time. Further ones wait.
const MAX_CONNECTIONS: usize = 256;

/// The time limit for finding and reaching a host.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// How long to wait after an error of `accept`, such as that no descriptor is left.
const PAUSE: Duration = Duration::from_millis(100);

/// Writes a message about a failure, without the line end.
pub(crate) type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// The keeper's and the launcher's end of the channel over which the launcher hands its listening sockets to the keeper.
pub(crate) fn handover() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    let (keeper, launcher) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The launcher inherits its end.
    fcntl_setfd(&launcher, FdFlags::empty())?;
    Ok((keeper, launcher))
}

/// Takes the end of the channel that the launcher inherited.
#[expect(unsafe_code, reason = "an inherited descriptor is a number")]
pub(crate) fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the keeper passed this descriptor to this process, and nothing else uses it.
    let channel = unsafe { OwnedFd::from_raw_fd(number) };
    // The program must not inherit it.
    fcntl_setfd(&channel, FdFlags::CLOEXEC)?;
    Ok(channel)
}

/// Hands listening sockets to the keeper.
pub(crate) fn hand_over(channel: &OwnedFd, listeners: &[TcpListener]) -> io::Result<()> {
    let sockets: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
    let message = SendAncillaryMessage::ScmRights(&sockets);
    let mut space = vec![MaybeUninit::uninit(); message.size()];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(message) {
        return Err(io::Error::other("there is no room for the sockets"));
    }
    sendmsg(channel, &[IoSlice::new(b"1")], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Waits for the launcher's listening sockets. Empty: the launcher has failed.
fn take_over(channel: &OwnedFd) -> io::Result<Vec<TcpListener>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_HOSTS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(channel, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let sockets = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(sockets) => sockets.collect(),
        RecvAncillaryMessage::ScmCredentials(_) | _ => Vec::new(),
    });
    Ok(sockets.map(TcpListener::from).collect())
}

/// Waits for the launcher's sockets, and then passes on the bytes of all connections until this process ends.
pub(crate) fn run(
    channel: &OwnedFd,
    hosts: &[Host],
    granted: &[IpNet],
    log: &Log,
) -> io::Result<()> {
    let listeners = take_over(channel)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let granted = Arc::<[IpNet]>::from(granted);
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    runtime.block_on(async {
        let mut all = tokio::task::JoinSet::new();
        for (listener, host) in listeners.into_iter().zip(hosts) {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let (host, granted, log, places) =
                (host.clone(), granted.clone(), log.clone(), places.clone());
            all.spawn(async move {
                loop {
                    let Ok(place) = places.clone().acquire_owned().await else { return };
                    let Ok((inner, _)) = listener.accept().await else {
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    };
                    let (host, granted, log) = (host.clone(), granted.clone(), log.clone());
                    tokio::spawn(async move {
                        if let Err(why) = connect(inner, &host, &granted).await {
                            log(&format!("no connection to {host}: {why}"));
                        }
                        drop(place);
                    });
                }
            });
        }
        while all.join_next().await.is_some() {}
        Ok(())
    })
}

/// Connects to the host, and passes on the bytes until both sides have ended.
async fn connect(mut inner: TcpStream, host: &Host, granted: &[IpNet]) -> io::Result<()> {
    let reached = timeout(CONNECT_TIMEOUT, reach(host, granted)).await;
    let mut outer = reached.map_err(|_| io::Error::other("it took too long"))??;
    // The end of a connection, however it ends, is no failure of this process.
    let _ended = copy_bidirectional(&mut inner, &mut outer).await;
    Ok(())
}

/// A connection to one of the host's addresses.
async fn reach(host: &Host, granted: &[IpNet]) -> io::Result<TcpStream> {
    let mut last = io::Error::other("it has no address");
    for address in addresses(host).await? {
        if !is_allowed(address.ip(), granted) {
            last = io::Error::other(format!(
                "its address {} is not public, and `confine.addresses` does not have it",
                address.ip()
            ));
            continue;
        }
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The addresses of a host. Names that end in `localhost` are those of this machine (RFC 6761), whatever a name server
/// says.
async fn addresses(host: &Host) -> io::Result<Vec<SocketAddr>> {
    if host.name == "localhost" || host.name.ends_with(".localhost") {
        return Ok(vec![(Ipv4Addr::LOCALHOST, host.port).into()]);
    }
    Ok(tokio::net::lookup_host((&*host.name, host.port)).await?.collect())
}

/// Whether the program may be connected to an address.
fn is_allowed(address: IpAddr, granted: &[IpNet]) -> bool {
    let address = address.to_canonical();
    is_public(address) || granted.iter().any(|net| net.contains(&address))
}

/// The number of a descriptor, for the launcher's argument.
pub(crate) fn number(channel: &OwnedFd) -> RawFd {
    channel.as_raw_fd()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_public_or_granted() {
        let granted = ["10.1.0.0/16".parse().unwrap()];
        for (address, allowed) in [
            ("93.184.215.14", true),
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("10.2.0.1", false),
            ("127.0.0.1", false),
            ("169.254.169.254", false),
            ("::1", false),
        ] {
            assert_eq!(is_allowed(address.parse().unwrap(), &granted), allowed, "{address}");
        }
    }

    #[tokio::test]
    async fn names_of_this_machine_are_not_asked_of_a_name_server() {
        for name in ["localhost:81", "api.localhost:81"] {
            let found = addresses(&name.parse().unwrap()).await.unwrap();
            assert_eq!(found, [SocketAddr::from(([127, 0, 0, 1], 81))]);
        }
    }

    #[test]
    fn sockets_are_handed_over_in_order() {
        let (keeper, launcher) = handover().unwrap();
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        hand_over(&launcher, &listeners).unwrap();
        let ports = |listeners: &[TcpListener]| -> Vec<_> {
            listeners.iter().map(|one| one.local_addr().unwrap().port()).collect()
        };
        assert_eq!(ports(&take_over(&keeper).unwrap()), ports(&listeners));
        drop(launcher);
        assert!(take_over(&keeper).unwrap().is_empty(), "the launcher has ended");
    }
}
