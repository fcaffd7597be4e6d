//! A test plugin whose tools need a grant for an action, and the user's consent.

use portcullis_plugin::prelude::*;

/// Erases a thing, once it was agreed to.
#[arguments]
struct Erase {
    /// Which thing.
    what: String,
    /// What is lost with it.
    losing: Option<String>,
}

impl Tool for Erase {
    const NAME: &'static str = "erase";
    const HINTS: Hints = Hints::new().destructive(true);
    const NEEDS: &'static [&'static str] = &["erase"];
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        let deed = consent("erase", "erase a thing", &self.what);
        request.ask(match self.losing {
            Some(lost) => deed.overwriting(lost),
            None => deed,
        })?;
        Ok(format!("erased {}", self.what))
    }
}

/// Burns a thing.
#[arguments]
struct Burn {}

impl Tool for Burn {
    const NAME: &'static str = "burn";
    const NEEDS: &'static [&'static str] = &["erase", "burn"];
    type Output = &'static str;

    fn call(self, _request: &Request) -> Result<&'static str, Failure> {
        Ok("burnt")
    }
}

/// Looks.
#[arguments]
struct Look {}

impl Tool for Look {
    const NAME: &'static str = "look";
    const HINTS: Hints = Hints::new().read_only(false);
    type Output = &'static str;

    fn call(self, _request: &Request) -> Result<&'static str, Failure> {
        Ok("looked")
    }
}

plugin! {
    name: "deeds",
    tools: [Erase, Burn, Look],
    wants: [
        Want::action("erase", "to erase things").optional(),
        Want::action("burn", "to burn things").optional(),
        Want::client("consent", "to ask before it erases").optional(),
    ],
}
