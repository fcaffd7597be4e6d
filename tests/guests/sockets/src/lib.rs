//! A test plugin that imports sockets, and is therefore refused before it runs.

use std::io::Write;
use std::net::{TcpListener, TcpStream, UdpSocket};

use portcullis_plugin::prelude::*;

/// Connects, listens, sends.
#[arguments]
struct Connect {
    address: String,
}

impl Tool for Connect {
    const NAME: &'static str = "connect";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.write_all(b"hello")?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        UdpSocket::bind("127.0.0.1:0")?.send_to(b"hello", &self.address)?;
        Ok(format!("listening at {}", listener.local_addr()?))
    }
}

plugin! { name: "sockets", tools: [Connect] }
