//! Tests of sources: files, and a server on this machine that also sends wrong data and redirects to other hosts.

#![expect(clippy::disallowed_methods, reason = "keys of the tests are files")]

mod stand_in;

use std::net::TcpListener;
use std::path::PathBuf;

use portcullis_plugin_sources::{
    About, Artifact, Fetched, GivenLogin, Listed, Location, Logins, Reference, Source,
    SourceConfig, SourceConfigs, SourceError, Terms, Verified, fetch, list, publish, published,
    resolve,
};
use serde_json::{Value, json};
use stand_in::{COMPONENT, Registry, Reply, Signer, artifact, attach_bundle, sha256};

/// The maximum size of a component in these tests, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

async fn get_with(
    text: &str,
    demands: &SourceConfigs,
    logins: &Logins,
) -> Result<Fetched, SourceError> {
    let source = Source::parse(text).expect("a source");
    fetch(&source, Terms { demands, logins, most: MAX_BYTES }).await
}

async fn get(text: &str) -> Result<Fetched, SourceError> {
    get_with(text, &SourceConfigs::new(), &Logins::default()).await
}

async fn refusal(text: &str) -> String {
    get(text).await.expect_err(text).to_string()
}

#[tokio::test]
async fn a_component_comes_whole_by_its_tag_and_by_its_digest() {
    let registry = Registry::start(None);
    let digest = registry.component("org/weather", "1.0", COMPONENT);
    let fetched = get(&registry.reference("org/weather:1.0")).await.unwrap();
    assert_eq!(fetched.component, COMPONENT);
    assert_eq!(fetched.artifact.unwrap().to_string(), digest);
    assert_eq!(fetched.digest.to_string(), sha256(COMPONENT));
    assert_eq!(fetched.verified, Verified::NotDemanded);
    get(&registry.reference(&format!("org/weather@{digest}"))).await.unwrap();
    let missing = refusal(&registry.reference("org/weather:2.0")).await;
    assert!(missing.contains("was not found") && missing.contains("org/weather:2.0"), "{missing}");
}

#[tokio::test]
async fn artifacts_of_wassette_and_older_ones_are_components_too() {
    let registry = Registry::start(None);
    let component = registry.blob("a", "application/wasm", COMPONENT);
    let policy = registry.blob("a", "application/yaml", b"version: 1");
    let config = registry.blob("a", "application/vnd.oci.image.config.v1+json", b"{}");
    registry.manifest("a", "policy", &artifact(&config, &[component.clone(), policy.clone()]));
    let fetched = get(&registry.reference("a:policy")).await.unwrap();
    assert!(fetched.remarks[0].contains("`application/yaml`"), "{:?}", fetched.remarks);
    let old = registry.blob("a", "application/vnd.wasm.content.layer.v1+wasm", COMPONENT);
    registry.manifest("a", "old", &artifact(&config, &[old]));
    get(&registry.reference("a:old")).await.unwrap();
    registry.manifest("a", "none", &artifact(&config, &[policy]));
    registry.manifest("a", "two", &artifact(&config, &[component.clone(), component.clone()]));
    registry.manifest("a", "index", &json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [],
    }));
    let other = json!({ "layerDigests": [sha256(b"other")] }).to_string();
    let other = registry.blob("a", "application/vnd.wasm.config.v0+json", other.as_bytes());
    registry.manifest("a", "other", &artifact(&other, &[component]));
    let module = registry.blob("a", "application/wasm", b"\0asm\x01\0\0\0");
    registry.manifest("a", "module", &artifact(&config, &[module]));
    for (tag, expected) in [
        ("none", "0 layers"),
        ("two", "2 layers"),
        ("index", "image.index"),
        ("other", "names another component"),
        ("module", "core module"),
    ] {
        let why = refusal(&registry.reference(&format!("a:{tag}"))).await;
        assert!(why.contains("is not a component") && why.contains(expected), "{tag}: {why}");
    }
}

