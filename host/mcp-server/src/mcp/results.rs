//! Splits answers that are longer than the client's bound into pages: the client gets the first page, and the whole
//! answer is kept for a while.
//!
//! The bound is a number of tokens of four bytes, and limits the text that a model reads. Only the caller and session
//! that got the first page can read the others: as resources, or with the tool `read_result`.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::error::Error;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use portcullis_cluster_state::ClusterState;
use portcullis_core::call::request_id;
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, JsonObject, ReadResourceResult};
use rmcp::service::RequestContext;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::caller::Caller;
use super::{Server, convert, structured};

/// The name of the tool that reads a page of a kept answer.
pub(super) const READ: &str = "read_result";

/// The beginning of the URI of a page. The id of the answer and the number of the page follow.
const SCHEME: &str = "portcullis://results/";

/// Bytes of text that a token stands for.
const TOKEN_BYTES: usize = 4;

/// Maximum number of answers that are kept. The oldest is forgotten first.
const MAX_KEPT: usize = 64;

/// Maximum size of all answers that are kept, in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The kind of answers in the state that several hosts share.
const SHARED: &str = "result";

/// How long an answer is kept for other hosts.
const SHARED_TIME: Duration = Duration::from_secs(15 * 60);

/// Depth from which a summary gives only the number of an object's members.
const MAX_DEPTH: usize = 3;

/// Maximum number of an object's members that a summary names.
const MAX_MEMBERS: usize = 12;

/// Answers that are kept.
#[derive(Default)]
pub(super) struct Results(Mutex<VecDeque<Arc<KeptResult>>>);

/// An answer that is kept.
#[derive(Serialize, Deserialize)]
struct KeptResult {
    id: String,
    owner: Owner,
    text: String,
    /// The offset in `text` at which each page begins, in bytes.
    pages: Vec<usize>,
}

/// To whom an answer was given: the caller and, where there are sessions, the session.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    principal: Option<String>,
    session: Option<String>,
}

impl KeptResult {
    fn page(&self, number: usize) -> Option<&str> {
        let begin = *self.pages.get(number.checked_sub(1)?)?;
        let end = self.pages.get(number).copied().unwrap_or(self.text.len());
        Some(&self.text[begin..end])
    }
}

/// The offsets at which the pages of a text begin, in bytes. A page has at most `size` bytes, or one character if the
/// character is larger. If a line ends in the page's second half, the page ends there.
fn pages(text: &str, size: usize) -> Vec<usize> {
    let mut begins = vec![0];
    let mut begin = 0;
    while text.len() - begin > size {
        let end = text.floor_char_boundary(begin + size);
        let line = text[begin..end].rfind('\n').map(|line| begin + line + 1);
        begin = match line.filter(|line| line - begin > size / 2) {
            Some(line) => line,
            // A page is never empty.
            None if end > begin => end,
            None => text.ceil_char_boundary(begin + 1),
        };
        begins.push(begin);
    }
    begins
}

/// A summary of a JSON value, such as `array of 812 × object with id, name`.
fn shape(value: &Value, depth: usize) -> String {
    match value {
        Value::Array(items) => match items.first() {
            None => "empty array".to_owned(),
            Some(first) => format!("array of {} × {}", items.len(), shape(first, depth + 1)),
        },
        Value::Object(members) if depth >= MAX_DEPTH => {
            format!("object of {} members", members.len())
        }
        Value::Object(members) => {
            let named = members.iter().take(MAX_MEMBERS).map(|(name, value)| match value {
                Value::Array(_) | Value::Object(_) => {
                    format!("{name} ({})", shape(value, depth + 1))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => name.clone(),
            });
            let named = named.collect::<Vec<_>>().join(", ");
            let more = if members.len() > MAX_MEMBERS { ", …" } else { "" };
            format!("object with {named}{more}")
        }
        Value::String(_) => "text".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::Bool(_) => "true or false".to_owned(),
        Value::Null => "null".to_owned(),
    }
}

/// A summary of a text: the shape of its JSON, or its number of lines.
fn shape_of_text(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => format!("JSON: {}", shape(&value, 0)),
        Err(_) => format!("text of {} lines", text.lines().count()),
    }
}

/// The definition of `read_result`.
pub(super) fn definition() -> Value {
    json!({
        "name": READ,
        "title": "Read a result",
        "description": "Reads a page of an answer that was too long. Its first page names its id and page count.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "id": { "type": "string" },
                "page": { "type": "integer", "minimum": 1 },
            },
            "required": ["id", "page"],
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

/// The arguments of `read_result`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadResultArguments {
    id: String,
    page: usize,
}

/// The texts of an answer. The last one is the structured content, if no other text repeats it.
fn texts(result: &CallToolResult) -> Vec<Cow<'_, str>> {
    let texts = result.content.iter().filter_map(ContentBlock::as_text);
    let structured = structured::unrepeated(result);
    texts
        .map(|block| block.text.as_str().into())
        .chain(structured.map(|value| value.to_string().into()))
        .collect()
}

