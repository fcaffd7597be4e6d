//! Tests of the client: it sends requests to a server on loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use http_body_util::{Empty, Full};

use super::*;
use crate::{Secret, Secrets};

/// The longest time for one request, and for the server to receive the request.
const PATIENCE: Duration = Duration::from_secs(30);

const LIMITS: RequestLimits = RequestLimits { requests: 3, body_bytes: 1000, time: PATIENCE };

/// A server that keeps the heads of the requests it received.
struct Web {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Web {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let known = heads.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                respond(stream.unwrap(), &known);
            }
        });
        Self { port, heads }
    }
}

/// Reads the head of a request and responds to it.
fn respond(mut stream: TcpStream, heads: &Mutex<Vec<String>>) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read > 0) {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let (line, body) = match head.split(' ').nth(1) {
        Some("/moved") => ("302 Found\r\nlocation: /elsewhere", String::new()),
        Some("/long") => ("200 OK", "x".repeat(1001)),
        Some(_) | None => ("200 OK", "as it should be".to_owned()),
    };
    heads.lock().push(head);
    let length = body.len();
    let text =
        format!("HTTP/1.1 {line}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    // The client may have closed the connection.
    let _gone = stream.write_all(text.as_bytes());
}

/// The questions that a policy was asked, as text.
type Asked = Arc<Mutex<Vec<String>>>;

#[derive(Clone, Default)]
struct TestPolicy {
    requests: bool,
    connections: bool,
    secrets: Secrets,
    asked: Asked,
}

impl RequestPolicy for TestPolicy {
    fn permit(&self, request: Request) -> Option<Box<dyn RequestPermit>> {
        let Request { origin, method, path } = &request;
        self.asked.lock().push(format!("{method} {}{path}", origin.url()));
        request.permit_without_record_if(self.requests)
    }

    fn permit_connection(&self, connection: Connection) -> Option<Box<dyn ConnectionPermit>> {
        self.asked.lock().push(format!("{} at {}", connection.host, connection.address));
        connection.permit_without_record_if(self.connections)
    }

    fn secrets(&self) -> Option<&Secrets> {
        Some(&self.secrets)
    }
}

fn everything() -> TestPolicy {
    TestPolicy { requests: true, connections: true, ..TestPolicy::default() }
}

/// A client that uses no proxy, whatever the environment of the tests says.
fn client(policy: TestPolicy) -> Client {
    let mut client = Client::new(policy, LIMITS, "tests");
    client.client = Some(client.builder().no_proxy().build().unwrap());
    client
}

fn get(address: &str) -> http::Request<Empty<Bytes>> {
    http::Request::get(address).body(Empty::new()).unwrap()
}

async fn status(client: &mut Client, address: &str) -> Result<u16, Fault> {
    Ok(client.send(get(address), None).await?.status().as_u16())
}

#[tokio::test]
async fn an_allowed_request_is_sent_with_the_secret_headers() {
    let web = Web::start();
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().write_all(b"the-token").unwrap();
    let address = format!("http://127.0.0.1:{}", web.port);
    let policy = TestPolicy { secrets: secrets(&address, file.path()), ..everything() };
    let mut request = get(&format!("{address}/page?q=1"));
    request.headers_mut().insert("x-key", "made up".parse().unwrap());
    request.headers_mut().insert("host", "elsewhere.example".parse().unwrap());
    let response = client(policy.clone()).send(request, None).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "as it should be");
    assert_eq!(
        *policy.asked.lock(),
        [format!("GET {address}/page"), "127.0.0.1 at 127.0.0.1".into()]
    );
    let heads = web.heads.lock();
    let [head] = &heads[..] else { panic!("one request: {heads:?}") };
    assert!(head.starts_with("GET /page?q=1 HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("user-agent: tests\r\n") && head.contains("x-key: the-token\r\n"),
        "{head}"
    );
    assert!(!head.contains("made up") && !head.contains("elsewhere"), "{head}");
}

#[tokio::test]
async fn a_refused_request_is_not_sent() {
    let web = Web::start();
    let (address, name) =
        (format!("http://127.0.0.1:{}/", web.port), format!("http://localhost:{}/", web.port));
    let no_address = TestPolicy { connections: false, ..everything() };
    for (policy, address, expected) in [
        (TestPolicy { requests: false, ..everything() }, &address, Fault::Denied),
        (no_address.clone(), &address, Fault::AddressDenied),
        (no_address.clone(), &name, Fault::AddressDenied),
    ] {
        assert_eq!(status(&mut client(policy), address).await.unwrap_err(), expected, "{address}");
    }
    let asked = no_address.asked.lock();
    assert!(asked.iter().any(|asked| asked.starts_with("localhost at ")), "{asked:?}");
    assert!(web.heads.lock().is_empty());
}

#[tokio::test]
async fn the_policy_is_asked_for_the_address_of_a_name() {
    let web = Web::start();
    let policy = everything();
    let address = format!("http://localhost:{}/", web.port);
    assert_eq!(status(&mut client(policy.clone()), &address).await, Ok(200));
    let asked = policy.asked.lock();
    assert!(asked.contains(&"localhost at 127.0.0.1".to_owned()), "{asked:?}");
}

#[tokio::test]
async fn redirects_are_not_followed_and_the_number_of_requests_is_limited() {
    let web = Web::start();
    let address = format!("http://127.0.0.1:{}/moved", web.port);
    let mut client = client(everything());
    for _ in 0..LIMITS.requests {
        assert_eq!(status(&mut client, &address).await, Ok(302));
    }
    assert_eq!(status(&mut client, &address).await, Err(Fault::TooMany));
    let heads = web.heads.lock();
    assert_eq!(heads.len(), 3);
    assert!(heads.iter().all(|head| head.starts_with("GET /moved ")), "{heads:?}");
}

#[tokio::test]
async fn bodies_are_limited() {
    let web = Web::start();
    let address = format!("http://127.0.0.1:{}", web.port);
    let mut client = client(everything());
    let response = client.send(get(&format!("{address}/long")), None).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap_err(), Fault::TooLong);
    let body = Full::new(Bytes::from("x".repeat(LIMITS.body_bytes + 1)));
    let request = http::Request::post(format!("{address}/post")).body(body).unwrap();
    assert_eq!(client.send(request, None).await.unwrap_err(), Fault::RequestTooLong);
}