#[tokio::test]
async fn a_registry_that_lies_about_digests_and_sizes_is_not_believed() {
    let registry = Registry::start(None);
    let digest = registry.component("a", "1", COMPONENT);
    let blob = format!("/v2/a/blobs/{}", sha256(COMPONENT));
    let mut longer = COMPONENT.to_vec();
    longer.push(b'!');
    let mut other = COMPONENT.to_vec();
    *other.last_mut().unwrap() ^= 1;
    let cut = Reply { length: Some(COMPONENT.len()), ..Reply::new(200, &COMPONENT[..10]) };
    for (reply, expected) in [
        (Reply::new(200, other.clone()), "has the digest"),
        (Reply::new(200, longer), "bytes, and its manifest says"),
        (Reply::new(200, &COMPONENT[..10]), "bytes, and its manifest says"),
        (cut, "the HTTP exchange with the server failed"),
        (Reply::new(200, vec![0; MAX_BYTES as usize + 1]), "too long"),
        (Reply::new(500, ""), "500"),
        (Reply::new(404, ""), "the component of oci+http"),
    ] {
        registry.state().faults.insert(blob.clone(), reply);
        let why = refusal(&registry.reference("a:1")).await;
        assert!(why.contains(expected), "{expected}: {why}");
    }
    registry.state().faults.clear();
    // The registry sends the manifest of another artifact: first for a digest, then for a tag, with the expected digest
    // in a header.
    let evil = registry.component("a", "evil", &other);
    let bytes = registry.state().manifests[&format!("a {evil}")].clone();
    registry
        .state()
        .faults
        .insert(format!("/v2/a/manifests/{digest}"), Reply::new(200, bytes.clone()));
    let why = refusal(&registry.reference(&format!("a@{digest}"))).await;
    assert!(why.contains("has the digest") && why.contains(&evil), "{why}");
    let lying = Reply::new(200, bytes).with("docker-content-digest", digest);
    registry.state().faults.insert("/v2/a/manifests/1".into(), lying);
    let why = refusal(&registry.reference("a:1")).await;
    assert!(why.contains("has the digest"), "{why}");
}

#[tokio::test]
async fn a_part_that_is_too_large_is_refused_before_it_is_sent() {
    let registry = Registry::start(None);
    let mut layer = registry.blob("a", "application/wasm", COMPONENT);
    layer["size"] = json!(MAX_BYTES + 1);
    let config = registry.blob("a", "application/vnd.oci.empty.v1+json", b"{}");
    registry.manifest("a", "1", &artifact(&config, &[layer]));
    let why = refusal(&registry.reference("a:1")).await;
    assert!(why.contains("65536 bytes"), "{why}");
    let component = sha256(COMPONENT);
    assert!(
        !registry.asked().iter().any(|line| line.contains(&component)),
        "{:?}",
        registry.asked()
    );
    let huge = Reply::new(200, vec![b' '; 4 * 1024 * 1024 + 1]);
    registry.state().faults.insert("/v2/a/manifests/1".into(), huge);
    let why = refusal(&registry.reference("a:1")).await;
    assert!(why.contains("too long"), "{why}");
    registry.state().faults.insert("/v2/a/manifests/1".into(), Reply::new(200, "{"));
    let why = refusal(&registry.reference("a:1")).await;
    assert!(why.contains("cannot be understood"), "{why}");
}

