//! Error messages for downloads, with the wording of the UI5 MCP server.

/// Message for a resource that the server does not have.
pub const NO_SUCH_RESOURCE: &str = "The requested resource does not exist";

/// Message for a failed download, with the reason.
pub fn failed(why: &str, url: &str) -> String {
    format!("Failed to fetch resource from CDN. Error: {why} for URL: {url}")
}

/// Checks the status of a response. Fails with the reason.
pub fn check(status: u16, url: &str) -> Result<(), String> {
    match status {
        200..=299 => Ok(()),
        404 => Err(failed(NO_SUCH_RESOURCE, url)),
        status => {
            let why = format!("The requested resource returned unexpected status \"{status}\"");
            Err(failed(&why, url))
        }
    }
}