#[tokio::test]
async fn failed_requests_have_different_faults() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut client = client(everything());
    assert_eq!(
        status(&mut client, &format!("http://{free}/")).await,
        Err(Fault::ConnectionRefused)
    );
    let user = "http://user@127.0.0.1/";
    assert_eq!(status(&mut client, user).await, Err(Fault::BadUrl));
    // A listener that never accepts: the system establishes the connection, and no response comes.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", silent.local_addr().unwrap());
    let soon = Some(Duration::from_millis(50));
    assert_eq!(client.send(get(&address), soon).await.unwrap_err(), Fault::TimedOut);
}

fn secrets(address: &str, file: &std::path::Path) -> Secrets {
    let secrets = [("x-key".to_owned(), Secret::File(file.to_owned()))].into();
    [(address.parse().unwrap(), secrets)].into()
}

/// The number of addresses to which the resolver resolves a name.
async fn resolved(names: Names, name: &str) -> Option<usize> {
    let resolver =
        PolicyResolver { policy: Arc::new(everything()), names: Arc::new(Mutex::new(names)) };
    Some(resolver.resolve(name.parse().unwrap()).await.ok()?.count())
}

#[tokio::test]
async fn a_name_that_is_neither_an_allowed_host_nor_a_proxy_is_not_resolved() {
    assert_eq!(resolved(Names::default(), "localhost").await, None);
    let proxies = HashSet::from(["localhost".to_owned()]);
    let of_proxy = Names { proxies, ..Names::default() };
    assert!(resolved(of_proxy, "localhost").await.is_some_and(|found| found > 0));
    let other = Names { proxies: HashSet::from(["proxy.test".to_owned()]), ..Names::default() };
    assert_eq!(resolved(other, "localhost").await, None);
}

#[tokio::test]
async fn the_addresses_of_an_allowed_host_are_judged_although_it_is_a_proxy_too() {
    let names = || HashSet::from(["localhost".to_owned()]);
    let both = Names { allowed: names(), proxies: names() };
    let policy = TestPolicy { connections: false, ..everything() };
    let resolver = PolicyResolver { policy: Arc::new(policy), names: Arc::new(Mutex::new(both)) };
    assert!(resolver.resolve("localhost".parse().unwrap()).await.is_err());
}
