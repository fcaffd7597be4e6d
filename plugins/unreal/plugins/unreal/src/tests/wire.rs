//! Sends the HTTP requests of a rehearsal to a fake editor over a real connection.

use super::{editor::Asset, *};
use portcullis_plugin::{
    http::{ErrorCode, Reason},
    rehearsal::{Page, Sent},
};
use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::TcpStream,
    time::Duration,
};

/// Time limit for an expected response, enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends a request.
pub fn send(sent: &Sent) -> Result<Page, Reason> {
    send_within(sent, PATIENCE)
}

/// Like [`send`], with another time limit: a short one, for a response that does not come.
pub fn send_within(sent: &Sent, patience: Duration) -> Result<Page, Reason> {
    let refused = Reason::Code(ErrorCode::ConnectionRefused);
    let rest = sent.url.strip_prefix("http://").expect("it is plain");
    let (authority, path) = rest.split_once('/').expect("it has a path");
    let mut stream = TcpStream::connect(authority).map_err(|_| refused)?;
    assert!(sent.patience.is_some(), "nothing is waited for without end");
    stream.set_read_timeout(Some(patience)).expect("it is a time");
    let mut head = format!("{} /{path} HTTP/1.1\r\nconnection: close\r\n", sent.method);
    for (name, value) in &sent.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let broken = |error: std::io::Error| reason(error.kind());
    stream.write_all(head.as_bytes()).map_err(broken)?;
    stream.write_all(&sent.body).map_err(broken)?;
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(0) => return Err(Reason::Code(ErrorCode::ConnectionTerminated)),
            Ok(_) if line.trim_end().is_empty() => break,
            Ok(_) => lines.push(line.trim_end().to_owned()),
            Err(error) => return Err(reason(error.kind())),
        }
    }
    let status = lines[0].split(' ').nth(1).and_then(|status| status.parse().ok());
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    // Without a length, the end of the connection ends the body.
    let mut left: usize = length.map_or(usize::MAX, |(_, value)| value.parse().expect("a number"));
    let is_stream = length.is_none();
    let (mut body, mut broken) = (Vec::new(), None);
    while left > 0 && broken.is_none() {
        let mut piece = vec![0; left.min(64 << 10)];
        match reader.read(&mut piece) {
            Ok(0) if is_stream => break,
            Ok(0) => broken = Some(Reason::Code(ErrorCode::HttpResponseIncomplete)),
            Ok(read) => {
                left -= read;
                piece.truncate(read);
                body.push(piece);
            }
            Err(error) => broken = Some(reason(error.kind())),
        }
    }
    Ok(Page { status: status.expect("it is a status"), headers, body, broken })
}

fn reason(kind: ErrorKind) -> Reason {
    // The operating system determines which of these kinds a timeout has.
    if matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut) {
        return Reason::Code(ErrorCode::ConnectionReadTimeout);
    }
    Reason::Code(ErrorCode::ConnectionTerminated)
}

/// The packages of a game, as assets of a fake editor.
pub fn assets(game: &Game) -> Vec<Asset> {
    let project = unreal_project::find(game.path()).expect("it is a project");
    let policy = unreal_project::TrustPolicy::default();
    let index = unreal_project::refresh(&project, None, 0, policy, |_, _| true).index;
    let mut assets = Vec::new();
    for entry in index.entries() {
        let bytes = fs::read(game.path().join(index.text(entry.file))).expect("it is there");
        let Ok(header) = unreal_package::Header::read(&bytes, entry.size) else { continue };
        let links = |soft: bool| {
            let links = index.links_of(entry).iter();
            let links = links
                .filter(|link| (link.strength == unreal_package::DependencyKind::Soft) == soft);
            links.map(|link| index.text(link.package).to_owned()).collect::<Vec<_>>()
        };
        for (asset, told) in index.assets_of(entry).iter().zip(&header.assets) {
            let tags = told.tags.iter().map(|(key, value)| (key.to_string(), value.to_string()));
            assets.push(Asset {
                package: index.text(entry.package).to_owned(),
                name: index.text(asset.path).to_owned(),
                class: index.text(asset.class).to_owned(),
                tags: tags.collect(),
                hard: links(false),
                soft: links(true),
                is_dirty: index.text(asset.path) == "BP_Door",
            });
        }
    }
    assets
}
