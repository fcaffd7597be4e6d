//! What the tools have in common in their arguments and their answers, written once.

/// The arguments of a tool about a project: those that are its own, and which project is meant. After
/// `#[paged]`, also which part of a long list.
macro_rules! about_project {
    (
        #[paged]
        $(#[$meta:meta])*
        pub struct $name:ident { $($fields:tt)* }
    ) => {
        about_project! {
            $(#[$meta])*
            pub struct $name {
                $($fields)*
                /// How many results at most; 0 for as many as one answer holds.
                #[serde(default = "crate::answer::hundred")]
                max_results: u32,
                /// How many results to leave out.
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
            /// Absolute path of the project's folder, or in it. May be left out when one project is open.
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

/// An answer: what it tells, from where, as of when, and with which warnings.
macro_rules! told {
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

/// A tool that changes nothing, and that the editor or the files answer.
macro_rules! answered {
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
