//! Tests of the tool's answers, with a fake linter.

use super::*;
use portcullis_plugin::{process::Error, rehearsal::Rehearsal};
use std::fs;

/// A project, and a fake linter with this answer.
fn lint(
    answer: impl Fn(&str) -> Result<String, Error> + 'static,
    more: Value,
) -> Result<Reply, Failure> {
    lint_in(move |message, _| answer(message), more)
}

/// Like [`lint`]. The fake linter also gets the directory that it runs in; empty if there is none.
fn lint_in(
    answer: impl Fn(&str, &str) -> Result<String, Error> + 'static,
    more: Value,
) -> Result<Reply, Failure> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("webapp")).expect("a folder");
    fs::write(
        folder.path().join("webapp/manifest.json"),
        r#"{"sap.app": {"id": "my.app", "type": "application"}}"#,
    )
    .expect("a file");
    let path = folder.path().display().to_string();
    let mut arguments = json!({ "projectDir": path });
    for (key, value) in more.as_object().expect("an object") {
        arguments[key] = value.clone();
    }
    let host = Rehearsal::new().worker("ui5lint", answer);
    host.call::<Lint>(arguments)
}

fn report(findings: usize) -> String {
    let findings: Vec<_> = (1..=findings)
        .map(|line| {
            json!({
                "ruleId": if line % 2 == 0 { "no-globals" } else { "no-such-rule-yet" },
                "severity": 1 + line % 2, "line": line, "column": 1, "message": "Something is wrong",
                "messageDetails": "Do not use it. See https://ui5.sap.com/#/topic/28fcd55b04654977b63dacbee0552712",
            })
        })
        .collect();
    let files = json!([{"filePath": "webapp/a.js", "messages": findings, "errorCount": 1}]);
    json!({ "version": "1.23.6", "results": files }).to_string()
}

fn structured(reply: &Reply) -> Value {
    reply.structured.clone().expect("there is structured content")
}

#[test]
fn findings_have_their_context() {
    let reply = lint(|_| Ok(report(2)), json!({"detail": "full"})).expect("it answers");
    let found = structured(&reply);
    let [one, two] = &found["results"][0]["messages"].as_array().expect("a list")[..] else {
        panic!("{found}")
    };
    assert_eq!((&one["severity"], &two["severity"]), (&json!(2), &json!(1)));
    assert_eq!(two["messageDetails"], "", "what has been said is not said again");
    let context = &found["contextInformation"];
    assert_eq!(context["ruleDescriptions"].as_array().map(Vec::len), Some(2), "{context}");
    assert!(!context["documentationResources"].as_array().expect("a list").is_empty());
    assert_eq!(context["apiReferences"], json!([]));
    assert!(reply.as_text().contains("get_api_reference"), "it says why there is no API");
}

#[test]
fn without_context_there_are_only_findings() {
    let arguments = json!({"provideContextInformation": false, "detail": "full"});
    let reply = lint(|_| Ok(report(4)), arguments).expect("it answers");
    assert!(structured(&reply).get("contextInformation").is_none());
    let text: Value = serde_json::from_str(&reply.as_text()).expect("one block of JSON");
    assert_eq!(text, structured(&reply)["results"]);
    for finding in text[0]["messages"].as_array().expect("a list") {
        let details = finding["messageDetails"].as_str().expect("a text");
        assert!(details.starts_with("Do not use it."), "no context explains it: {finding}");
    }
}

#[test]
fn a_first_answer_is_brief_and_names_how_to_get_the_rest() {
    let details = format!("Use sap.m.Button#press {}", "or something else ".repeat(20));
    let findings: Vec<_> = ui5_lint_context::rules::RULES
        .iter()
        .flat_map(|rule| [(rule.id, 1), (rule.id, 2)])
        .map(|(rule, severity)| {
            json!({
                "ruleId": rule, "severity": severity, "line": 1234, "column": 120,
                "message": format!("Use of deprecated function of {rule}").repeat(3),
                "messageDetails": format!("{rule} {details}"),
            })
        })
        .collect();
    let path = format!("webapp/{}.js", "long/".repeat(30));
    let report = json!([{"filePath": path, "messages": findings}]);
    let report = json!({ "version": "1.23.6", "results": report }).to_string();
    let total = 2 * ui5_lint_context::rules::RULES.len();
    for with_context in [true, false] {
        let (mut offset, mut seen) = (0, 0);
        while seen < total {
            let report = report.clone();
            let arguments = json!({"offset": offset, "provideContextInformation": with_context});
            let reply = lint(move |_| Ok(report.clone()), arguments).expect("it answers");
            let found = structured(&reply);
            let size = reply.as_text().len() + found.to_string().len();
            assert!(size <= detail::BRIEF, "{size} bytes from finding {offset}");
            let count = found["results"][0]["messages"].as_array().map_or(0, Vec::len);
            assert!(count > 0 && found["remark"].as_str().is_some(), "{found}");
            assert!(reply.as_text().contains("1234:120 "), "{}", reply.as_text());
            (offset, seen) = (offset + count, seen + count);
            if seen < total {
                assert!(reply.as_text().contains(&format!("at offset {seen}")));
                assert!(reply.as_text().contains("`detail` `full` shows more"));
            }
        }
        assert_eq!(seen, total);
    }
}

