//! Generates views with a provider: in the foreground in seconds, as a job in minutes.

use crate::{
    canonical,
    faces::{self, Addresses},
    folders, judge,
    kept::{self, Body, By, Failed, View},
    page, prompt,
    provider::{self, Budget, Code},
    settings::{Provider, Settings},
    time::{self, Clock, WallClock},
};
use portcullis_plugin::{
    catalog::Entry,
    prelude::*,
    serde_json::{self, Value},
};
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// Most concurrent generations.
const SLOTS: u8 = 2;
/// Time after a failure before the next automatic attempt.
const REST: Duration = Duration::from_secs(600);

/// The background jobs: generation of views.
pub struct Chores;

#[derive(Serialize, Deserialize)]
struct Job {
    tool: String,
    /// Whether to ignore the cache.
    anew: bool,
}

impl Jobs for Chores {
    fn run(request: &Request<'_>, job: &[u8]) -> Result<(), Failure> {
        let Job { tool, anew } = serde_json::from_slice(job)?;
        let settings = Settings::read();
        let Ok(tool) = faces::dressed(&tool, &settings) else {
            // The tool was removed, or excluded by the settings, while the job waited.
            request.log(
                Level::Info,
                json!({ "step": "job", "tool": tool, "why": "it gets no view any more" }),
            );
            return Ok(());
        };
        let made = generate(request, &settings, &tool, &WallClock::new(), Pace::Background, anew);
        made.map(|_| ()).map_err(|why| Failure::new(why.to_string()))
    }
}

/// Schedules the generation of a tool's view. `false` if that is not possible.
pub fn later(request: &Request<'_>, tool: &str) -> bool {
    leave(request, tool, false)
}

/// Like [`later`], ignoring the cache.
pub fn later_anew(request: &Request<'_>, tool: &str) -> bool {
    leave(request, tool, true)
}

fn leave(request: &Request<'_>, tool: &str, anew: bool) -> bool {
    let job = Job { tool: tool.to_owned(), anew };
    let is_left = request.later(&serde_json::to_vec(&job).expect("a job is JSON"));
    request.log(Level::Debug, json!({ "step": "queue", "tool": tool, "waiting": is_left }));
    is_left
}

/// Whether a caller waits for the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A caller waits.
    Foreground,
    /// No caller waits.
    Background,
}

impl Pace {
    fn name(self) -> &'static str {
        match self {
            Self::Foreground => "foreground",
            Self::Background => "background",
        }
    }
}

/// A generated view.
#[derive(Debug, PartialEq)]
pub struct Made {
    /// The URI of the view.
    pub address: String,
    /// Duration in milliseconds.
    pub ms: u64,
    /// Whether the view came from the cache.
    pub from_cache: bool,
}

/// The reason why there is no view.
#[derive(Debug)]
pub enum Why {
    /// All slots are busy, and a caller should not wait for one.
    Busy,
    /// The provider failed.
    Provider(provider::Error),
    /// The model's answer cannot be shown.
    Invalid(Vec<String>),
    /// The view could not be stored.
    Kept(Failure),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("other views are being generated"),
            Self::Provider(error) => error.fmt(f),
            Self::Invalid(problems) => {
                write!(f, "INVALID: what the model wrote cannot be shown: {}", problems.join("; "))
            }
            Self::Kept(failure) => write!(f, "the view could not be kept: {failure}"),
        }
    }
}

impl Why {
    /// Whether the same generation may succeed with more time.
    pub fn is_for_later(&self) -> bool {
        match self {
            Self::Busy => true,
            Self::Provider(error) => matches!(error.code, Code::Timeout | Code::RateLimit),
            Self::Invalid(_) | Self::Kept(_) => false,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Busy => "BUSY",
            Self::Provider(error) => error.code.name(),
            Self::Invalid(_) => "INVALID",
            Self::Kept(_) => "STORE",
        }
    }
}

/// Whether there is a provider that has not just failed for this tool.
pub fn is_worth_trying(tool: &Entry, settings: &Settings) -> bool {
    let Some(provider) = &settings.provider else { return false };
    let key = key(tool, settings, provider, &kept::record(&tool.name));
    cache::get(&failed(&key)).is_none_or(|value| value.is_empty())
}

/// The cache key: a digest of everything that influences the generated view.
pub fn key(
    tool: &Entry,
    settings: &Settings,
    provider: &Provider,
    record: &kept::Record,
) -> String {
    let refinements: Vec<_> = record.refinements.iter().map(|one| one.feedback.as_str()).collect();
    canonical::digest(&json!({
        "version": kept::VERSION,
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
        "sample": sample(tool, settings),
    }))
}

fn failed(key: &str) -> String {
    format!("failed/{key}")
}

fn sample(tool: &Entry, settings: &Settings) -> Option<Value> {
    if settings.send_results { catalog::last_result(&tool.name) } else { None }
}

