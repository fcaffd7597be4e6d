//! Runs the cases: each folder in `tests/cases` is a session with its expected transcript.
//!
//! ```text
//! a-sentence-that-says-what-is-shown/
//!   portcullis.toml   the user's configuration; every guest it names is installed
//!   session.jsonl     the steps, line by line
//!   files/            files to work on, if any
//!   plugins/          files for the user's plugin folder, if any
//!   web/              a web server's files, and `answers.json`, if any: see `support/web.rs`
//!   expected.snap     replies, audit, stderr, requests to the web and changed files
//! ```
//!
//! In the configuration, the session and the transcript, `$FILES` stands for the folder of a copy of `files`, `$HOME`
//! for the user's home, and `$WEB` for the address and port of the web server; in `answers.json`, only `$WEB` does.
//! `$GUEST_FILES` is `$FILES` as guests see it, for paths in arguments that are not declared as paths.
//!
//! A line of `session.jsonl` is an MCP message, which is sent unchanged, or one of these:
//!
//! ```text
//! {"client": {"roots": {}}, "era": "legacy"}   the client's capabilities, and its era
//! {"answers": {"roots/list": {..}}}            the client's answers to requests from now on: always this
//!                                              one, or those of a list one after the other
//! {"serve": ["--root", "$FILES"]}              ends the server and starts one with these arguments
//! {"call": "TOOL", "with": {..}}               a call; also "progress": true, "log": "info",
//!                                              "meta": {..}
//! {"calls": [{"call": ..}, ..]}                several at once
//! {"request": "METHOD", "with": {..}}          another request
//! {"list": true}                               tools/list
//! {"raw": "{"}                                 a line that is not a message, and its reply
//! {"run": ["tools"], "stdin": "", "cwd": ".."} a command instead of a session
//! {"link": ["$FILES/a", "/etc"]}               makes a symbolic link (of `a`, to `/etc`)
//! {"fifo": "$FILES/pipe"}                      makes a FIFO
//! {"make": "$FILES/folder"}                    makes a folder
//! {"move": ["$FILES/a", "$FILES/b"]}           moves a file or a folder
//! ```
//!
//! A case that names no era runs in both eras, with the same transcript. To add a test, add a folder.
//! `cargo insta review`, or `INSTA_UPDATE=always`, writes its `expected.snap`. `CASE=part-of-a-name` runs some of the
//! cases.

use std::collections::BTreeSet;
use std::fs;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::support::client::{Client, Era};
use crate::support::guests::guests;
use crate::support::home::{Home, make_fifo};
use crate::support::picture::{Picture, Tree};
use crate::support::process::Process;
use crate::support::web::Web;
use crate::support::{windows, workspace};

