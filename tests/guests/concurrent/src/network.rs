//! The functions that use the network, through `wasi:http` and `wasi:sockets` of WASI 0.3.

use wasip3::http::client;
use wasip3::http::types::{Fields, Request, Response, Scheme};
use wasip3::sockets::ip_name_lookup;
use wasip3::sockets::types::{IpAddressFamily, TcpSocket, UdpSocket};

/// Requests a page.
pub async fn fetch(url: &str) -> Result<String, String> {
    let (_, rest) = url.split_once("://").ok_or("this is no URL")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (_trailers, none) = wasip3::wit_future::new(|| Ok(None));
    let (request, _sent) = Request::new(Fields::new(), None, none, None);
    request.set_scheme(Some(&Scheme::Http)).map_err(|()| "the scheme is refused")?;
    request.set_authority(Some(host)).map_err(|()| "the host is refused")?;
    let path = format!("/{path}");
    request.set_path_with_query(Some(&path)).map_err(|()| "the path is refused")?;
    let response = client::send(request).await.map_err(|code| format!("{code:?}"))?;
    let status = response.get_status_code();
    let (_done, read) = wasip3::wit_future::new(|| Ok(()));
    let (body, ended) = Response::consume_body(response, read);
    let body = body.collect().await;
    ended.await.map_err(|code| format!("{code:?}"))?;
    Ok(format!("{status} {}", String::from_utf8_lossy(&body)))
}

/// Tries to open sockets and to find a host.
pub async fn reach() -> Vec<String> {
    let said = |way: &str, code: String| format!("{way}: {code}");
    let tcp = TcpSocket::create(IpAddressFamily::Ipv4).map(|_| "done");
    let udp = UdpSocket::create(IpAddressFamily::Ipv4).map(|_| "done");
    let found = ip_name_lookup::resolve_addresses("localhost".to_owned()).await;
    vec![
        said("connect", format!("{tcp:?}")),
        said("send", format!("{udp:?}")),
        said("look up", format!("{:?}", found.map(|_| "done"))),
    ]
}
