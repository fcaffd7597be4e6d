//! A registry on this machine, after the OCI distribution specification 1.1 (`spec.md` of
//! opencontainers/distribution-spec), with the faults that tests ask for. Tokens are given as the token specification
//! of distribution/distribution describes it (`docs/content/spec/auth/token.md`).
#![allow(dead_code, reason = "each of the tests uses a part of it")]

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// Bytes that begin like a component. Only their beginning is checked.
pub const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0 a component";

/// The digest of some bytes.
pub fn sha256(bytes: &[u8]) -> String {
    let hex: String =
        digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The `Content-Length` of the answer, if it differs from the length of the body.
    pub length: Option<usize>,
    /// Whether the connection stays open after the body until the client gives up.
    pub hangs: bool,
}

impl Reply {
    /// An answer with a body.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), ..Self::default() }
    }

    /// The answer with a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// A request, as it arrived.
struct Asked {
    method: String,
    path: String,
    query: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// The content of the registry, and its faults.
#[derive(Default)]
pub struct State {
    /// Blobs by `REPOSITORY DIGEST`.
    pub blobs: BTreeMap<String, Vec<u8>>,
    /// Manifests by `REPOSITORY REFERENCE`.
    pub manifests: BTreeMap<String, Vec<u8>>,
    /// Answers that replace the registry's own answers, by path.
    pub faults: BTreeMap<String, Reply>,
    /// A user and a password, without which there is no token.
    pub login: Option<(String, String)>,
    /// Whether the registry has the API of referrers.
    pub has_referrers: bool,
    /// The requests so far: method, path, and whether there was an authorization.
    pub asked: Vec<String>,
}

/// A registry. It runs until the process of the tests ends.
pub struct Registry {
    /// The address.
    pub address: SocketAddr,
    scheme: &'static str,
    state: Arc<Mutex<State>>,
}

impl Registry {
    /// A registry over HTTP, or with this certificate over HTTPS.
    pub fn start(tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback address");
        let address = listener.local_addr().expect("a loopback address");
        let state = Arc::new(Mutex::new(State { has_referrers: true, ..State::default() }));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (shared, tls) = (shared.clone(), tls.clone());
                std::thread::spawn(move || {
                    let _cut_off = serve(stream, tls, address.port(), scheme, &shared);
                });
            }
        });
        Self { address, scheme, state }
    }

    /// The content of the registry.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics with it")
    }

    /// The host of the registry.
    pub fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    /// The reference of an artifact: `rest` is `REPOSITORY:TAG`.
    pub fn reference(&self, rest: &str) -> String {
        let scheme = if self.scheme == "http" { "oci+http" } else { "oci" };
        format!("{scheme}://{}/{rest}", self.host())
    }

    /// Adds a blob and returns its descriptor.
    pub fn blob(&self, repository: &str, media: &str, bytes: &[u8]) -> Value {
        let digest = sha256(bytes);
        self.state().blobs.insert(format!("{repository} {digest}"), bytes.to_owned());
        json!({ "mediaType": media, "digest": digest, "size": bytes.len() })
    }

    /// Adds a manifest under a reference and under its digest, and returns its digest.
    pub fn manifest(&self, repository: &str, reference: &str, manifest: &Value) -> String {
        let bytes = manifest.to_string().into_bytes();
        let digest = sha256(&bytes);
        let mut state = self.state();
        state.manifests.insert(format!("{repository} {reference}"), bytes.clone());
        state.manifests.insert(format!("{repository} {digest}"), bytes);
        digest
    }

    /// Adds a component as wkg publishes it, and returns the digest of its manifest.
    pub fn component(&self, repository: &str, tag: &str, component: &[u8]) -> String {
        let layer = self.blob(repository, "application/wasm", component);
        let config = json!({
            "created": "2026-01-01T00:00:00Z", "architecture": "wasm", "os": "wasip2",
            "layerDigests": [layer["digest"]], "component": { "exports": [], "imports": [], "target": null },
        });
        let config = self.blob(
            repository,
            "application/vnd.wasm.config.v0+json",
            config.to_string().as_bytes(),
        );
        self.manifest(repository, tag, &artifact(&config, &[layer]))
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<String> {
        self.state().asked.clone()
    }
}

/// A manifest.
pub fn artifact(config: &Value, layers: &[Value]) -> Value {
    json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": layers,
    })
}

fn serve(
    stream: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    port: u16,
    scheme: &str,
    state: &Mutex<State>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let Some(config) = tls else { return exchange(stream, port, scheme, state) };
    let tls = ServerConnection::new(config).map_err(io::Error::other)?;
    exchange(StreamOwned::new(tls, stream), port, scheme, state)
}