#[tokio::test]
async fn no_answer_leads_to_another_host_of_this_machine_or_a_private_network() {
    let registry = Registry::start(None);
    registry.component("a", "1", COMPONENT);
    // A service of this machine that must get no request.
    let secret = TcpListener::bind("127.0.0.1:0").unwrap();
    secret.set_nonblocking(true).unwrap();
    let port = secret.local_addr().unwrap().port();
    let blob = format!("/v2/a/blobs/{}", sha256(COMPONENT));
    for (to, expected) in [
        (format!("http://127.0.0.1:{port}/"), "not allowed"),
        (format!("http://localhost:{port}/"), "not allowed"),
        (format!("https://127.0.0.1:{port}/"), "no address of the host is allowed"),
        ("https://10.0.0.1/".into(), "no address of the host is allowed"),
        ("https://169.254.169.254/latest/meta-data".into(), "no address of the host is allowed"),
        ("https://[::1]/".into(), "no address of the host is allowed"),
        ("http://1.1.1.1/".into(), "not allowed"),
        ("file:///etc/passwd".into(), "cannot be used"),
        (blob.clone(), "more than five redirects"),
    ] {
        let reply = Reply::new(307, "").with("location", to.clone());
        registry.state().faults.insert(blob.clone(), reply);
        let why = refusal(&registry.reference("a:1")).await;
        assert!(why.contains(expected), "{to}: {why}");
    }
    registry.state().faults.clear();
    let challenge = format!("Bearer realm=\"http://127.0.0.1:{port}/token\",service=\"x\"");
    let reply = Reply::new(401, "").with("www-authenticate", challenge);
    registry.state().faults.insert("/v2/a/manifests/1".into(), reply);
    let why = refusal(&registry.reference("a:1")).await;
    assert!(why.contains("not allowed"), "{why}");
    assert!(secret.accept().is_err(), "the service got no request");
}

#[tokio::test]
async fn a_login_goes_to_its_registry_only() {
    let registry = Registry::start(None);
    registry.component("a", "1", COMPONENT);
    registry.state().login = Some(("me".into(), "secret".into()));
    let reference = registry.reference("a:1");
    let why = refusal(&reference).await;
    assert!(why.contains("without a login") && why.contains("docker login"), "{why}");
    let given = |registry: String, password: &str| Logins {
        docker: None,
        given: Some(GivenLogin { registry, user: "me".into(), password: password.into() }),
    };
    let demands = SourceConfigs::new();
    get_with(&reference, &demands, &given(registry.host(), "secret")).await.unwrap();
    let why = get_with(&reference, &demands, &given(registry.host(), "wrong")).await.unwrap_err();
    assert!(why.to_string().contains("is wrong") && !why.to_string().contains("secret"), "{why}");
    get_with(&reference, &demands, &given("other.example".into(), "secret")).await.unwrap_err();
    // Another server of this machine is not asked, although it has the same host name.
    let storage = Registry::start(None);
    let blob = format!("/v2/a/blobs/{}", sha256(COMPONENT));
    storage.state().faults.insert(blob.clone(), Reply::new(200, COMPONENT));
    let to = format!("http://{}{blob}", storage.host());
    registry.state().faults.insert(blob, Reply::new(307, "").with("location", to));
    let why = get_with(&reference, &demands, &given(registry.host(), "secret")).await.unwrap_err();
    assert!(why.to_string().contains("not allowed"), "{why}");
    assert_eq!(storage.asked(), Vec::<String>::new());
}

fn demand(registry: &Registry, key: &Signer, folder: &tempfile::TempDir) -> SourceConfigs {
    let path = folder.path().join("cosign.pub");
    std::fs::write(&path, key.public_pem()).unwrap();
    let config = SourceConfig { key: Some(path), ..SourceConfig::default() };
    [(format!("{}/org/*", registry.host()), config)].into()
}

