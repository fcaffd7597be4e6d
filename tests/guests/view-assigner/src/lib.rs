//! A test plugin that reads the catalog, assigns views to other plugins' tools, and runs jobs.

use portcullis_plugin::prelude::*;

/// The cache key of the number of finished jobs.
const DONE: &str = "done";

/// Tells what it can see of all tools.
#[arguments]
struct See {
    /// Of this one: its last answer.
    last: Option<String>,
}

impl Tool for See {
    const NAME: &'static str = "see";
    type Output = String;

    fn call(self, _request: &Request) -> Result<String, Failure> {
        if let Some(name) = self.last {
            let one = catalog::tool(&name).map(|tool| tool.name);
            return Ok(format!("{one:?} answered {:?}", catalog::last_result(&name)));
        }
        let line = |tool: catalog::Entry| {
            let whose = if tool.of_this_plugin { "mine" } else { &*tool.source };
            format!("{whose}: {} {:?} {:?}", tool.name, tool.hints.destructive, tool.view)
        };
        Ok(catalog::tools().into_iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}

/// Puts something off.
#[arguments]
struct PutOff {
    /// How many different things.
    jobs: u32,
}

impl Tool for PutOff {
    const NAME: &'static str = "put_off";
    type Output = String;

    fn call(self, request: &Request) -> Result<String, Failure> {
        let taken = (0..self.jobs).filter(|job| request.later(&job.to_be_bytes())).count();
        let huge = request.later(&vec![0; 64 * 1024]);
        Ok(format!("{taken} will be done; a huge one: {huge}"))
    }
}

/// The sum of two numbers, with a structured answer.
#[arguments]
struct Sum {
    a: i64,
    b: i64,
}

#[data]
struct Total {
    total: i64,
}

impl Tool for Sum {
    const NAME: &'static str = "sum";
    const HINTS: Hints = Hints::new().read_only(true);
    type Output = Json<Total>;

    fn call(self, _request: &Request) -> Result<Json<Total>, Failure> {
        Ok(Json(Total { total: self.a + self.b }))
    }
}

struct Faces;

impl Views for Faces {
    fn assign(_request: &Request) -> Result<Vec<ToolView>, Failure> {
        let done = String::from_utf8(cache::get(DONE).unwrap_or_else(|| b"0".to_vec()))?;
        let view_of = |tool: catalog::Entry| ToolView {
            view: (tool.name != "burn")
                .then(|| format!("ui://view-assigner/{}/{done}.html", tool.name)),
            for_model: tool.name != "look",
            for_views: tool.hints.read_only == Some(true),
            tool: tool.name,
        };
        Ok(catalog::tools().into_iter().map(view_of).collect())
    }
}

struct Chores;

impl Jobs for Chores {
    fn run(request: &Request, job: &[u8]) -> Result<(), Failure> {
        if job == [0; 4] {
            return Err(Failure::new("the first job is never done"));
        }
        let done: u32 = match cache::get(DONE) {
            Some(bytes) => String::from_utf8(bytes)?.parse()?,
            None => 0,
        };
        cache::set(DONE, (done + 1).to_string().into_bytes(), None);
        request.list_changed(ListKind::Tools);
        Ok(())
    }
}

struct Pages;

impl Resources for Pages {
    fn templates() -> Vec<Template> {
        vec![Template::new("ui://view-assigner/{tool}/{version}.html", "views")]
    }

    fn read(_request: &Request, uri: &str) -> Result<Contents, Failure> {
        let page = "<!doctype html><title>A view</title>";
        Ok(Contents::text(uri, "text/html;profile=mcp-app", page))
    }
}

plugin! {
    name: "view-assigner",
    tools: [See, PutOff, Sum],
    resources: Pages,
    views: Faces,
    jobs: Chores,
    wants: [
        Want::catalog("tools", "to assign views to them"),
        Want::catalog("results", "to try views with them").optional(),
        Want::cache(10_000, "to count its jobs"),
    ],
}