#[test]
fn every_case_has_its_expected_transcript() {
    let mut cases = all();
    if let Ok(part) = std::env::var("CASE") {
        cases.retain(|case| name_of(case).contains(&part));
        assert!(!cases.is_empty(), "no case is called {part}");
    }
    cases.retain(|case| match windows::cannot_run(&name_of(case)) {
        Some(reason) => {
            println!("{} does not run: {reason}", name_of(case));
            false
        }
        None => true,
    });
    guests();
    let (queue, failed) = (Mutex::new(cases.clone()), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get() + 1);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = { queue.lock().expect("no panic").pop() } {
                    for era in eras_of(&case) {
                        let check = AssertUnwindSafe(|| check(&case, era));
                        if std::panic::catch_unwind(check).is_err() {
                            let name = format!("{} ({era:?} era)", name_of(&case));
                            failed.lock().expect("no panic").push(name);
                        }
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().expect("no panic");
    failed.sort_unstable();
    assert!(
        failed.is_empty(),
        "{} of {} cases failed (see above):\n  {}",
        failed.len(),
        cases.len(),
        failed.join("\n  ")
    );
}

#[test]
fn names_of_cases_that_cannot_run_on_windows_exist() {
    let names: BTreeSet<_> = all().iter().map(|case| name_of(case)).collect();
    for case in windows::CANNOT_RUN.iter().flat_map(|(_, cases)| *cases) {
        assert!(names.contains(*case), "there is no case `{case}`");
    }
}

#[test]
fn every_guest_and_every_limit_and_every_capability_has_its_case() {
    let texts: Vec<_> = all().iter().map(|case| read(&case.join("portcullis.toml"))).collect();
    let said = |what: &str| texts.iter().any(|text| text.contains(what));
    for guest in guests().names() {
        assert!(said(&format!("[plugins.{guest}")), "no case uses the guest `{guest}`");
    }
    for (limit, ..) in portcullis_engine::Limits::default().lines() {
        assert!(said(&format!("{limit} = ")), "no case shows what the limit `{limit}` does");
    }
    let names: BTreeSet<_> = all().iter().map(|case| name_of(case)).collect();
    for capability in portcullis_core::capabilities::Capability::ALL {
        for (verdict, word) in [("allowed", "may"), ("denied", "may-not")] {
            let start = format!("{capability}-{word}-");
            assert!(
                names.iter().any(|name| name.starts_with(&start)),
                "no case `{start}..` shows `{capability}` {verdict}"
            );
        }
    }
}

fn all() -> Vec<PathBuf> {
    let folder = workspace().join("tests/cases");
    let entries = fs::read_dir(&folder).expect("there are cases");
    let mut cases: Vec<_> = entries.map(|entry| entry.expect("a case").path()).collect();
    cases.sort_unstable();
    cases
}

fn name_of(case: &Path) -> String {
    case.file_name().expect("a case has a name").to_string_lossy().into_owned()
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// One line of a session that is neither a message nor a call.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Line {
    client: Option<Value>,
    #[serde(rename = "era")]
    _era: Option<String>,
    answers: Option<Map<String, Value>>,
    serve: Option<Vec<String>>,
    calls: Vec<Call>,
    request: Option<String>,
    with: Value,
    list: bool,
    raw: Option<String>,
    run: Option<Vec<String>>,
    stdin: String,
    cwd: Option<PathBuf>,
    link: Option<(PathBuf, PathBuf)>,
    fifo: Option<PathBuf>,
    make: Option<PathBuf>,
    r#move: Option<(PathBuf, PathBuf)>,
}

/// One call of a tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    call: String,
    #[serde(default)]
    with: Value,
    #[serde(default)]
    progress: bool,
    log: Option<String>,
    #[serde(default)]
    meta: Map<String, Value>,
}

/// A case while it runs.
struct Stage {
    home: Home,
    web: Option<Web>,
    era: Era,
    capabilities: Value,
    answers: Map<String, Value>,
    serve: Vec<String>,
    client: Option<Client>,
    picture: Picture,
}

/// The eras of a case: both, unless its session names one.
fn eras_of(case: &Path) -> Vec<Era> {
    let session = read(&case.join("session.jsonl"));
    let first = session.lines().next().unwrap_or_default();
    let first: Value = serde_json::from_str(first).unwrap_or_default();
    let said = first["era"].as_str();
    let is_said = |era: &Era| said.is_none_or(|name| format!("{era:?}").to_lowercase() == name);
    let eras: Vec<_> = Era::BOTH.into_iter().filter(is_said).collect();
    assert!(!eras.is_empty(), "{}: the era is `legacy` or `modern`", case.display());
    eras
}

fn check(case: &Path, era: Era) {
    let seen = run(case, &read(&case.join("session.jsonl")), era);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(case);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r"\b[0-9a-f]{64}\b", "<digest>");
    settings.add_filter(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", "<time>");
    settings.add_filter(r"(tests/guests/\w+/src/lib\.rs):\d+:\d+", "$1:<place>");
    settings.bind(|| insta::assert_snapshot!("expected", seen));
}

fn run(case: &Path, lines: &str, era: Era) -> String {
    let mut stage = Stage::set(case, era);
    let before = Tree::of(&stage.home.files());
    for line in lines.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//")) {
        let line = stage.fill_in(line);
        stage.play(&line).unwrap_or_else(|error| panic!("{}: {error}: {line}", case.display()));
    }
    stage.end_session();
    let Stage { home, web, mut picture, .. } = stage;
    picture.audit(&home.audit());
    picture.web(web.as_ref().map(Web::asked).unwrap_or_default());
    picture.changes(&before, &Tree::of(&home.files()));
    picture.finish()
}

impl Stage {
    fn set(case: &Path, era: Era) -> Self {
        let home = Home::new();
        let web_folder = case.join("web");
        let web = web_folder.exists().then(|| Web::start(Some(&web_folder)));
        copy(&case.join("files"), &home.files());
        copy(&case.join("plugins"), &home.plugins());
        let picture = Picture::of(&home, web.as_ref().map(|web| web.address));
        let stage = Self {
            home,
            web,
            era,
            capabilities: json!({}),
            answers: Map::new(),
            serve: vec!["serve".to_owned()],
            client: None,
            picture,
        };
        let config = stage.fill_in(&read(&case.join("portcullis.toml")));
        for guest in guests().names().filter(|name| config.contains(&format!("[plugins.{name}"))) {
            stage.home.install(guest);
        }
        stage.home.configure(&config);
        stage
    }

    fn fill_in(&self, text: &str) -> String {
        let uri = if windows::wine().is_some() { "file:///" } else { "file://" };
        let mut text = text
            .replace("file://$FILES", &format!("{uri}$FILES"))
            .replace("$GUEST_FILES", &windows::guest_path(&self.home.files()))
            .replace("$FILES", &windows::path(&self.home.files()))
            .replace("$HOME", &windows::path(self.home.path()));
        if let Some(web) = &self.web {
            text = text.replace("$WEB", &web.address.to_string());
        }
        text
    }

    /// The client of the session. The session begins with the first line that needs a client.
    fn client(&mut self) -> &mut Client {
        let serve: Vec<_> = self.serve.iter().map(String::as_str).collect();
        self.client.get_or_insert_with(|| {
            let mut client =
                Client::start_with(&self.home, &serve, self.era, self.capabilities.clone());
            client.answers = self.answers.clone().into_iter().collect();
            client
        })
    }

