//! A network in which only some hosts exist. Linux gives it to a process that makes a namespace of its own: it has
//! loopback and no other interface.
//!
//! Each host has an address on loopback, at which this process listens, and a line in a file that takes the place of
//! `/etc/hosts`. So a program connects to a host as always, and needs to know no proxy. The caller hands the listening
//! sockets to a process outside of the namespace, which passes the bytes on ([`enter`]). Every other name and address
//! leads nowhere.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use libc::{c_int, c_ulong};

use crate::error::NetworkError;
use crate::host::Host;

/// The file of names, which programs read before they ask a name server.
const HOSTS_FILE: &CStr = c"/etc/hosts";

/// The network of the addresses that stand for names. It is a part of loopback, and not the one that programs use for
/// themselves.
const NAMES: [u8; 2] = [127, 77];

/// Moves this process into a network in which only these hosts exist. Returns the listening sockets, in the order of the
/// hosts: whoever accepts a connection has to pass its bytes on to the host. This process and all that it starts stay in
/// this network, and have none of the rights that making it needed. Must be called while the process has only one
/// thread.
///
/// # Errors
///
/// The system does not let this user make namespaces, or a step fails.
pub fn enter(hosts: &[Host]) -> Result<Vec<TcpListener>, NetworkError> {
    let failed = |step: &'static str| move |cause: io::Error| NetworkError { step, cause };
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    call(&Step::Unshare).map_err(failed("making namespaces"))?;
    // The user stays the same, so that files belong to whom they belonged before.
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ] {
        std::fs::write(file, text).map_err(failed("keeping the user and the group"))?;
    }
    call(&Step::Interface("lo", None)).map_err(failed("starting the network"))?;
    let (listeners, names) = listen(hosts).map_err(failed("listening for a host"))?;
    replace_hosts_file(&names).map_err(failed("replacing /etc/hosts"))?;
    drop_rights().map_err(failed("giving up rights"))?;
    Ok(listeners)
}

/// Listens at an address for each host. Also returns the text of the file of names.
fn listen(hosts: &[Host]) -> io::Result<(Vec<TcpListener>, String)> {
    let mut text = "127.0.0.1 localhost\n".to_owned();
    let mut addresses: HashMap<&str, Ipv4Addr> =
        HashMap::from([("localhost", Ipv4Addr::LOCALHOST)]);
    let mut listeners = Vec::new();
    for host in hosts {
        let number = addresses.len();
        let address = *addresses.entry(&host.name).or_insert_with(|| {
            let [high, low] = u16::try_from(number).unwrap_or(u16::MAX).to_be_bytes();
            let [a, b] = NAMES;
            let address = host.address().unwrap_or(Ipv4Addr::new(a, b, high, low));
            if host.address().is_none() {
                text += &format!("{address} {}\n", host.name);
            }
            address
        });
        if !address.is_loopback() {
            call(&Step::Interface(&format!("lo:{number}"), Some(address)))?;
        }
        listeners.push(TcpListener::bind((address, host.port))?);
    }
    Ok((listeners, text))
}

/// Puts a file with this text in the place of `/etc/hosts`, for this process only.
fn replace_hosts_file(text: &str) -> io::Result<()> {
    call(&Step::PrivateMounts)?;
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(text.as_bytes())?;
    // The mount keeps the file when its name is removed.
    call(&Step::Mount(file.path()))
}

/// Gives up all capabilities, also those that programs of the superuser get when they are started.
fn drop_rights() -> io::Result<()> {
    call(&Step::NoRootRights)?;
    let mut capability = 0;
    loop {
        match call(&Step::DropBounding(capability)) {
            Ok(()) => capability += 1,
            // The system has no capability of this number: the one before was the last.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => break,
            Err(error) => return Err(error),
        }
    }
    call(&Step::NoAmbientRights)?;
    call(&Step::NoRights)
}