#[test]
fn a_brief_answer_names_rules_documents_and_api() {
    let reply = lint(|_| Ok(report(2)), json!({})).expect("it answers");
    let text = reply.as_text();
    for expected in [
        "webapp/a.js\n  1:1 error no-such-rule-yet: Something is wrong (Do not use it.",
        "  2:1 warning no-globals: Something is wrong\n",
        "no-globals: ",
        "`detail` `full` also has these texts: ",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let context = &structured(&reply)["contextInformation"];
    let document = &context["documentationResources"][0];
    assert!(document["title"].is_string() && document["uri"].is_string(), "{context}");
    assert_eq!(document.get("text"), None);
    let none = lint(|_| Ok(report(0)), json!({})).expect("it answers");
    assert_eq!(none.as_text(), "No findings.");
    assert_eq!(structured(&none)["results"], json!([]));
}

#[test]
fn the_setting_is_the_default_detail() {
    let folder = tempfile::tempdir().expect("a folder");

    fs::create_dir(folder.path().join("webapp")).expect("a folder");
    let manifest = r#"{"sap.app": {"id": "my.app", "type": "application"}}"#;
    fs::write(folder.path().join("webapp/manifest.json"), manifest).expect("a file");
    let call = |value: &str, more: Value| {
        let host = Rehearsal::new().worker("ui5lint", |_, _| Ok(report(2)));
        let host = host.setting(detail::SETTING, value);
        let mut arguments = json!({ "projectDir": folder.path().display().to_string() });
        for (key, value) in more.as_object().expect("an object") {
            arguments[key] = value.clone();
        }
        host.call::<Lint>(arguments)
    };
    let is_full = |reply: Reply| reply.as_text().starts_with('[');
    assert!(is_full(call("full", json!({})).expect("it answers")));
    assert!(!is_full(call("full", json!({"detail": "brief"})).expect("it answers")));
    assert!(!is_full(call("", json!({})).expect("it answers")));
    let failed = call("much", json!({})).expect_err("it is neither").to_string();
    assert!(failed.contains("`brief` or `full`, not to `much`"), "{failed}");
}

#[test]
fn the_linter_gets_the_files_and_no_directory() {
    let answer = |message: &str, directory: &str| {
        let message: Value = serde_json::from_str(message).expect("JSON");
        assert_eq!(directory, "");
        assert_eq!(
            (&message["fix"], &message["filePatterns"]),
            (&json!(true), &json!(["webapp/**"]))
        );
        assert!(message["files"]["webapp/manifest.json"].to_string().contains("my.app"));
        Ok(json!({"version": "1", "results": []}).to_string())
    };
    let reply =
        lint_in(answer, json!({"fix": true, "filePatterns": ["webapp/**"]})).expect("it answers");
    assert_eq!(structured(&reply)["results"], json!([]));
}

#[test]
fn the_projects_own_linter_runs_if_there_is_no_other() {
    let answer = |message: &str, directory: &str| {
        if directory.is_empty() {
            return Ok(json!({"missing": true}).to_string());
        }
        let message: Value = serde_json::from_str(message).expect("JSON");
        assert_eq!(message, json!({"fix": false}));
        Ok(report(1))
    };
    let reply = lint_in(answer, json!({"provideContextInformation": false})).expect("it answers");
    assert_eq!(structured(&reply)["results"][0]["filePath"], "webapp/a.js");
    let failed = lint(|_| Ok(json!({"missing": true}).to_string()), json!({}));
    let failed = failed.expect_err("there is none").to_string();
    assert!(failed.contains("npm install --save-dev @ui5/linter"), "{failed}");
}

#[test]
fn all_files_are_fixed_or_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    for name in ["a.js", "b.js"] {
        fs::write(path(name), "old").expect("a file");
    }
    let fixed = |names: &[&str]| {
        let digest_of_old = "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4";
        let fix =
            |name: &&str| json!({"path": path(name), "sha256": digest_of_old, "contents": "new"});
        let fixes: Vec<_> = names.iter().map(fix).collect();
        json!({"version": "1", "results": [], "fixes": fixes}).to_string()
    };
    let (some, all) = (fixed(&["a.js", "missing.js"]), fixed(&["a.js", "b.js"]));
    let failed = lint(move |_| Ok(some.clone()), json!({"fix": true})).expect_err("one is missing");
    assert!(failed.to_string().contains("Nothing was fixed"), "{failed}");
    assert_eq!(fs::read_to_string(path("a.js")).expect("it is there"), "old");
    lint(move |_| Ok(all.clone()), json!({"fix": true})).expect("both are there");
    for name in ["a.js", "b.js"] {
        assert_eq!(fs::read_to_string(path(name)).expect("it is there"), "new");
    }
}

