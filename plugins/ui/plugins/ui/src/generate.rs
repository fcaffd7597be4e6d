//! Generates views with a provider: in the foreground within seconds, or as a job within minutes.

use crate::{
    canonical, folders, model_output, page, prompt,
    provider::{self, Budget, Code},
    settings::{Provider, Settings},
    stored_views::{self, Body, GenerationFailure, View, ViewMaker},
    time::{self, Clock, WallClock},
    view_assignment::{self, ViewUris},
};
use portcullis_plugin::{
    catalog::Entry,
    prelude::*,
    serde_json::{self, Value},
};
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// Cache keys that bound the number of concurrent generations. Jobs in the background do not use the last
/// slot, so that it stays free for generations in the foreground.
const SLOTS: [&str; 3] = ["slot/0", "slot/1", "slot/2"];
/// Longest wait for a tool's turn or for a slot before the budget is checked again.
const STEP: Duration = Duration::from_millis(200);
/// Pause after a failure before the next automatic attempt.
const REST: Duration = Duration::from_secs(600);

/// The background jobs: generation of views.
pub struct GenerationJobs;

#[derive(Serialize, Deserialize)]
struct GenerationJob {
    tool: String,
    /// Whether to ignore the cache.
    anew: bool,
}

impl Jobs for GenerationJobs {
    fn run(request: &Request<'_>, job: &[u8]) -> Result<(), Failure> {
        let GenerationJob { tool, anew } = serde_json::from_slice(job)?;
        let settings = Settings::read();
        let Ok(tool) = view_assignment::tool_with_view(&tool, &settings) else {
            // The tool was removed, or excluded by the settings, while the job waited.
            request.log(
                Level::Info,
                json!({ "step": "job", "tool": tool, "why": "it gets no view any more" }),
            );
            return Ok(());
        };
        match generate(request, &settings, &tool, &WallClock::new(), WaitMode::Background, anew) {
            Ok(_) => Ok(()),
            Err(NoViewReason::Busy) if enqueue(request, &tool.name, anew) => Ok(()),
            Err(why) => Err(Failure::new(why.to_string())),
        }
    }
}

/// Schedules the generation of a tool's view. `false` if that is not possible.
pub fn enqueue_job(request: &Request<'_>, tool: &str) -> bool {
    enqueue(request, tool, false)
}

/// Like [`enqueue_job`], ignoring the cache.
pub fn enqueue_anew(request: &Request<'_>, tool: &str) -> bool {
    enqueue(request, tool, true)
}

fn enqueue(request: &Request<'_>, tool: &str, anew: bool) -> bool {
    let job = GenerationJob { tool: tool.to_owned(), anew };
    let is_queued = request.later(&serde_json::to_vec(&job).expect("a job is JSON"));
    request.log(Level::Debug, json!({ "step": "queue", "tool": tool, "waiting": is_queued }));
    is_queued
}

/// Whether a client waits for the generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMode {
    /// A client waits for the answer of the call.
    Foreground,
    /// No client waits: the generation is a job.
    Background,
}

impl WaitMode {
    /// The time limit of a generation.
    fn limit(self, provider: &Provider) -> Duration {
        match self {
            Self::Foreground => provider.foreground,
            Self::Background => provider.background,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Foreground => "foreground",
            Self::Background => "background",
        }
    }
}

/// A generated view.
#[derive(Debug, PartialEq)]
pub struct GeneratedView {
    /// The URI of the view.
    pub address: String,
    /// Duration in milliseconds.
    pub ms: u64,
    /// Whether the view came from the cache or from another call.
    pub from_cache: bool,
}

/// The reason why there is no view.
#[derive(Debug)]
pub enum NoViewReason {
    /// This generation waited for others until its time was used up.
    Busy,
    /// Another call failed to generate the same view while this call waited for it.
    Same(GenerationFailure),
    /// The provider failed.
    Provider(provider::Error),
    /// The model's answer cannot be shown.
    Invalid(Vec<String>),
    /// The view could not be stored.
    Kept(Failure),
}