#[tokio::test]
async fn only_a_signature_by_the_key_for_this_artifact_counts() {
    let (folder, logins) = (tempfile::tempdir().unwrap(), Logins::default());
    let (mine, other) = (Signer::new(), Signer::new());
    let sign = "https://sigstore.dev/cosign/sign/v1";
    for has_referrers in [true, false] {
        let registry = Registry::start(None);
        registry.state().has_referrers = has_referrers;
        let demands = demand(&registry, &mine, &folder);
        let reference = registry.reference("org/a:1");
        let get = async || get_with(&reference, &demands, &logins).await;
        let refused = async || {
            get().await.unwrap_err().to_string()
                + &SignatureText(get().await.unwrap_err()).to_string()
        };
        let digest = registry.component("org/a", "1", COMPONENT);
        assert!(refused().await.contains("is not signed"));
        other.sign_with_tag(&registry, "org/a", &digest, &digest);
        assert!(refused().await.contains("was made with the key"));
        // A valid signature with my key, of another artifact.
        mine.sign_with_tag(&registry, "org/a", &digest, &sha256(b"other"));
        assert!(refused().await.contains("was made with the key"));
        mine.sign_with_tag(&registry, "org/a", &digest, &digest);
        let verified = get().await.unwrap().verified;
        assert!(matches!(verified, Verified::Key { .. }), "{verified:?}");
        registry.state().manifests.retain(|key, _| !key.ends_with(".sig"));
        for (signer, about, predicate, counts) in [
            (&other, &digest, sign, false),
            (&mine, &sha256(b"other"), sign, false),
            (&mine, &digest, "https://slsa.dev/provenance/v1", false),
            (&mine, &digest, sign, true),
        ] {
            let envelope = signer.envelope(about, predicate, &json!({}));
            signer.attach(&registry, "org/a", &digest, &envelope);
            assert_eq!(get().await.is_ok(), counts, "{about} {predicate}");
        }
        // The signature is of one artifact: a tag that is moved to another is refused.
        registry.component("org/a", "1", &[COMPONENT, b"!"].concat());
        assert!(refused().await.contains("is not signed"));
        // A source without demands is not affected.
        registry.component("free", "1", COMPONENT);
        get_with(&registry.reference("free:1"), &demands, &logins).await.unwrap();
    }
}

/// An error and its causes, as one text.
struct SignatureText(SourceError);

impl std::fmt::Display for SignatureText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut cause: Option<&dyn std::error::Error> = Some(&self.0);
        while let Some(error) = cause {
            write!(f, " {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_keyless_signature_is_named_and_does_not_count() {
    let (folder, logins, mine) = (tempfile::tempdir().unwrap(), Logins::default(), Signer::new());
    let registry = Registry::start(None);
    let demands = demand(&registry, &mine, &folder);
    let digest = registry.component("org/a", "1", COMPONENT);
    let envelope = mine.envelope(&digest, "https://sigstore.dev/cosign/sign/v1", &json!({}));
    let material = json!({ "certificate": { "rawBytes": "" } });
    attach_bundle(&registry, "org/a", &digest, &material, &envelope);
    let error = get_with(&registry.reference("org/a:1"), &demands, &logins).await.unwrap_err();
    assert!(error.to_string().contains("keyless"), "{error}");
}

#[tokio::test]
async fn a_builder_is_believed_if_its_provenance_is_signed() {
    let (folder, logins) = (tempfile::tempdir().unwrap(), Logins::default());
    let (mine, other) = (Signer::new(), Signer::new());
    let registry = Registry::start(None);
    let mut demands = demand(&registry, &mine, &folder);
    let builder = "https://builder.example/1";
    demands.values_mut().for_each(|config| config.builder = Some(builder.into()));
    let digest = registry.component("org/a", "1", COMPONENT);
    mine.sign_with_tag(&registry, "org/a", &digest, &digest);
    let reference = registry.reference("org/a:1");
    let slsa = "https://slsa.dev/provenance/v1";
    let about = |id: &str| -> Value { json!({ "runDetails": { "builder": { "id": id } } }) };
    let attach =
        |signer: &Signer, envelope: Value| signer.attach(&registry, "org/a", &digest, &envelope);
    let why = get_with(&reference, &demands, &logins).await.unwrap_err();
    assert!(why.to_string().contains("no SLSA provenance"), "{why}");
    attach(&other, other.envelope(&digest, slsa, &about(builder)));
    get_with(&reference, &demands, &logins).await.unwrap_err();
    attach(&mine, mine.envelope(&digest, slsa, &about("https://builder.example/2")));
    let why = get_with(&reference, &demands, &logins).await.unwrap_err();
    assert!(why.to_string().contains("builder.example/2"), "{why}");
    attach(&mine, mine.envelope(&digest, slsa, &about(builder)));
    let fetched = get_with(&reference, &demands, &logins).await.unwrap();
    assert!(matches!(fetched.verified, Verified::Key { builder: Some(_), .. }));
}

#[tokio::test]
async fn a_source_can_be_forbidden_and_an_invalid_key_verifies_nothing() {
    let registry = Registry::start(None);
    registry.component("a", "1", COMPONENT);
    let (reference, logins) = (registry.reference("a:1"), Logins::default());
    let forbidden = SourceConfig { allow: Some(false), ..SourceConfig::default() };
    let demands: SourceConfigs = [("*".to_owned(), forbidden)].into();
    let why = get_with(&reference, &demands, &logins).await.unwrap_err();
    assert!(why.to_string().contains("allow = false"), "{why}");
    let source = Source::parse(&reference).unwrap();
    let terms = Terms { demands: &demands, logins: &logins, most: MAX_BYTES };
    let why = resolve(&source, terms).await.unwrap_err();
    assert!(why.to_string().contains("allow = false"), "{why}");
    assert_eq!(registry.asked(), Vec::<String>::new());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    for text in ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
        std::fs::write(&path, text).unwrap();
        let config = SourceConfig { key: Some(path.clone()), ..SourceConfig::default() };
        let demands: SourceConfigs = [("*".to_owned(), config)].into();
        let why = get_with(&reference, &demands, &logins).await.unwrap_err();
        assert!(why.to_string().contains("the key "), "{why}");
    }
}