/// The bytes that a number of tokens stands for.
fn bytes_of(tokens: NonZeroU32) -> usize {
    (tokens.get() as usize).saturating_mul(TOKEN_BYTES)
}

/// Whether the texts of an answer are longer than a bound.
fn is_longer(result: &CallToolResult, bound: Option<NonZeroU32>) -> bool {
    let bytes = || texts(result).iter().map(|text| text.len()).sum::<usize>();
    bound.is_some_and(|bound| bytes() > bytes_of(bound))
}

/// A result as it is in JSON, if its texts are longer than a bound.
pub(super) fn if_longer(result: &Value, bound: Option<NonZeroU32>) -> Option<CallToolResult> {
    let typed = bound.and_then(|_| serde_json::from_value(result.clone()).ok());
    typed.filter(|typed| is_longer(typed, bound))
}

impl Server {
    fn owner(&self, caller: &Caller) -> Owner {
        // A session of a cluster has the same name at all hosts.
        let shared = self.session.share.get().map(|share| share.id().to_owned());
        let own = || shared.unwrap_or_else(|| self.session.name.0.clone());
        let session = (!caller.modern).then(own);
        Owner { principal: caller.principal.clone(), session }
    }

    /// The answer within a bound. If its texts are longer than the bound, the first page replaces them, with a link
    /// to the second page, and the texts are kept. Structured content that no text repeats is the last of the texts. All
    /// other content blocks stay.
    pub(super) async fn within_bound(
        &self,
        mut result: CallToolResult,
        bound: Option<NonZeroU32>,
        caller: &Caller,
    ) -> CallToolResult {
        let Some(bound) = bound.filter(|bound| is_longer(&result, Some(*bound))) else {
            return result;
        };
        let size = bytes_of(bound);
        let text = texts(&result).join("\n");
        let kept = Arc::new(KeptResult {
            id: request_id(),
            owner: self.owner(caller),
            pages: pages(&text, size),
            text,
        });
        let (id, number) = (&kept.id, kept.pages.len());
        let first_page = format!(
            "{}\n\n[Page 1 of {number}. The whole answer has about {} tokens: {}. Read page 2 with {READ} {{\"id\": \"{id}\", \"page\": 2}}.]",
            kept.page(1).unwrap_or_default(),
            kept.text.len() / TOKEN_BYTES,
            shape_of_text(&kept.text),
        );
        result.content.retain(|block| block.as_text().is_none());
        result.content.insert(0, ContentBlock::text(first_page));
        let link = json!({
            "type": "resource_link", "uri": format!("{SCHEME}{id}/2"), "name": "page 2", "mimeType": "text/plain",
        });
        result.content.extend(serde_json::from_value::<ContentBlock>(link));
        // The pages contain it.
        result.structured_content = None;
        if let Some(state) = &self.shared.cluster {
            share(state, &kept).await;
        }
        self.shared.results.keep(kept);
        result
    }

    /// An answer that this host keeps, or another host of the cluster. `None`: none is kept for this caller.
    async fn kept_result(&self, id: &str, caller: &Caller) -> Option<Arc<KeptResult>> {
        let owner = self.owner(caller);
        if let Some(kept) = self.shared.results.find(id, &owner) {
            return Some(kept);
        }
        let state = self.shared.cluster.as_ref()?;
        let is_id =
            id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let found = if is_id { state.get(SHARED, id).await } else { Ok(None) };
        let unread = |error: &dyn Error| tracing::warn!("an answer of another host: {error}");
        let found = found.inspect_err(|error| unread(error)).ok()??;
        let kept = serde_json::from_slice::<KeptResult>(&found);
        let kept = kept.inspect_err(|error| unread(error)).ok()?;
        (kept.owner == owner).then(|| Arc::new(kept))
    }

    /// Serves a call of `read_result`.
    pub(super) async fn read_result(
        &self,
        arguments: Option<JsonObject>,
        caller: &Caller,
    ) -> CallToolResponse {
        let read: ReadResultArguments =
            match serde_json::from_value(arguments.unwrap_or_default().into()) {
                Ok(read) => read,
                Err(error) => {
                    return convert::error(format!("the arguments are wrong: {error}")).into();
                }
            };
        let kept = self.kept_result(&read.id, caller).await;
        let Some(kept) = kept else {
            let why = "there is no such answer, or it is no longer kept: call its tool again";
            return convert::error(why.to_owned()).into();
        };
        match kept.page(read.page) {
            Some(page) => {
                let (page, number) = (page.to_owned(), kept.pages.len());
                convert::text(format!("{page}\n\n[Page {} of {number}.]", read.page)).into()
            }
            None => {
                let why = format!(
                    "there is no page {}: the answer has {} pages",
                    read.page,
                    kept.pages.len()
                );
                convert::error(why).into()
            }
        }
    }