impl fmt::Display for NoViewReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("other views are being generated"),
            Self::Same(failed) => f.write_str(&failed.why),
            Self::Provider(error) => error.fmt(f),
            Self::Invalid(problems) => {
                write!(f, "INVALID: the model's answer cannot be shown: {}", problems.join("; "))
            }
            Self::Kept(failure) => write!(f, "the view could not be stored: {failure}"),
        }
    }
}

impl NoViewReason {
    /// Whether the same generation may succeed with more time.
    pub fn is_for_later(&self) -> bool {
        match self {
            Self::Busy => true,
            Self::Provider(error) => matches!(error.code, Code::Timeout | Code::RateLimit),
            Self::Same(failed) => {
                [Code::Timeout, Code::RateLimit].iter().any(|code| code.name() == failed.code)
            }
            Self::Invalid(_) | Self::Kept(_) => false,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Busy => "BUSY",
            Self::Same(_) => "SAME",
            Self::Provider(error) => error.code.name(),
            Self::Invalid(_) => "INVALID",
            Self::Kept(_) => "STORE",
        }
    }
}

/// Whether there is a provider, and the generation of this view has not failed within the last `REST`.
pub fn is_worth_trying(tool: &Entry, settings: &Settings) -> bool {
    let Some(provider) = &settings.provider else { return false };
    let key = key(tool, settings, provider, &stored_views::record(&tool.name));
    cache::get(&failed(&key)).is_none_or(|value| value.is_empty())
}

/// The cache key: a digest of everything that influences the generated view.
pub fn key(
    tool: &Entry,
    settings: &Settings,
    provider: &Provider,
    record: &stored_views::Record,
) -> String {
    let refinements: Vec<_> = record.refinements.iter().map(|one| one.feedback.as_str()).collect();
    canonical::digest(&json!({
        "version": stored_views::VERSION,
        "tool": page::definition(tool),
        "refinements": refinements,
        "prompts": prompt::digest(),
        "template": page::template_version(),
        "service": provider.service.name(),
        "baseUrl": provider.base_url,
        "model": provider.model,
        "effort": provider.effort,
        "maxOutputTokens": provider.max_output_tokens,
        "documents": settings.documents,
        "operator": settings.prompt,
        "sample": sample(tool, settings),
    }))
}

fn failed(key: &str) -> String {
    format!("failed/{key}")
}

fn sample(tool: &Entry, settings: &Settings) -> Option<Value> {
    if settings.send_results { catalog::last_result(&tool.name) } else { None }
}