fn exchange(
    stream: impl Read + Write,
    port: u16,
    scheme: &str,
    state: &Mutex<State>,
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let asked = read(&mut stream)?;
    let reply = {
        let mut state = state.lock().expect("no test panics with it");
        let authorization = asked.headers.get("authorization").map_or("", |_| " authorized");
        let line = format!("{} {}{authorization}", asked.method, asked.path);
        state.asked.push(line);
        let fault = state.faults.get(&asked.path).cloned();
        fault.unwrap_or_else(|| answer(&asked, port, scheme, &mut state))
    };
    let stream = stream.get_mut();
    let length = reply.length.unwrap_or(reply.body.len());
    let mut head =
        format!("HTTP/1.1 {} x\r\ncontent-length: {length}\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    if asked.method != "HEAD" {
        stream.write_all(&reply.body)?;
    }
    stream.flush()?;
    if reply.hangs {
        let _until_the_client_gives_up = stream.read(&mut [0; 1]);
    }
    Ok(())
}

fn read(stream: &mut impl BufRead) -> io::Result<Asked> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut asked = Asked {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: HashMap::new(),
        body: Vec::new(),
    };
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            asked.headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
    }
    let length = asked.headers.get("content-length").and_then(|length| length.parse().ok());
    stream.take(length.unwrap_or(0)).read_to_end(&mut asked.body)?;
    Ok(asked)
}

