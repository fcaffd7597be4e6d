//! Resources of the conformance suite: text, bytes, a template, one to subscribe to.

use crate::PNG;
use portcullis_plugin::prelude::*;

/// Says that a resource has changed.
#[arguments]
pub struct Touch {
    uri: String,
}

impl Tool for Touch {
    const NAME: &'static str = "touch";
    type Output = &'static str;

    fn call(self, request: &Request) -> Result<&'static str, Failure> {
        request.resource_updated(&self.uri);
        Ok("Said.")
    }
}

/// The resources that the suite reads.
pub struct Fixtures;

impl Resources for Fixtures {
    fn fixed() -> Vec<Resource> {
        vec![
            Resource::new("test://static-text", "static-text")
                .description("Text.")
                .mime_type("text/plain"),
            Resource::new("test://static-binary", "static-binary")
                .description("A picture.")
                .mime_type("image/png"),
            Resource::new("test://watched-resource", "watched-resource")
                .description("Something to subscribe to.")
                .mime_type("text/plain"),
        ]
    }

    fn templates() -> Vec<Template> {
        vec![
            Template::new("test://template/{id}/data", "template")
                .description("Data by id.")
                .mime_type("application/json"),
        ]
    }

    fn read(_request: &Request, uri: &str) -> Result<Contents, Failure> {
        match uri {
            "test://static-text" => Ok(Contents::text(
                uri,
                "text/plain",
                "This is the content of the static text resource.",
            )),
            "test://static-binary" => Ok(Contents::bytes(uri, "image/png", PNG)),
            "test://watched-resource" => Ok(Contents::text(uri, "text/plain", "Watched.")),
            // A plugin may report a missing resource with a wrong error.
            _ if uri.starts_with("nowhere://") => Err(Failure::new("what is that?")),
            _ => {
                let id = uri.strip_prefix("test://template/").and_then(|r| r.strip_suffix("/data"));
                let id = id.ok_or_else(|| Failure::not_found(uri))?;
                let data = format!("Data for ID: {id}");
                let data = json!({ "id": id, "templateTest": true, "data": data }).to_string();
                Ok(Contents::text(uri, "application/json", data))
            }
        }
    }

    fn complete(
        _request: &Request,
        _template: &str,
        _variable: &str,
        value: &str,
        _context: &[(String, String)],
    ) -> Vec<String> {
        let ids = ["1", "12", "123"].into_iter();
        ids.filter(|id| id.starts_with(value)).map(str::to_owned).collect()
    }
}