/// Generates a view and publishes it. Only one view of a tool is generated at a time. A call that waited while the
/// same view was made gets that view. `anew`: ignore the cache.
pub fn generate(
    request: &Request<'_>,
    settings: &Settings,
    tool: &Entry,
    clock: &dyn Clock,
    pace: WaitMode,
    anew: bool,
) -> Result<GeneratedView, NoViewReason> {
    let provider = settings.provider.as_ref().expect("asked only where there is one");
    let (began, begin) = (time::now(), clock.elapsed());
    let before = ViewUris::new(settings).of(tool);
    let waiting = Budget::new(request, clock, pace.limit(provider));
    let _turn = GenerationSlot::take(&tool.name, pace, &waiting)?;
    let record = stored_views::record(&tool.name);
    let key = key(tool, settings, provider, &record);
    request.log(
        Level::Info,
        json!({ "step": "generate", "tool": tool.name, "key": short(&key), "pace": pace.name() }),
    );
    let spent = || stored_views::milliseconds(clock.elapsed() - begin);
    match meanwhile(record, &key, began) {
        Some(Ok(())) => {
            let address = ViewUris::new(settings).of(tool);
            return Ok(GeneratedView { address, ms: spent(), from_cache: true });
        }
        Some(Err(failed)) => return Err(NoViewReason::Same(failed)),
        None => {}
    }
    let found =
        if settings.cache.on && !anew { cached(request, settings, tool, &key) } else { None };
    let from_cache = found.is_some();
    let made = match found {
        Some(view) => Ok(view),
        None => {
            // No client waits for a job, so the job's time begins when the job has its turn.
            let budget = match pace {
                WaitMode::Foreground => waiting,
                WaitMode::Background => Budget::new(request, clock, provider.background),
            };
            written(request, settings, provider, tool, &budget, &key)
        }
    };
    let kept = made.and_then(|view| {
        let (kind, tokens) = (view.body.kind(), view.tokens);
        stored_views::keep(&tool.name, view, &settings.cache).map_err(NoViewReason::Kept)?;
        Ok((kind, tokens))
    });
    let ms = spent();
    let (kind, tokens) = match kept {
        Ok(kept) => kept,
        Err(why) => {
            note_failure(request, tool, &key, &why, ms);
            return Err(why);
        }
    };
    request.log(Level::Info, json!({
        "step": "store", "tool": tool.name, "key": short(&key), "kind": kind, "ms": ms, "tokens": tokens,
    }));
    let address = view_assignment::notify_view_changed(request, tool, settings, &before);
    let page = view_assignment::page_of(tool, settings).html;
    folders::debug(request, settings, &tool.name, "page.html", &page);
    folders::export(request, settings, &tool.name, &page);
    Ok(GeneratedView { address, ms, from_cache })
}

/// The outcome of the same generation by another call since `began`. `None`: there was no such generation.
fn meanwhile(
    record: stored_views::Record,
    key: &str,
    began: u64,
) -> Option<Result<(), GenerationFailure>> {
    let is_same = |view: &View| view.key.as_deref() == Some(key) && view.at > began;
    if record.view.as_ref().is_some_and(is_same) {
        return Some(Ok(()));
    }
    let has_failed = cache::get(&failed(key)).is_some_and(|value| !value.is_empty());
    record.failure.filter(|failed| has_failed && failed.at > began).map(Err)
}

/// The start of a key, enough to identify it in a log.
fn short(key: &str) -> &str {
    &key[..12]
}

fn note_failure(request: &Request<'_>, tool: &Entry, key: &str, why: &NoViewReason, ms: u64) {
    request.log(Level::Warning, json!({
        "step": "failed", "tool": tool.name, "key": short(key), "code": why.code(), "why": why.to_string(), "ms": ms,
    }));
    if matches!(why, NoViewReason::Provider(error) if error.code == Code::Aborted) {
        return;
    }
    cache::set(&failed(key), [1], REST);
    let failed =
        GenerationFailure { at: time::now(), code: why.code().to_owned(), why: why.to_string() };
    if let Err(failure) =
        stored_views::change(&tool.name, |record| record.failure = Some(failed.clone()))
    {
        request.log(Level::Warning, json!({ "step": "store", "why": failure.to_string() }));
    }
}

/// The cached view for a key, if it can still be shown.
fn cached(request: &Request<'_>, settings: &Settings, tool: &Entry, key: &str) -> Option<View> {
    let bytes = cache::get(&format!("view/{key}"));
    let view = bytes.as_deref().and_then(|bytes| serde_json::from_slice::<View>(bytes).ok());
    let view = view.and_then(|view| {
        let last = catalog::last_result(&tool.name);
        let judged = match &view.body {
            Body::Specification(value) => {
                model_output::specification(value.clone(), tool, last.as_ref())
            }
            Body::Document(html) => model_output::document(html, settings.cache.entry_bytes),
        };
        judged.is_ok().then(|| View { at: time::now(), ..view })
    });
    request.log(
        Level::Info,
        json!({ "step": "cache", "tool": tool.name, "key": short(key), "hit": view.is_some() }),
    );
    view
}