    /// A page as a resource. `None`: the URI does not name a page, or the caller may not read the page.
    pub(super) async fn result_resource(
        &self,
        uri: &str,
        cx: &RequestContext<RoleServer>,
    ) -> Option<ReadResourceResult> {
        let (id, page) = uri.strip_prefix(SCHEME)?.split_once('/')?;
        let kept = self.kept_result(id, &Caller::of(cx)).await?;
        let text = kept.page(page.parse().ok()?)?;
        let contents = json!([{ "uri": uri, "mimeType": "text/plain", "text": text }]);
        Some(ReadResourceResult::new(serde_json::from_value(contents).ok()?))
    }
}

/// Keeps an answer for the other hosts. A failure is logged: the pages can then be read at this host only.
async fn share(state: &ClusterState, kept: &KeptResult) {
    let Ok(text) = serde_json::to_vec(kept) else { return };
    if let Err(error) = state.put(SHARED, &kept.id, &text, SHARED_TIME).await {
        tracing::warn!("the pages of an answer can be read at this host only: {error}");
    }
}

impl Results {
    fn keep(&self, kept: Arc<KeptResult>) {
        let mut all = self.0.lock();
        all.push_back(kept);
        let bytes =
            |all: &VecDeque<Arc<KeptResult>>| all.iter().map(|one| one.text.len()).sum::<usize>();
        // The newest answer is kept, whatever its size: other limits bound the size of one answer.
        while all.len() > 1 && (all.len() > MAX_KEPT || bytes(&all) > MAX_BYTES) {
            all.pop_front();
        }
    }

    fn find(&self, id: &str, owner: &Owner) -> Option<Arc<KeptResult>> {
        let all = self.0.lock();
        all.iter().find(|kept| kept.id == id && kept.owner == *owner).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_within_the_bound_and_whole_together() {
        for text in
            ["a\nbb\nccc\ndddd\n".repeat(50), "é".repeat(300), String::new(), "x".repeat(64)]
        {
            for size in [1, 3, 16, 64] {
                let begins = pages(&text, size);
                let ends = begins.iter().skip(1).copied().chain([text.len()]);
                let parts: Vec<&str> =
                    begins.iter().zip(ends).map(|(begin, end)| &text[*begin..end]).collect();
                assert_eq!(parts.concat(), text);
                // One character may be larger than the bound.
                assert!(parts.iter().all(|part| part.len() <= size.max(2)), "{size}: {parts:?}");
            }
        }
    }

    #[test]
    fn structured_content_that_no_text_repeats_is_one_of_the_texts() {
        let result = |text: &str| -> CallToolResult {
            serde_json::from_value(json!({
                "content": [{"type": "text", "text": text}], "structuredContent": {"rows": [1, 2]},
            }))
            .unwrap()
        };
        assert_eq!(texts(&result("2 rows")), ["2 rows", "{\"rows\":[1,2]}"]);
        assert_eq!(texts(&result("{ \"rows\": [1, 2] }")).len(), 1);
        let bound = NonZeroU32::new(4);
        assert!(is_longer(&result("2 rows"), bound), "21 bytes are more than 16");
    }

    #[test]
    fn a_shape_names_members_and_numbers() {
        let value = json!({"rows": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "total": 2});
        assert_eq!(shape(&value, 0), "object with rows (array of 2 × object with id, name), total");
        assert_eq!(shape_of_text("[]"), "JSON: empty array");
        assert_eq!(shape_of_text("a\nb"), "text of 2 lines");
    }

    #[test]
    fn an_answer_is_read_by_its_owner_only_and_the_oldest_is_forgotten() {
        let owner = |name: &str| Owner { principal: None, session: Some(name.to_owned()) };
        let kept = |number: usize| {
            let text = "x".repeat(10);
            let pages = pages(&text, 4);
            Arc::new(KeptResult { id: number.to_string(), owner: owner("a"), text, pages })
        };
        let results = Results::default();
        for number in 0..=MAX_KEPT {
            results.keep(kept(number));
        }
        assert!(results.find("0", &owner("a")).is_none());
        assert!(results.find("1", &owner("b")).is_none());
        let found = results.find("1", &owner("a")).unwrap();
        assert_eq!((found.page(0), found.page(3), found.page(4)), (None, Some("xx"), None));
    }
}