/// A call of the system.
enum Step<'a> {
    /// Namespaces of users, networks and mounts.
    Unshare,
    /// Mounts are not seen outside of this namespace.
    PrivateMounts,
    /// This file takes the place of [`HOSTS_FILE`].
    Mount(&'a Path),
    /// Starts an interface of the network, after it got this address.
    Interface(&'a str, Option<Ipv4Addr>),
    /// The superuser gets no capabilities when a program is started.
    NoRootRights,
    /// No program can get this capability.
    DropBounding(c_ulong),
    NoAmbientRights,
    NoRights,
}

/// The version of `capset` with two words for each set.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// Arguments of `prctl`, which reads words.
const ZERO: c_ulong = 0;
const NO_ROOT: c_ulong =
    (libc::SECBIT_NOROOT | libc::SECBIT_NOROOT_LOCKED).unsigned_abs() as c_ulong;
const CLEAR_AMBIENT: c_ulong = libc::PR_CAP_AMBIENT_CLEAR_ALL.unsigned_abs() as c_ulong;

/// The header of `capset`.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    process: c_int,
}

/// Makes a call.
#[expect(unsafe_code, reason = "no library among the dependencies makes these calls")]
fn call(step: &Step<'_>) -> io::Result<()> {
    let none = std::ptr::null();
    let result = match step {
        // SAFETY: takes flags only.
        Step::Unshare => unsafe {
            libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET | libc::CLONE_NEWNS)
        },
        // SAFETY: the texts end with a zero byte, and the other pointers may be null.
        Step::PrivateMounts => unsafe {
            let flags = libc::MS_REC | libc::MS_PRIVATE;
            libc::mount(c"none".as_ptr(), c"/".as_ptr(), none, flags, none.cast())
        },
        Step::Mount(file) => {
            let file = CString::new(file.as_os_str().as_bytes())?;
            // SAFETY: as above.
            unsafe {
                libc::mount(file.as_ptr(), HOSTS_FILE.as_ptr(), none, libc::MS_BIND, none.cast())
            }
        }
        Step::Interface(name, address) => return start_interface(name, *address),
        // SAFETY: takes numbers only.
        Step::NoRootRights => unsafe {
            libc::prctl(libc::PR_SET_SECUREBITS, NO_ROOT, ZERO, ZERO, ZERO)
        },
        // SAFETY: as above.
        Step::DropBounding(capability) => unsafe {
            libc::prctl(libc::PR_CAPBSET_DROP, *capability, ZERO, ZERO, ZERO)
        },
        // SAFETY: as above.
        Step::NoAmbientRights => unsafe {
            libc::prctl(libc::PR_CAP_AMBIENT, CLEAR_AMBIENT, ZERO, ZERO, ZERO)
        },
        Step::NoRights => {
            let header = CapabilityHeader { version: CAPABILITY_VERSION, process: 0 };
            let sets = [0_u32; 6];
            // SAFETY: the header and the six words are those of this version, and live until the call returns.
            let result =
                unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) };
            c_int::try_from(result).unwrap_or(-1)
        }
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A number of the system's headers, in the smaller type that a structure has for it.
fn number<T: TryFrom<c_int>>(number: c_int) -> io::Result<T> {
    T::try_from(number).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}

/// Gives an interface its address, and starts it.
#[expect(unsafe_code, reason = "no library among the dependencies makes these calls")]
fn start_interface(name: &str, address: Option<Ipv4Addr>) -> io::Result<()> {
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: all members of the structure are numbers, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
        // `c_char` has a sign on some processors only; its bits are the same.
        *to = libc::c_char::from_ne_bytes([from]);
    }
    if let Some(address) = address {
        let address = libc::sockaddr_in {
            sin_family: number(libc::AF_INET)?,
            sin_port: 0,
            sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.octets()) },
            sin_zero: [0; 8],
        };
        // SAFETY: an IPv4 address has the size of the union's member for addresses.
        request.ifr_ifru.ifru_addr =
            unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(address) };
        // SAFETY: the structure is the one that this request takes, and lives until the call returns.
        if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFADDR as _, &raw const request) }
            < 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    request.ifr_ifru.ifru_flags = number(libc::IFF_UP | libc::IFF_RUNNING)?;
    // SAFETY: as above.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
