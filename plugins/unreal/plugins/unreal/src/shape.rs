//! Macros for the arguments and results that the tools share.

/// The arguments of a tool about a project: the tool's own arguments, and the project's folder.
/// `#[paged]` adds the page of a long list, and `#[exporting]` adds the maximum length of a text.
macro_rules! about_project {
    (
        #[exporting]
        $(#[$meta:meta])*
        pub struct $name:ident { $($fields:tt)* }
    ) => {
        about_project! {
            $(#[$meta])*
            pub struct $name {
                $($fields)*
                /// About how many characters at most.
                #[serde(default = "crate::export::usual")]
                #[schemars(range(min = 1_000, max = 4_000_000))]
                max_chars: u32,
            }
        }
    };
    (
        #[paged]
        $(#[$meta:meta])*
        pub struct $name:ident { $($fields:tt)* }
    ) => {
        about_project! {
            $(#[$meta])*
            pub struct $name {
                $($fields)*
                /// How many results at most; 0: as many as fit.
                #[serde(default = "crate::answer::hundred")]
                max_results: u32,
                /// Number of results to skip.
                #[serde(default)]
                offset: u32,
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $($fields:tt)* }
    ) => {
        $(#[$meta])*
        #[arguments]
        pub struct $name {
            $($fields)*
            /// Absolute path of the project. Optional if the roots have only one.
            #[path(directory, read, nearest = ["Content", "Config", "Source", "Plugins"])]
            project_dir: Option<String>,
        }

        impl crate::source::AboutProject for $name {
            fn project_dir(&self) -> Option<&str> {
                self.project_dir.as_deref()
            }
        }
    };
}

/// A result with its source, time and warnings. `#[exported]` adds the text of an object; use
/// `export_result!` to make such a result.
macro_rules! tool_result {
    (
        #[exported]
        $(#[$meta:meta])*
        pub struct $name:ident { $($fields:tt)* }
    ) => {
        tool_result! {
            $(#[$meta])*
            pub struct $name {
                #[serde(rename = "bSuccess")]
                success: bool,
                $($fields)*
                format: String,
                /// The text
                content: String,
                /// Why there is no text
                error: String,
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $($fields:tt)* }
    ) => {
        $(#[$meta])*
        #[data]
        pub struct $name {
            $($fields)*
            source: crate::answer::SourceKind,
            as_of: String,
            warnings: Vec<String>,
        }
    };
}

/// Makes a result with the exported text or with the error, and with further fields.
macro_rules! export_result {
    ($name:ident { $made:expr, $from:expr, $format:expr, $($field:ident: $value:expr),* }) => {{
        let crate::export::Origin { source, as_of, mut warnings } = $from;
        let (success, content, error) = match $made {
            Ok(text) => {
                warnings.extend(text.warnings.iter().map(|text| crate::answer::shown(text)));
                (true, text.content, String::new())
            }
            Err(error) => (false, String::new(), crate::answer::shown(&error)),
        };
        let format = crate::answer::shown($format);
        $name { success, $($field: $value,)* format, content, error, source, as_of, warnings }
    }};
}

/// Implements a read-only tool that the editor or the files answer.
macro_rules! read_only_tool {
    ($asked:ident, $name:literal, $title:literal, $answer:ident) => {
        impl Tool for $asked {
            const NAME: &'static str = $name;
            const TITLE: Option<&'static str> = Some($title);
            const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);
            type Output = Json<$answer>;

            fn call(self, request: &Request) -> Result<Json<$answer>, Failure> {
                crate::source::answer(&self, request).map(Json)
            }
        }
    };
}