#[test]
fn an_offset_continues_a_long_list() {
    let arguments = json!({"provideContextInformation": false, "detail": "full"});
    let reply = lint(|_| Ok(report(2000)), arguments).expect("it answers");
    let count = |reply: &Reply| {
        let found = structured(reply);
        let files = found["results"].as_array().expect("a list").clone();
        files.iter().map(|file| file["messages"].as_array().map_or(0, Vec::len)).sum::<usize>()
    };
    let first = count(&reply);
    assert!(first < 2000 && reply.as_text().contains(&first.to_string()), "{first}");
    let more = json!({"provideContextInformation": false, "detail": "full", "offset": first});
    assert!(count(&lint(|_| Ok(report(2000)), more).expect("it answers")) > 0);
}

#[test]
fn failures_name_the_remedy() {
    for (answer, expected) in [
        (Ok(json!({"missing": true}).to_string()), "npm install --save-dev @ui5/linter"),
        (Ok(json!({"error": "it did not match any resource"}).to_string()), "did not match"),
        (Ok("{}".to_owned()), "no answer"),
        (Err(Error::NotFound("node".into())), "Node.js"),
        (Err(Error::Denied), "granted"),
        (Err(Error::TimedOut), "too long"),
    ] {
        let failure = lint(move |_| answer.clone(), json!({})).expect_err("it fails").to_string();
        assert!(failure.contains(expected), "{failure}");
    }
}

#[test]
fn guides_and_pages_can_be_read_without_findings() {
    let rehearsal = Rehearsal::new();
    let read = |uri: &str| pages::Pages::read(&rehearsal.request(), uri);
    let fixed = pages::Pages::fixed();
    assert!(fixed.len() > 15, "{}", fixed.len());
    let mut uris: Vec<&String> = fixed.iter().map(|resource| &resource.0.uri).collect();
    uris.sort();
    uris.dedup();
    assert_eq!(uris.len(), fixed.len(), "each has an address of its own");
    for resource in &fixed {
        let contents = read(&resource.0.uri).expect("it is listed");
        let title = resource.0.title.clone().expect("it has one");
        let portcullis_plugin::content::ResourceData::Text(text) = &contents.all[0].data else {
            panic!("it is text")
        };
        assert!(text.starts_with(&format!("# {title}\n")), "{title}");
        assert_eq!(resource.0.size, Some(text.len() as u64));
    }
    for uri in ["ui5://documentation/", "ui5-linter-result://migration-guides/none.md", ""] {
        assert!(read(uri).is_err(), "{uri}");
    }
}

#[test]
fn the_prompt_names_the_project_and_the_files() {
    let rehearsal = Rehearsal::new();
    let text = |arguments: Value| {
        rehearsal.prompt::<prompt::Fix>(arguments).expect("it cannot fail").as_text()
    };
    let all = text(json!({ "projectDir": "/home/me/app" }));
    assert!(all.contains("`projectDir` /home/me/app.") && !all.contains("filePatterns"), "{all}");
    assert!(!all.contains("  "), "lines are joined: {all}");
    let some = text(json!({ "projectDir": "/a", "filePatterns": "webapp/a.js, ,webapp/b.js" }));
    assert!(some.contains(r#"`filePatterns` ["webapp/a.js","webapp/b.js"]."#), "{some}");
    let complete =
        |name: &str, value: &str| prompt::Fix::complete(&rehearsal.request(), name, value, &[]);
    assert_eq!(complete("filePatterns", "sr"), ["src/**"]);
    assert_eq!(complete("filePatterns", "webapp/a.js,sr"), ["webapp/a.js, src/**"]);
    assert_eq!(complete("projectDir", ""), <[String; 0]>::default());
}