/// Generates a view and publishes it. `anew`: ignore the cache.
pub fn generate(
    request: &Request<'_>,
    settings: &Settings,
    tool: &Entry,
    clock: &dyn Clock,
    pace: Pace,
    anew: bool,
) -> Result<Made, Why> {
    let provider = settings.provider.as_ref().expect("asked only where there is one");
    let key = key(tool, settings, provider, &kept::record(&tool.name));
    let before = Addresses::new(settings).of(tool);
    let begin = clock.elapsed();
    request.log(
        Level::Info,
        json!({ "step": "generate", "tool": tool.name, "key": short(&key), "pace": pace.name() }),
    );
    let slot = Slot::take(&tool.name, pace, provider.background)?;
    let found =
        if settings.cache.on && !anew { cached(request, settings, tool, &key) } else { None };
    let from_cache = found.is_some();
    let made = match found {
        Some(view) => Ok(view),
        None => written(request, settings, provider, tool, clock, pace, &key),
    };
    drop(slot);
    let kept = made.and_then(|view| {
        let (kind, tokens) = (view.body.kind(), view.tokens);
        kept::keep(&tool.name, view, &settings.cache).map_err(Why::Kept)?;
        Ok((kind, tokens))
    });
    let ms = kept::milliseconds(clock.elapsed() - begin);
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
    let address = faces::tell(request, tool, settings, &before);
    let page = faces::page_of(tool, settings).html;
    folders::debug(request, settings, &tool.name, "page.html", &page);
    folders::export(request, settings, &tool.name, &page);
    Ok(Made { address, ms, from_cache })
}

/// The start of a key, enough to identify it in a log.
fn short(key: &str) -> &str {
    &key[..12]
}

fn note_failure(request: &Request<'_>, tool: &Entry, key: &str, why: &Why, ms: u64) {
    request.log(Level::Warning, json!({
        "step": "failed", "tool": tool.name, "key": short(key), "code": why.code(), "why": why.to_string(), "ms": ms,
    }));
    if matches!(why, Why::Provider(error) if error.code == Code::Aborted) {
        return;
    }
    cache::set(&failed(key), [1], REST);
    let failed = Failed { at: time::now(), code: why.code().to_owned(), why: why.to_string() };
    if let Err(failure) = kept::change(&tool.name, |record| record.failure = Some(failed.clone())) {
        request.log(Level::Warning, json!({ "step": "store", "why": failure.to_string() }));
    }
}

/// The cached view for that key, if it can still be shown.
fn cached(request: &Request<'_>, settings: &Settings, tool: &Entry, key: &str) -> Option<View> {
    let bytes = cache::get(&format!("view/{key}"));
    let view = bytes.as_deref().and_then(|bytes| serde_json::from_slice::<View>(bytes).ok());
    let view = view.and_then(|view| {
        let last = catalog::last_result(&tool.name);
        let judged = match &view.body {
            Body::Specification(value) => judge::specification(value.clone(), tool, last.as_ref()),
            Body::Document(html) => judge::document(html, settings.cache.entry_bytes),
        };
        judged.is_ok().then(|| View { at: time::now(), ..view })
    });
    request.log(
        Level::Info,
        json!({ "step": "cache", "tool": tool.name, "key": short(key), "hit": view.is_some() }),
    );
    view
}

/// The model's answer: one attempt, and one repair if the answer has faults.
fn written(
    request: &Request<'_>,
    settings: &Settings,
    provider: &Provider,
    tool: &Entry,
    clock: &dyn Clock,
    pace: Pace,
    key: &str,
) -> Result<View, Why> {
    let time = match pace {
        Pace::Foreground => provider.foreground,
        Pace::Background => provider.background,
    };
    let budget = Budget::new(request, clock, time);
    let last = catalog::last_result(&tool.name);
    let refinements = kept::record(&tool.name).refinements;
    let mut question =
        prompt::first(tool, &refinements, sample(tool, settings).as_ref(), settings.documents);
    let mut round = 1;
    let (body, said) = loop {
        let told = format!("{}\n\n{}", question.system, question.turns.join("\n\n---\n\n"));
        folders::debug(request, settings, &tool.name, &format!("{round}-prompt.txt"), &told);
        let said = provider::ask(request, provider, &question, &budget).map_err(Why::Provider)?;
        folders::debug(request, settings, &tool.name, &format!("{round}-answer.txt"), &said.text);
        let judged = judge::answer(
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
        if let Ok(body) = judged {
            break (body, said);
        }
        if round == 2 {
            return Err(Why::Invalid(problems));
        }
        round += 1;
        question = prompt::again(question, said.text, &problems);
    };
    let view = View {
        body,
        by: By::Provider,
        made_for: By::Provider.depends_on(tool),
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

/// A slot for one generation, chosen by the tool's name: no tool is in two slots at once.
struct Slot {
    busy: String,
    _claim: Option<cache::Claim>,
}

impl Slot {
    /// Takes a slot. `longest`: limit for the time the slot is held.
    fn take(tool: &str, pace: Pace, longest: Duration) -> Result<Self, Why> {
        let digest = canonical::digest_of(tool.as_bytes());
        let number = digest.as_bytes()[0] % SLOTS;
        let busy = format!("busy/{number}");
        // A wait for a claim cannot be aborted, so a foreground call must not start one.
        let is_busy = cache::get(&busy).is_some_and(|value| !value.is_empty());
        if pace == Pace::Foreground && is_busy {
            return Err(Why::Busy);
        }
        let claim = cache::claim(&format!("slot/{number}"));
        cache::set(&busy, [1], longest);
        Ok(Self { busy, _claim: claim })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // The cache cannot delete entries: an empty value counts as absent.
        cache::set(&self.busy, [], Duration::from_millis(1));
    }
}
