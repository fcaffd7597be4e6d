//! The result of a tool.

use crate::{
    bindings::tools::ToolResult,
    content::{Blob, Content, ContentBody, ResourceContents, ResourceData, ResourceInfo},
    failure::Failure,
    schema,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A type that can be the result of a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the answer of a tool",
    note = "a tool answers with a `String`, a `Json<T>`, or a `Reply`"
)]
pub trait IntoReply {
    /// JSON Schema of the structured content, if there is any.
    fn schema() -> Option<Value> {
        None
    }

    /// Converts the value into a result.
    fn into_reply(self) -> Result<Reply, Failure>;
}

/// A value that is returned as structured content, and also as JSON text for the model.
///
/// The tool's output schema is made from `T`, which must be an object in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> IntoReply for Json<T> {
    fn schema() -> Option<Value> {
        let mut schema = schema::of_output::<T>();
        schema::require_object(&mut schema, &T::schema_name());
        Some(schema)
    }

    fn into_reply(self) -> Result<Reply, Failure> {
        let value = serde_json::to_value(&self.0)?;
        Ok(Reply::new().text(value.to_string()).structured(value))
    }
}

impl IntoReply for String {
    fn into_reply(self) -> Result<Reply, Failure> {
        Ok(Reply::new().text(self))
    }
}

impl IntoReply for &'static str {
    fn into_reply(self) -> Result<Reply, Failure> {
        Ok(Reply::new().text(self))
    }
}

impl IntoReply for Reply {
    fn into_reply(self) -> Result<Reply, Failure> {
        Ok(self)
    }
}

/// A result, built block by block.
///
/// ```
/// # use portcullis_plugin::Reply;
/// let reply = Reply::new().text("Here it is:").image([0x89, b'P'], "image/png");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The blocks, in order.
    pub content: Vec<Content>,
    /// Structured content; the host validates it against the tool's output schema.
    pub structured: Option<Value>,
    /// Whether the tool failed; the content says why.
    pub is_error: bool,
    /// A JSON object merged into the result, `_meta` included.
    pub extra: Option<Value>,
}

impl Reply {
    /// An empty result.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds text.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.block(ContentBody::Text(text.into()))
    }

    /// Adds an image.
    pub fn image(self, data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        self.block(ContentBody::Image(Blob { data: data.into(), mime_type: mime_type.into() }))
    }

    /// Adds audio.
    pub fn audio(self, data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        self.block(ContentBody::Audio(Blob { data: data.into(), mime_type: mime_type.into() }))
    }

    /// Adds a text resource.
    pub fn resource(
        self,
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        self.embed(uri.into(), mime_type.into(), ResourceData::Text(text.into()))
    }

    /// Adds a binary resource.
    pub fn resource_bytes(
        self,
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Self {
        self.embed(uri.into(), mime_type.into(), ResourceData::Bytes(bytes.into()))
    }

    /// Adds a link to a resource.
    pub fn link(self, uri: impl Into<String>, name: impl Into<String>) -> Self {
        self.block(ContentBody::Link(ResourceInfo {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: Vec::new(),
            annotations: None,
            extra: None,
        }))
    }

    /// Adds any content block, such as one with annotations.
    pub fn content(mut self, content: Content) -> Self {
        self.content.push(content);
        self
    }

    /// Sets the structured content.
    pub fn structured(mut self, value: Value) -> Self {
        self.structured = Some(value);
        self
    }

    /// Marks the result as a failure of the tool.
    pub fn error(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// Sets a JSON object to merge into the result.
    pub fn extra(mut self, extra: Value) -> Self {
        self.extra = Some(extra);
        self
    }

    /// The texts of all text blocks, joined by line breaks; useful in tests.
    pub fn as_text(&self) -> String {
        text_of(self.content.iter())
    }

    fn block(self, body: ContentBody) -> Self {
        self.content(Content { body, annotations: None, extra: None })
    }

    fn embed(self, uri: String, mime_type: String, data: ResourceData) -> Self {
        let mime_type = Some(mime_type);
        self.block(ContentBody::Resource(ResourceContents { uri, mime_type, data, extra: None }))
    }
}

impl From<Reply> for ToolResult {
    fn from(reply: Reply) -> Self {
        Self {
            content: reply.content,
            structured: reply.structured.map(|value| value.to_string()),
            is_error: reply.is_error,
            extra: reply.extra.map(|value| value.to_string()),
        }
    }
}

/// The texts of the text blocks, joined by line breaks.
pub fn text_of<'a>(blocks: impl Iterator<Item = &'a Content>) -> String {
    let texts: Vec<&str> = blocks
        .filter_map(|content| match &content.body {
            ContentBody::Text(text) => Some(text.as_str()),
            ContentBody::Image(_)
            | ContentBody::Audio(_)
            | ContentBody::Resource(_)
            | ContentBody::Link(_)
            | ContentBody::Other(_) => None,
        })
        .collect();
    texts.join("\n")
}
