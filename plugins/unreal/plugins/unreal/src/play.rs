//! The tools `start_play_session` and `stop_play_session`: Play In Editor.

use crate::{
    answer::SourceKind,
    live::{Editor, Fault, Kind, value::Reply},
    source::to_change,
};
use portcullis_plugin::prelude::*;

/// The toolset of Epic's server that starts and stops games.
const TOOLSET: &str = "EditorAppToolset";

about_project! {
    /// Start the game in the editor with its current level (Play In Editor), or simulate it without a player. The user is asked first. Returns when the game runs; read_editor_log then shows what happens. Assets cannot be saved until stop_play_session.
    pub struct StartPlaySession {
        /// Run the world without a player's pawn (Simulate In Editor).
        #[serde(default)]
        simulate: bool,
        /// How many seconds to wait after the start, for the project to settle.
        #[serde(default = "two")]
        #[schemars(range(max = 60))]
        warmup_seconds: u32,
    }
}

about_project! {
    /// Stop the game that runs in the editor (Play In Editor), whoever started it. The user is asked first.
    pub struct StopPlaySession {
    }
}

fn two() -> u32 {
    2
}

tool_result! {
    /// Whether a game runs in the editor.
    pub struct PlaySession {
        is_running: bool,
    }
}

/// The work of both tools: asks the user, makes one call to the editor by `run`, and checks whether
/// a game runs.
fn play(
    request: &Request<'_>,
    project_dir: Option<&str>,
    subject: &str,
    run: impl Fn(&Editor<'_>) -> Result<(), Fault>,
) -> Result<Json<PlaySession>, Failure> {
    let editor = to_change(request, project_dir)?;
    if editor.seen.kind != Kind::Epic {
        return Err(Failure::new(
            "UnrealMCPServer cannot start or stop games: the editor needs Epic's Unreal MCP (engine 5.8 or newer)",
        ));
    }
    request.ask(consent("play", editor.deed("control Play In Editor"), subject))?;
    request.background()?;
    run(&editor)?;
    let running = editor.epic_now(TOOLSET, "IsPIERunning", &json!({}))?;
    Ok(Json(PlaySession {
        is_running: Reply::of("IsPIERunning", &running).flag("")?,
        source: SourceKind::Live,
        as_of: editor.as_of(),
        warnings: editor.warnings(None),
    }))
}

impl Tool for StartPlaySession {
    const NAME: &'static str = "start_play_session";
    const TITLE: Option<&'static str> = Some("Play in editor");
    const HINTS: Hints =
        Hints::new().read_only(false).destructive(true).idempotent(false).open_world(true);
    const NEEDS: &'static [&'static str] = &["editor-play"];
    type Output = Json<PlaySession>;

    fn call(self, request: &Request) -> Result<Json<PlaySession>, Failure> {
        let (subject, mode) = match self.simulate {
            true => ("simulate the current level", "PlayMode_Simulate"),
            false => ("play the current level", "PlayMode_InViewPort"),
        };
        // The server requires all options, also those with a default.
        let options = json!({ "options": {
            "bSimulate": self.simulate,
            "playMode": mode,
            "warmupSeconds": self.warmup_seconds,
        }});
        play(request, self.project_dir.as_deref(), subject, |editor| {
            editor.write_epic(TOOLSET, "StartPIE", &options).map(drop)
        })
    }
}

impl Tool for StopPlaySession {
    const NAME: &'static str = "stop_play_session";
    const TITLE: Option<&'static str> = Some("Stop playing in editor");
    const HINTS: Hints =
        Hints::new().read_only(false).destructive(true).idempotent(false).open_world(true);
    const NEEDS: &'static [&'static str] = &["editor-play"];
    type Output = Json<PlaySession>;

    fn call(self, request: &Request) -> Result<Json<PlaySession>, Failure> {
        play(request, self.project_dir.as_deref(), "stop the running game", |editor| {
            editor.write_epic(TOOLSET, "StopPIE", &json!({})).map(drop)
        })
    }
}
