//! Tests with servers that send the secret back: in each part of a response, and in pieces.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use http_body_util::Empty;

use super::*;
use crate::{
    Client, Connection, ConnectionPermit, Request, RequestLimits, RequestPermit, RequestPolicy,
    Secret, Secrets,
};

const KEY: &str = "the-token/0f+me";

/// A policy that allows everything.
struct AllowAll(Secrets);

impl RequestPolicy for AllowAll {
    fn permit(&self, request: Request) -> Option<Box<dyn RequestPermit>> {
        request.permit_without_record_if(true)
    }

    fn permit_connection(&self, connection: Connection) -> Option<Box<dyn ConnectionPermit>> {
        connection.permit_without_record_if(true)
    }

    fn secrets(&self) -> Option<&Secrets> {
        Some(&self.0)
    }
}

/// A server that sends these pieces in response to every request, each with its own write. `HEAD` at the end of a piece
/// is replaced by the head of the request.
fn server(pieces: Vec<Vec<u8>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n > 0) {
                head.push(byte[0]);
            }
            for piece in &pieces {
                let sent = match piece.strip_suffix(b"HEAD") {
                    Some(before) => [before, &head].concat(),
                    None => piece.clone(),
                };
                // The client may have closed the connection.
                let _gone = stream.write_all(&sent);
            }
        }
    });
    port
}

/// The response that a client with a secret for `owner` gets, as text: headers, body and trailers.
async fn fetch(port: u16, owner: &str, most: usize) -> Result<String, Fault> {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().write_all(format!("Bearer {KEY}\n").as_bytes()).unwrap();
    let secret = Secret::File(file.path().to_owned());
    let secrets = [("authorization".to_owned(), secret)].into();
    let policy = AllowAll([(owner.parse().unwrap(), secrets)].into());
    let limits = RequestLimits { requests: 3, body_bytes: most, time: Duration::from_secs(30) };
    let mut client = Client::new(policy, limits, "tests");
    let request = http::Request::get(format!("http://127.0.0.1:{port}/"))
        .header("accept-encoding", "gzip")
        .header("te", "gzip");
    let response = client.send(request.body(Empty::<Bytes>::new()).unwrap(), None).await?;
    let mut text = format!("{:?} {:?}\n", response.headers(), response.extensions());
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => match frame.into_data() {
                Ok(data) => text += &String::from_utf8_lossy(&data),
                Err(frame) => text += &format!("{:?}", frame.trailers_ref()),
            },
            Err(fault) => text += &format!("{fault:?}"),
        }
    }
    Ok(text)
}

/// A response in one piece.
fn one_piece(text: &str) -> Vec<Vec<u8>> {
    vec![text.replace('\n', "\r\n").into_bytes()]
}

#[tokio::test]
async fn a_secret_is_removed_from_every_part_of_a_response() {
    let name = KEY.replace('/', "_").replace('+', "-");
    for (part, expected) in [
        (
            "HTTP/1.1 200 OK\nconnection: close\n\nHEAD".to_owned(),
            "authorization: Bearer ***************",
        ),
        (format!("HTTP/1.1 200 {KEY}\ncontent-length: 2\n\nok"), "\nok"),
        (
            format!("HTTP/1.1 302 Found\nlocation: /a?key={KEY}\ncontent-length: 0\n\n"),
            "/a?key=***",
        ),
        (
            format!("HTTP/1.1 200 OK\n{name}: x\ncontent-length: 0\n\n"),
            "\"***************\": \"x\"",
        ),
        (
            format!(
                "HTTP/1.1 200 OK\ntransfer-encoding: chunked\ntrailer: x-t\n\n2\nok\n0\nx-t: {KEY}\n\n"
            ),
            "ok",
        ),
        (
            format!("HTTP/1.1 200 OK\ncontent-length: {}\n\nxx{KEY}yy", KEY.len() + 4),
            "xx***************yy",
        ),
    ] {
        let port = server(one_piece(&part));
        let text = fetch(port, &format!("http://127.0.0.1:{port}"), 10_000).await.unwrap();
        assert!(!text.contains("the-token") && text.contains(expected), "{part}: {text}");
        // The secret of another origin is removed, too.
        let text = fetch(port, "other.example", 10_000).await.unwrap();
        assert!(!text.contains("the-token"), "{part}: {text}");
    }
}

#[tokio::test]
async fn a_secret_is_found_in_pieces_of_a_body() {
    let text = format!("xx Bearer {KEY} yy");
    for at in 1..text.len() {
        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len()).into_bytes();
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        let port = server(vec![head, chunk(&text[..at]), chunk(&text[at..]), chunk("")]);
        let text = fetch(port, &format!("http://127.0.0.1:{port}"), 10_000).await.unwrap();
        assert!(text.ends_with("\nxx Bearer *************** yy"), "{at}: {text}");
    }
}

#[tokio::test]
async fn a_compressed_body_is_not_asked_for_and_is_refused() {
    for header in [
        "content-encoding: gzip",
        "Content-Encoding: identity, br",
        "transfer-encoding: gzip, chunked",
    ] {
        let port =
            server(one_piece(&format!("HTTP/1.1 200 OK\n{header}\nconnection: close\n\nzipped")));
        let fault = fetch(port, &format!("http://127.0.0.1:{port}"), 10_000).await;
        assert_eq!(fault, Err(Fault::Encoded), "{header}");
    }
    let port = server(one_piece("HTTP/1.1 200 OK\nconnection: close\n\nHEAD"));
    let text = fetch(port, &format!("http://127.0.0.1:{port}"), 10_000).await.unwrap();
    assert!(text.contains("accept-encoding: identity") && !text.contains("gzip"), "{text}");
}

#[tokio::test]
async fn a_secret_that_the_limit_cuts_is_not_shown() {
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len()).into_bytes();
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let before = "x".repeat(990);
    let first = chunk(&format!("{before}{}", &KEY[..10]));
    let port = server(vec![head, first, chunk(&KEY[10..]), chunk("")]);
    let most = before.len() + KEY.len() - 1;
    let text = fetch(port, &format!("http://127.0.0.1:{port}"), most).await.unwrap();
    assert!(text.contains("TooLong") && text.contains("xxx") && !text.contains("the-t"), "{text}");
}
