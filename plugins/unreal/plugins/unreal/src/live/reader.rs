//! Parses a response as it arrives: one JSON object, or a stream of server-sent events.

use serde_json::Value;

/// The response to one message, as far as received.
pub struct Reader<'i> {
    /// The id of the message.
    id: &'i str,
    bytes: Vec<u8>,
    /// Number of bytes already parsed as lines of a stream.
    parsed_len: usize,
    /// The data lines of the current event.
    data: Vec<u8>,
    answer: Option<Value>,
    progress: Vec<Progress>,
}

/// Progress reported by the editor.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: String,
}

impl<'i> Reader<'i> {
    /// Starts with no data.
    pub fn new(id: &'i str) -> Self {
        Self {
            id,
            bytes: Vec::new(),
            parsed_len: 0,
            data: Vec::new(),
            answer: None,
            progress: Vec::new(),
        }
    }

    /// Adds received bytes. Pieces may end anywhere.
    pub fn take(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        if self.is_stream() {
            self.parse_lines();
        }
    }

    /// Whether the response has arrived in a stream; the stream may continue. `false` for a response
    /// that is one JSON object.
    pub fn is_answered(&self) -> bool {
        self.answer.is_some()
    }

    /// The progress reported since the last call.
    pub fn reported(&mut self) -> Vec<Progress> {
        std::mem::take(&mut self.progress)
    }

    /// The response, at the end of the data. `Err` has the reason why the data are not the
    /// response.
    pub fn finish(mut self) -> Result<Value, String> {
        if self.is_stream() {
            // The last event may lack its empty line.
            self.bytes.extend_from_slice(b"\n\n");
            self.parse_lines();
            return self.answer.ok_or_else(|| "the stream ended without the answer".to_owned());
        }
        let value: Value = serde_json::from_slice(&self.bytes).map_err(|error| {
            if error.is_eof() {
                format!("it is cut off after {} bytes", self.bytes.len())
            } else {
                "it is not JSON".to_owned()
            }
        })?;
        if self.is_answer(&value) {
            Ok(value)
        } else {
            Err("it is not the answer to this request".to_owned())
        }
    }

    /// Whether the data are a stream. The lines of a stream begin with a word or a colon; a JSON
    /// object is the response itself.
    fn is_stream(&self) -> bool {
        let first = self.bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        first.is_some_and(|byte| byte.is_ascii_lowercase() || *byte == b':')
    }

    /// Parses the lines of a stream that are complete.
    fn parse_lines(&mut self) {
        while let Some(len) = self.bytes[self.parsed_len..].iter().position(|byte| *byte == b'\n') {
            let line = self.bytes[self.parsed_len..self.parsed_len + len].to_vec();
            self.parsed_len += len + 1;
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.is_empty() {
                self.finish_event();
            } else if let Some(data) = line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
        }
    }

    /// Takes the event whose data lines have been parsed.
    fn finish_event(&mut self) {
        let data = std::mem::take(&mut self.data);
        let Ok(value) = serde_json::from_slice::<Value>(&data) else { return };
        if value["method"] == "notifications/progress" {
            let params = &value["params"];
            if let Some(done) = params["progress"].as_f64() {
                self.progress.push(Progress {
                    done,
                    total: params["total"].as_f64(),
                    message: crate::answer::shown(params["message"].as_str().unwrap_or_default()),
                });
            }
        } else if self.answer.is_none() && self.is_answer(&value) {
            self.answer = Some(value);
        }
    }

    /// Whether a value is the response to the message. An error whose id is absent or not a string
    /// is a response, too: the server could not parse the message.
    fn is_answer(&self, value: &Value) -> bool {
        let (result, error) = (value.get("result"), value.get("error"));
        match value.get("id") {
            Some(Value::String(id)) => id == self.id && (result.is_some() || error.is_some()),
            Some(_) | None => error.is_some_and(Value::is_object),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::serde_json::json;

    #[test]
    fn one_object_in_pieces() {
        let text = "\n{\t\"jsonrpc\": \"2.0\", \"id\": \"7\", \"result\": {\"a\": \"Tür\"}}";
        let mut reader = Reader::new("7");
        text.as_bytes().chunks(1).for_each(|piece| reader.take(piece));
        assert_eq!(reader.finish().expect("it is whole")["result"], json!({ "a": "Tür" }));
    }

    #[test]
    fn other_messages_are_not_the_response() {
        for (text, why) in [
            ("{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"res", "cut off"),
            ("<html>", "not JSON"),
            ("", "cut off"),
            ("{\"id\":\"8\",\"result\":{}}", "not the answer"),
            ("{\"id\":null,\"result\":{}}", "not the answer"),
            ("data: {\"id\":\"8\",\"result\":{}}\n\n", "without the answer"),
        ] {
            let mut reader = Reader::new("7");
            reader.take(text.as_bytes());
            let fault = reader.finish().expect_err(text);
            assert!(fault.contains(why), "{text}: {fault}");
        }
    }

    #[test]
    fn a_stream_of_events() {
        let text = ": hello\r\nevent: message\r\ndata: {\"method\":\"notifications/progress\",\r\n\
            data: \"params\":{\"progress\":1,\"total\":4,\"message\":\"a\"}}\r\n\r\n\
            data: no JSON\n\ndata: {\"id\":\"7\",\"result\":{\"b\":1}}\n\ndata: {\"id\":\"7\",\"result\":{}}";
        let mut reader = Reader::new("7");
        for piece in text.as_bytes().chunks(3) {
            reader.take(piece);
        }
        assert!(reader.is_answered());
        let progress = Progress { done: 1.0, total: Some(4.0), message: "a".to_owned() };
        assert_eq!(reader.reported(), [progress]);
        assert_eq!(reader.finish().expect("it is there")["result"], json!({ "b": 1 }));
    }

    #[test]
    fn an_error_needs_no_id() {
        let mut reader = Reader::new("7");
        reader.take(br#"{"id":null,"error":{"code":-32700,"message":"no"}}"#);
        assert_eq!(reader.finish().expect("it answers")["error"]["code"], -32700);
    }
}
