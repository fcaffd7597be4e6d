//! A test plugin that sends HTTP requests, also to forbidden hosts.

use portcullis_plugin::prelude::*;

#[data]
struct Header {
    name: String,
    value: String,
}

/// Makes a request, and says what came of it.
#[arguments]
struct Fetch {
    url: String,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    headers: Vec<Header>,
    /// The body; or that many bytes.
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    bytes: usize,
    /// How many redirects to follow.
    #[serde(default)]
    follow: u32,
    /// Give up a wait after this time.
    #[serde(default)]
    give_up_ms: Option<u64>,
    /// How often to do it.
    #[serde(default)]
    times: Option<u32>,
}

impl Fetch {
    fn send(&self, url: &str) -> Result<http::Response, http::Error> {
        let method = self.method.as_deref().unwrap_or("GET");
        let mut request = http::Request::new(method, url).max_bytes(1 << 30);
        for Header { name, value } in &self.headers {
            request = request.header(name, value);
        }
        if let Some(body) = &self.body {
            request = request.body(body.as_bytes());
        }
        if self.bytes > 0 {
            request = request.body(vec![b'x'; self.bytes]);
        }
        match self.give_up_ms.map(std::time::Duration::from_millis) {
            Some(time) => {
                let begun = std::time::Instant::now();
                request.send_while(|| begun.elapsed() < time)
            }
            None => request.send(),
        }
    }

    fn follow(&self) -> Result<String, http::Error> {
        let mut url = self.url.clone();
        let mut response = self.send(&url)?;
        for _ in 0..self.follow {
            let Some(next) = response.header("location") else { break };
            url = next.to_owned();
            response = self.send(&url)?;
        }
        let body = String::from_utf8_lossy(&response.body);
        let body = if body.len() > 1000 { format!("{} bytes", body.len()) } else { body.into() };
        Ok(format!("{} {body}", response.status))
    }
}

impl Tool for Fetch {
    const NAME: &'static str = "fetch";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        let mut said = String::new();
        for _ in 0..self.times.unwrap_or(1) {
            said = self.follow().unwrap_or_else(|error| error.to_string());
        }
        Ok(said)
    }
}

plugin! {
    name: "fetcher",
    tools: [Fetch],
    wants: [
        Want::settings("base", "to know where to ask"),
        Want::settings("other", "to know where else to ask").optional(),
        Want::http("$base", "GET,POST", "to ask there"),
        Want::http("$other", "GET", "to ask there too").optional(),
        Want::http_argument("/url", "GET", "to ask the host that a call names").optional(),
    ],
}
