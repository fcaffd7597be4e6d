//! A foreign component: it imports files and sockets, and some of its functions use them.
#![expect(unsafe_code, missing_docs, reason = "what wit-bindgen generates at the border")]

use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};

wit_bindgen::generate!({ world: "stranger" });

struct Stranger;

impl Guest for Stranger {
    fn shout(text: String) -> String {
        text.to_uppercase()
    }

    fn read_text(path: String) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    }

    fn reach(address: String) -> Vec<String> {
        let said = |way: &str, done: std::io::Result<()>| match done {
            Ok(()) => format!("{way}: done"),
            Err(error) => format!("{way}: {:?}", error.kind()),
        };
        vec![
            said("connect", TcpStream::connect(&address).map(drop)),
            said("listen", TcpListener::bind("127.0.0.1:0").map(drop)),
            said("send", UdpSocket::bind("127.0.0.1:0").map(drop)),
            said("look up", "localhost:80".to_socket_addrs().map(drop)),
        ]
    }
}

export!(Stranger);