/// Asks the model for a view. If the answer has faults, asks once more for a repair.
fn written(
    request: &Request<'_>,
    settings: &Settings,
    provider: &Provider,
    tool: &Entry,
    budget: &Budget<'_>,
    key: &str,
) -> Result<View, NoViewReason> {
    let last = catalog::last_result(&tool.name);
    let refinements = stored_views::record(&tool.name).refinements;
    let mut question = prompt::first(
        tool,
        &refinements,
        sample(tool, settings).as_ref(),
        settings.prompt.as_deref(),
        settings.documents,
    );
    let mut round = 1;
    let (body, said) = loop {
        let told = format!("{}\n\n{}", question.system, question.turns.join("\n\n---\n\n"));
        folders::debug(request, settings, &tool.name, &format!("{round}-prompt.txt"), &told);
        let said =
            provider::ask(request, provider, &question, budget).map_err(NoViewReason::Provider)?;
        folders::debug(request, settings, &tool.name, &format!("{round}-answer.txt"), &said.text);
        let judged = model_output::answer(
            &said.text,
            tool,
            last.as_ref(),
            settings.documents,
            settings.cache.entry_bytes,
        );
        let problems = judged.as_ref().err().cloned().unwrap_or_default();
        request.log(
            Level::Info,
            json!({ "step": "validate", "tool": tool.name, "round": round, "problems": problems }),
        );
        if let Ok(judged) = judged {
            break (judged.body, said);
        }
        if round == 2 {
            return Err(NoViewReason::Invalid(problems));
        }
        round += 1;
        question = prompt::again(question, said.text, &problems);
    };
    let view = View {
        body,
        by: ViewMaker::Provider,
        made_for: ViewMaker::Provider.depends_on(tool),
        key: Some(key.to_owned()),
        request: Some(request.id()),
        at: time::now(),
        duration_ms: budget.spent_ms(),
        model: Some(said.model.unwrap_or_else(|| provider.model.clone())),
        tokens: said.tokens,
    };
    let bytes = serde_json::to_vec(&view).expect("a view is JSON");
    if settings.cache.on && bytes.len() <= settings.cache.entry_bytes {
        cache::set(&format!("view/{key}"), bytes, settings.cache.ttl);
    }
    Ok(view)
}

/// The right to generate one view. For each tool, only one call can hold it. For all tools together, as many calls
/// can hold it as there are [`SLOTS`].
struct GenerationSlot {
    _tool: cache::Claim,
    _slot: cache::Claim,
}

impl GenerationSlot {
    /// Waits for the tool's turn and a slot, at most until the budget is used up.
    fn take(tool: &str, pace: WaitMode, budget: &Budget<'_>) -> Result<Self, NoViewReason> {
        let free = match pace {
            WaitMode::Foreground => &SLOTS[..],
            WaitMode::Background => &SLOTS[..SLOTS.len() - 1],
        };
        let turn = turn_of(tool);
        let mut of_tool = None;
        loop {
            let left = match budget.left() {
                Ok(left) => left,
                Err(error) if error.code == Code::Timeout => return Err(NoViewReason::Busy),
                Err(error) => return Err(NoViewReason::Provider(error)),
            };
            // The tool's turn comes first, so that a call that waits for its turn occupies no slot.
            let Some(tool) = of_tool.take().or_else(|| cache::claim_within(&turn, left.min(STEP)))
            else {
                continue;
            };
            let slot = free.iter().find_map(|slot| cache::claim_within(slot, Duration::ZERO));
            let slot = slot.or_else(|| cache::claim_within(free[0], left.min(STEP)));
            match slot {
                Some(slot) => return Ok(Self { _tool: tool, _slot: slot }),
                None => of_tool = Some(tool),
            }
        }
    }
}

/// The key by which a tool's generations wait for each other.
fn turn_of(tool: &str) -> String {
    format!("turn/{}", canonical::digest_of(tool.as_bytes()))
}
