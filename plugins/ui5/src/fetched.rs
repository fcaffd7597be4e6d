//! What is said of a resource that could not be fetched, in the words of the UI5 MCP server.

/// What is said of a resource that a server does not have.
pub const NO_SUCH_RESOURCE: &str = "The requested resource does not exist";

/// That something could not be fetched, and why.
pub fn failed(why: &str, url: &str) -> String {
    format!("Failed to fetch resource from CDN. Error: {why} for URL: {url}")
}

/// Whether an answer is what was asked for. Fails with why it is not.
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