#[tokio::test]
async fn an_address_can_be_pinned_and_signed() {
    let (folder, logins, mine) = (tempfile::tempdir().unwrap(), Logins::default(), Signer::new());
    let server = Registry::start(None);
    let file =
        |path: &str, reply: Reply| drop(server.state().faults.insert(path.to_owned(), reply));
    file("/org/a.wasm", Reply::new(200, COMPONENT));
    file("/latest", Reply::new(302, "").with("location", "/org/a.wasm"));
    let url = format!("http://{}/org/a.wasm", server.host());
    let fetched = get(&format!("http://{}/latest", server.host())).await.unwrap();
    assert_eq!(fetched.address.unwrap().path(), "/org/a.wasm");
    let hex = sha256(COMPONENT).replace("sha256:", "");
    get(&format!("{url}#sha256={hex}")).await.unwrap();
    let why = refusal(&format!("{url}#sha256={}", "0".repeat(64))).await;
    assert!(why.contains("has the digest"), "{why}");
    let demands = demand(&server, &mine, &folder);
    let why = get_with(&url, &demands, &logins).await.unwrap_err();
    assert!(why.to_string().contains("is not signed"), "{why}");
    file("/org/a.wasm.sig", Reply::new(200, Signer::new().sign(COMPONENT)));
    get_with(&url, &demands, &logins).await.unwrap_err();
    file("/org/a.wasm.sig", Reply::new(200, mine.sign(COMPONENT)));
    get_with(&url, &demands, &logins).await.unwrap();
}