fn answer(asked: &Asked, port: u16, scheme: &str, state: &mut State) -> Reply {
    let authorization = asked.headers.get("authorization").map(String::as_str);
    if let Some((user, password)) = &state.login {
        let basic = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        if asked.path == "/token" {
            let is_known = authorization == Some(&basic) && asked.query.contains("service=test");
            return match is_known {
                true => Reply::new(200, json!({ "token": "t0ken" }).to_string()),
                false => Reply::new(401, ""),
            };
        }
        if authorization != Some("Bearer t0ken") {
            let realm = format!("{scheme}://localhost:{port}/token");
            let challenge = format!("Bearer realm=\"{realm}\",service=\"test\",scope=\"x\"");
            return Reply::new(401, "").with("www-authenticate", challenge);
        }
    }
    let missing =
        || Reply::new(404, r#"{"errors":[{"code":"NAME_UNKNOWN","message":"not here"}]}"#);
    let Some(rest) = asked.path.strip_prefix("/v2/") else { return missing() };
    if rest == "_catalog" {
        let mut names: Vec<_> =
            state.manifests.keys().filter_map(|key| key.split(' ').next()).collect();
        names.dedup();
        return Reply::new(200, json!({ "repositories": names }).to_string());
    }
    if let Some(repository) = rest.strip_suffix("/tags/list") {
        let of = |key: &String| Some(key.strip_prefix(repository)?.strip_prefix(' ')?.to_owned());
        let tags: Vec<_> =
            state.manifests.keys().filter_map(of).filter(|tag| !tag.contains(':')).collect();
        return match tags.is_empty() {
            true => missing(),
            false => Reply::new(200, json!({ "tags": tags }).to_string()),
        };
    }
    if let Some((repository, digest)) = rest.split_once("/referrers/") {
        return if state.has_referrers { referrers(state, repository, digest) } else { missing() };
    }
    if let Some(repository) = rest.strip_suffix("/blobs/uploads/") {
        return Reply::new(202, "").with("location", format!("/v2/{repository}/blobs/uploads/1"));
    }
    if let Some((repository, _)) = rest.split_once("/blobs/uploads/") {
        let digest = asked.query.trim_start_matches("digest=").replace("%3A", ":");
        if sha256(&asked.body) != digest {
            return Reply::new(400, r#"{"errors":[{"code":"DIGEST_INVALID"}]}"#);
        }
        state.blobs.insert(format!("{repository} {digest}"), asked.body.clone());
        return Reply::new(201, "");
    }
    if let Some((repository, digest)) = rest.split_once("/blobs/") {
        let blob = state.blobs.get(&format!("{repository} {digest}"));
        return blob.map_or_else(missing, |blob| Reply::new(200, blob.clone()));
    }
    let Some((repository, reference)) = rest.split_once("/manifests/") else { return missing() };
    if asked.method == "PUT" {
        for name in [reference, &sha256(&asked.body)] {
            state.manifests.insert(format!("{repository} {name}"), asked.body.clone());
        }
        return Reply::new(201, "");
    }
    match state.manifests.get(&format!("{repository} {reference}")) {
        Some(bytes) => Reply::new(200, bytes.clone()).with("docker-content-digest", sha256(bytes)),
        None => missing(),
    }
}

fn referrers(state: &State, repository: &str, digest: &str) -> Reply {
    let mut found = Vec::new();
    for (key, bytes) in &state.manifests {
        let manifest: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let is_by_digest = key.starts_with(&format!("{repository} sha256:"));
        if is_by_digest && manifest["subject"]["digest"] == digest {
            found.push(json!({
                "mediaType": manifest["mediaType"], "artifactType": manifest["artifactType"],
                "digest": sha256(bytes), "size": bytes.len(),
            }));
        }
    }
    Reply::new(200, json!({ "schemaVersion": 2, "manifests": found }).to_string())
}

/// A key pair, and signatures as cosign makes them.
pub struct Signer {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Signer {
    /// A new key pair.
    pub fn new() -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)
            .expect("randomness");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random);
        Self { pair: pair.expect("just made"), random }
    }

    /// The public key, as `cosign generate-key-pair` writes it.
    pub fn public_pem(&self) -> String {
        let mut der = STANDARD.decode("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE").expect("base64");
        // The last of these bytes, 4, begins the point.
        der.pop();
        der.extend_from_slice(self.pair.public_key().as_ref());
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
    }

    /// A signature in base64.
    pub fn sign(&self, bytes: &[u8]) -> String {
        STANDARD.encode(self.pair.sign(&self.random, bytes).expect("a signature"))
    }

    /// Signs a manifest in the way of cosign 1 and 2.
    pub fn sign_with_tag(
        &self,
        registry: &Registry,
        repository: &str,
        manifest: &str,
        about: &str,
    ) {
        let payload = json!({
            "critical": {
                "identity": { "docker-reference": "" }, "image": { "docker-manifest-digest": about },
                "type": "cosign container image signature",
            },
            "optional": null,
        });
        let payload = payload.to_string();
        let media = "application/vnd.dev.cosign.simplesigning.v1+json";
        let mut layer = registry.blob(repository, media, payload.as_bytes());
        layer["annotations"] =
            json!({ "dev.cosignproject.cosign/signature": self.sign(payload.as_bytes()) });
        let config = registry.blob(repository, "application/vnd.oci.image.config.v1+json", b"{}");
        let tag = format!("{}.sig", manifest.replace(':', "-"));
        registry.manifest(repository, &tag, &artifact(&config, &[layer]));
    }

    /// An envelope (DSSE) about a manifest.
    pub fn envelope(&self, about: &str, predicate_type: &str, predicate: &Value) -> Value {
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "digest": { "sha256": about.trim_start_matches("sha256:") } }],
            "predicateType": predicate_type, "predicate": predicate,
        });
        let (kind, payload) = ("application/vnd.in-toto+json", statement.to_string());
        let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
        json!({
            "payloadType": kind, "payload": STANDARD.encode(&payload),
            "signatures": [{ "sig": self.sign(signed.as_bytes()) }],
        })
    }

    /// Attaches an envelope in the way of cosign 3.
    pub fn attach(&self, registry: &Registry, repository: &str, manifest: &str, envelope: &Value) {
        let material = json!({ "publicKey": { "hint": "" } });
        attach_bundle(registry, repository, manifest, &material, envelope);
    }
}

/// Attaches a bundle that refers to a manifest.
pub fn attach_bundle(
    registry: &Registry,
    repository: &str,
    manifest: &str,
    material: &Value,
    envelope: &Value,
) {
    let media = "application/vnd.dev.sigstore.bundle.v0.3+json";
    let bundle =
        json!({ "mediaType": media, "verificationMaterial": material, "dsseEnvelope": envelope });
    let layer = registry.blob(repository, media, bundle.to_string().as_bytes());
    let config = registry.blob(repository, "application/vnd.oci.empty.v1+json", b"{}");
    let mut attached = artifact(&config, &[layer]);
    attached["artifactType"] = json!(media);
    attached["subject"] = json!({
        "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": manifest, "size": 1,
    });
    let digest = registry.manifest(repository, "attached", &attached);
    let mut state = registry.state();
    state.manifests.remove(&format!("{repository} attached"));
    if !state.has_referrers {
        // The specification requires this of clients if the registry has no referrers API.
        let key = format!("{repository} {}", manifest.replace(':', "-"));
        let index = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [{
                "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": media,
                "digest": digest, "size": attached.to_string().len(),
            }],
        });
        state.manifests.insert(key, index.to_string().into_bytes());
    }
}