    fn end_session(&mut self) {
        if let Some(client) = self.client.take() {
            let ran = client.end();
            self.picture.stderr(&ran.stderr);
            self.picture.rest(&ran);
        }
    }

    fn play(&mut self, line: &str) -> serde_json::Result<()> {
        let value: Value = serde_json::from_str(line)?;
        if value.get("jsonrpc").is_some() {
            self.pass_on(&value);
        } else if value.get("call").is_some() {
            self.call_all(vec![serde_json::from_value(value)?]);
        } else {
            self.direct(serde_json::from_value(value)?);
        }
        Ok(())
    }

    fn direct(&mut self, line: Line) {
        self.prepare(&line);
        let Line { client, answers, serve, calls, list, raw, run, stdin, cwd, .. } = line;
        let (request, with) = (line.request, line.with);
        if let Some(capabilities) = client {
            self.capabilities = capabilities;
        }
        if let Some(answers) = answers {
            self.answers = answers.clone();
            if let Some(client) = &mut self.client {
                client.answers = answers.into_iter().collect();
            }
        }
        if let Some(arguments) = serve {
            self.end_session();
            self.serve = [vec!["serve".to_owned()], arguments].concat();
        }
        if list {
            let id = self.client().request("tools/list", json!({}));
            let reply = self.client().reply(id);
            self.picture.list(&reply);
        }
        if !calls.is_empty() {
            self.call_all(calls);
        }
        if let Some(method) = request {
            let params = if with.is_null() { json!({}) } else { with.clone() };
            let client = self.client();
            let id = client.request(&method, params);
            let reply = client.finish(id);
            let events = std::mem::take(&mut client.events);
            self.picture.call(&method, &with, &events, &reply);
        }
        if let Some(raw) = raw {
            self.client().process().write(format!("{raw}\n").as_bytes());
            let reply = self.client().process().line();
            self.picture.raw(&raw, reply.as_deref());
        }
        if let Some(arguments) = run {
            self.end_session();
            self.run(&arguments, &stdin, cwd.as_deref());
        }
    }

    /// Changes files, as another program would.
    fn prepare(&self, line: &Line) {
        if let Some((link, target)) = &line.link {
            std::os::unix::fs::symlink(windows::own(target), windows::own(link))
                .expect("a link can be made");
        }
        if let Some(fifo) = &line.fifo {
            make_fifo(&windows::own(fifo));
        }
        if let Some(folder) = &line.make {
            fs::create_dir(windows::own(folder)).expect("a folder can be made");
        }
        if let Some((from, to)) = &line.r#move {
            fs::rename(windows::own(from), windows::own(to)).expect("it can be moved");
        }
    }

    /// Sends all calls before it waits for an answer.
    fn call_all(&mut self, calls: Vec<Call>) {
        let mut begun = Vec::new();
        for Call { call, with, progress, log, mut meta } in calls {
            if progress {
                meta.insert("progressToken".into(), "a token".into());
            }
            if let Some(level) = log {
                match self.era {
                    Era::Legacy => {
                        let id = self.client().request("logging/setLevel", json!({"level": level}));
                        self.client().reply(id);
                    }
                    Era::Modern => {
                        meta.insert("io.modelcontextprotocol/logLevel".into(), level.into());
                    }
                }
            }
            let mut params = json!({"name": call, "arguments": with});
            if with.is_null() {
                params.as_object_mut().expect("an object").remove("arguments");
            }
            if !meta.is_empty() {
                params["_meta"] = Value::Object(meta);
            }
            begun.push((call, with, self.client().request("tools/call", params)));
        }
        let client = self.client.as_mut().expect("the calls have begun");
        let mut finish = |picture: &mut Picture, (tool, with, id): (String, Value, i64)| {
            let reply = client.finish(id);
            picture.call(&tool, &with, &std::mem::take(&mut client.events), &reply);
        };
        if begun.len() == 1 {
            begun.into_iter().for_each(|call| finish(&mut self.picture, call));
        } else {
            self.picture.together(|picture, pictures| {
                for call in begun {
                    finish(picture, call);
                    pictures.push(picture.take());
                }
            });
        }
    }

    fn pass_on(&mut self, message: &Value) {
        self.client().send(message);
        let reply = message.get("id").is_some().then(|| self.client().process().line());
        self.picture.message(message, reply.flatten().as_deref());
    }

    fn run(&mut self, arguments: &[String], stdin: &str, cwd: Option<&Path>) {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let mut command = self.home.command(&arguments);
        command.current_dir(cwd.map_or(self.home.path().to_owned(), windows::own));
        let mut process = Process::start(&mut command);
        process.write(stdin.as_bytes());
        let ran = process.end();
        self.picture.command(&arguments, &ran);
        self.picture.stderr(&ran.stderr);
    }
}

/// Copies a folder, if there is one.
fn copy(from: &Path, to: &Path) {
    let Ok(entries) = fs::read_dir(from) else { return };
    for entry in entries {
        let entry = entry.expect("a case can be read");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&to).expect("a home can be written");
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a home can be written");
        }
    }
}