#[tokio::test]
async fn a_published_component_can_be_fetched_and_is_the_same_each_time() {
    let registry = Registry::start(None);
    registry.state().login = Some(("me".into(), "secret".into()));
    let logins = Logins {
        docker: None,
        given: Some(GivenLogin {
            registry: registry.host(),
            user: "me".into(),
            password: "secret".into(),
        }),
    };
    let demands = SourceConfigs::new();
    let terms = Terms { demands: &demands, logins: &logins, most: MAX_BYTES };
    let about = || About { created: "1970-01-01T00:00:00Z".into(), ..About::default() };
    let artifact = Artifact::new(COMPONENT.into(), about());
    let Reference { location, .. } = Reference::parse(&registry.reference("org/new:1")).unwrap();
    assert_eq!(published(&location, "1", terms).await.unwrap(), None);
    publish(&location, "1", &artifact, terms).await.unwrap();
    assert_eq!(published(&location, "1", terms).await.unwrap(), Some(artifact.digest.clone()));
    let source = Source::parse(&registry.reference("org/new:1")).unwrap();
    let fetched = fetch(&source, terms).await.unwrap();
    assert_eq!(fetched.component, COMPONENT);
    assert_eq!(resolve(&source, terms).await.unwrap(), fetched.artifact);
    assert_eq!(Artifact::new(COMPONENT.into(), about()).digest, artifact.digest);
    // An upload goes to no other server.
    let away = Reply::new(202, "").with("location", "https://1.1.1.1/upload");
    registry.state().faults.insert("/v2/org/new/blobs/uploads/".into(), away);
    let other = Artifact::new([COMPONENT, b"2"].concat().into(), about());
    let why = publish(&location, "2", &other, terms).await.unwrap_err().to_string();
    assert!(why.contains("only to the registry that you named"), "{why}");
    assert_eq!(published(&location, "2", terms).await.unwrap(), None);
}

#[tokio::test]
async fn the_lists_of_a_registry_are_bounded() {
    let registry = Registry::start(None);
    registry.component("org/a", "1", COMPONENT);
    registry.component("other", "1", COMPONENT);
    let (demands, logins) = (SourceConfigs::new(), Logins::default());
    let terms = Terms { demands: &demands, logins: &logins, most: MAX_BYTES };
    let listed =
        async |rest: &str| list(&Location::parse(&registry.reference(rest)).unwrap(), terms).await;
    assert_eq!(
        listed("org/a").await.unwrap(),
        Listed::Tags { names: vec!["1".into()], is_cut: false }
    );
    let names = |names: &[&str], is_cut| Listed::Repositories {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        is_cut,
    };
    assert_eq!(listed("").await.unwrap(), names(&["org/a", "other"], false));
    assert_eq!(listed("org").await.unwrap(), names(&["org/a"], false));
    // Lists with and without an end.
    let page = |count| Reply::new(200, json!({ "repositories": vec!["x"; count] }).to_string());
    let endless = |count| page(count).with("link", "</v2/_catalog?last=x>; rel=\"next\"");
    let single = page(3).with("link", "</v2/_catalog?last=>; rel=\"first\"; title=\"next\"");
    for (page, expected) in [
        (endless(500), (2000, true)),
        (endless(3), (60, true)),
        (page(2000), (2000, false)),
        (single, (3, false)),
    ] {
        registry.state().faults.insert("/v2/_catalog".into(), page);
        let Listed::Repositories { names, is_cut } = listed("").await.unwrap() else {
            panic!("a list")
        };
        assert_eq!((names.len(), is_cut), expected);
    }
    let tags = Reply::new(200, json!({ "tags": ["1"] }).to_string())
        .with("link", "</v2/org/a/tags/list?last=1>; rel=\"next\"");
    registry.state().faults.insert("/v2/org/a/tags/list".into(), tags);
    let Listed::Tags { names, is_cut } = listed("org/a").await.unwrap() else { panic!("tags") };
    assert_eq!((names.len(), is_cut), (20, true));
    registry.state().faults.insert("/v2/_catalog".into(), Reply::new(404, ""));
    assert_eq!(listed("").await.unwrap(), Listed::Nothing);
}

#[tokio::test]
async fn a_file_is_read_whole_and_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let path = write("a.wasm", COMPONENT);
    assert_eq!(get(path.to_str().unwrap()).await.unwrap().component, COMPONENT);
    let mut large = COMPONENT.to_vec();
    large.resize(MAX_BYTES as usize + 1, 0);
    for (path, expected) in [
        (write("large.wasm", &large), "65536 bytes"),
        (write("text.wasm", b"text"), "not a WebAssembly file"),
        (folder.path().to_owned(), "not a regular file"),
        (folder.path().join("none"), "reading"),
    ] {
        let why = refusal(path.to_str().unwrap()).await;
        assert!(why.contains(expected), "{why}");
    }
}
