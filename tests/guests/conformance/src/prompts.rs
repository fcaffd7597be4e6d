//! Prompts of the conformance suite, with and without arguments.

use crate::PNG;
use portcullis_plugin::content::{Blob, ContentBody, ResourceContents, ResourceData, Role};
use portcullis_plugin::prelude::*;

/// A prompt without arguments.
#[arguments]
pub struct Simple {}

impl Prompt for Simple {
    const NAME: &'static str = "test_simple_prompt";

    fn get(self, _request: &Request) -> Result<Messages, Failure> {
        Ok(Messages::new().user("This is a simple prompt for testing."))
    }
}

/// A prompt with arguments.
#[arguments]
pub struct WithArguments {
    /// The first.
    arg1: String,
    /// The second.
    arg2: String,
}

impl Prompt for WithArguments {
    const NAME: &'static str = "test_prompt_with_arguments";

    fn get(self, _request: &Request) -> Result<Messages, Failure> {
        let Self { arg1, arg2 } = self;
        Ok(Messages::new().user(format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")))
    }

    fn complete(
        _request: &Request,
        _argument: &str,
        value: &str,
        _context: &[(String, String)],
    ) -> Vec<String> {
        let values = ["test-one", "test-two", "other"].into_iter();
        values.filter(|one| one.starts_with(value)).map(str::to_owned).collect()
    }
}

/// A prompt with a resource in it.
#[arguments]
pub struct WithResource {
    /// Its address.
    #[serde(rename = "resourceUri")]
    resource_uri: String,
}

impl Prompt for WithResource {
    const NAME: &'static str = "test_prompt_with_embedded_resource";

    fn get(self, _request: &Request) -> Result<Messages, Failure> {
        let resource = ResourceContents {
            uri: self.resource_uri,
            mime_type: Some("text/plain".to_owned()),
            data: ResourceData::Text("Embedded resource content for testing.".to_owned()),
            extra: None,
        };
        Ok(Messages::new()
            .message(Role::User, ContentBody::Resource(resource))
            .user("Please process the embedded resource above."))
    }
}

/// A prompt with a picture in it.
#[arguments]
pub struct WithImage {}

impl Prompt for WithImage {
    const NAME: &'static str = "test_prompt_with_image";

    fn get(self, _request: &Request) -> Result<Messages, Failure> {
        let image = Blob { data: PNG.to_vec(), mime_type: "image/png".to_owned() };
        Ok(Messages::new()
            .message(Role::User, ContentBody::Image(image))
            .user("Please analyze the image above."))
    }
}

#[data(open)]
struct Context {
    context: String,
}

/// A prompt that asks first.
#[arguments]
pub struct WithInput {}

impl Prompt for WithInput {
    const NAME: &'static str = "test_input_required_result_prompt";

    fn get(self, request: &Request) -> Result<Messages, Failure> {
        let question = form::<Context>("user_context", "What context should the prompt use?");
        let context = request.ask(question)?.context;
        Ok(Messages::new().user(format!("Use this context: {context}")))
    }
}
