//! Runs JavaScript programs in the engine Boa. No other module uses Boa.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use boa_engine::builtins::promise::PromiseState;
use boa_engine::context::time::JsInstant;
use boa_engine::context::{Clock, HostHooks};
use boa_engine::object::FunctionObjectBuilder;
use boa_engine::object::builtins::JsPromise;
use boa_engine::property::PropertyKey;
use boa_engine::realm::Realm;
use boa_engine::{
    Context, JsArgs, JsError, JsNativeError, JsObject, JsResult, JsString, JsValue, NativeFunction,
    Source,
};

use crate::names::layout;
use crate::{FinishedCall, HostFunctions, ProgramError, RunSeed};

/// The script that defines the program's globals: `tools`, `console` and a repeatable `Math.random`.
const PRELUDE: &str = include_str!("../resources/prelude.js");

/// The name of the program in the engine's error messages and stacks.
const PROGRAM: &str = "program";

/// Maximum depth of function calls in a program. The guest's stack is large enough for this depth.
const MAX_DEPTH: usize = 400;

/// Maximum length of the message of an error, in characters.
const MAX_MESSAGE: usize = 2000;

thread_local! {
    /// The host functions of the program that runs on this thread.
    static HOST_FUNCTIONS: RefCell<Option<Box<dyn HostFunctions>>> = const { RefCell::new(None) };
}

/// Calls a function with the host functions of the running program. Returns a JavaScript error if no program
/// runs.
fn with_host_functions<T>(use_it: impl FnOnce(&mut dyn HostFunctions) -> T) -> JsResult<T> {
    HOST_FUNCTIONS.with_borrow_mut(|functions| match functions {
        Some(functions) => Ok(use_it(&mut **functions)),
        None => Err(JsNativeError::error().with_message("the run has ended").into()),
    })
}

/// The program's clock. It shows when the last call ended or, before any call has ended, when the run began. It does
/// not advance in between, so a program reads the same times in each round.
struct ScriptClock(Cell<u64>);

impl Clock for ScriptClock {
    fn now(&self) -> JsInstant {
        let milliseconds = self.0.get();
        let nanos = u32::try_from(milliseconds % 1000).unwrap_or(0) * 1_000_000;
        JsInstant::new(milliseconds / 1000, nanos)
    }

    fn system_time_millis(&self) -> i64 {
        i64::try_from(self.0.get()).unwrap_or(i64::MAX)
    }
}

/// Hooks of the engine that forbid code made from strings (`eval`, `new Function`) and set the time zone to UTC.
struct EvalDisabled;

impl HostHooks for EvalDisabled {
    fn ensure_can_compile_strings(
        &self,
        _: Realm,
        _: &[JsString],
        _: &JsString,
        _: bool,
        _: &mut Context,
    ) -> JsResult<()> {
        Err(JsNativeError::eval().with_message("code cannot be created from text here").into())
    }

    fn local_timezone_offset_seconds(&self, _: i64) -> i32 {
        0
    }
}

/// An engine that is ready to run one program.
struct Engine {
    context: Context,
    clock: Rc<ScriptClock>,
    prelude: Prelude,
}

thread_local! {
    /// The engine for the next program on this thread, if it was made in advance.
    static PREPARED: RefCell<Option<Engine>> = const { RefCell::new(None) };
}

/// Makes the engine of the next program on this thread in advance, since making an engine takes longer than many
/// programs run.
pub fn prepare() {
    // A failure occurs again when the program runs, and is reported there.
    PREPARED.set(Engine::new().ok());
}

/// Runs a JavaScript program and returns its value as JSON.
///
/// # Errors
///
/// The program does not parse, throws, awaits a promise that is never settled, returns a value that JSON cannot
/// express, or exceeds a limit of the engine.
pub fn run(
    program: &str,
    beginning: RunSeed,
    host_functions: impl HostFunctions + 'static,
) -> Result<String, ProgramError> {
    let mut engine = match PREPARED.take() {
        Some(engine) => engine,
        None => Engine::new()?,
    };
    HOST_FUNCTIONS.set(Some(Box::new(host_functions)));
    let outcome = engine.run(program, beginning);
    HOST_FUNCTIONS.set(None);
    if cfg!(target_family = "wasm") {
        // The instance and its memory end with the call: freeing the engine would only take time.
        std::mem::forget(engine);
    }
    outcome
}

/// An internal error, which the program did not cause.
fn fault(message: &str) -> ProgramError {
    ProgramError { name: "InternalError".into(), message: message.into(), place: None }
}

impl Engine {
    fn new() -> Result<Self, ProgramError> {
        let clock = Rc::new(ScriptClock(Cell::new(0)));
        let builder = Context::builder().clock(clock.clone()).host_hooks(Rc::new(EvalDisabled));
        let mut context = builder.build().map_err(|error| fault(&error.to_string()))?;
        context.runtime_limits_mut().set_recursion_limit(MAX_DEPTH);
        let prelude = Prelude::new(&mut context)
            .map_err(|error| fault(&format!("preparing the engine: {error}")))?;
        Ok(Self { context, clock, prelude })
    }

    fn run(&mut self, program: &str, beginning: RunSeed) -> Result<String, ProgramError> {
        self.clock.0.set(beginning.milliseconds);
        let Self { context, clock, prelude } = self;
        prelude.seed(beginning.seed, context).map_err(|error| fault(&error.to_string()))?;
        run_in(context, clock, prelude, program)
    }
}

fn run_in(
    context: &mut Context,
    clock: &ScriptClock,
    prelude: &Prelude,
    program: &str,
) -> Result<String, ProgramError> {
    let function = format!("(async () => {{\n{program}\n}})");
    let source = Source::from_bytes(&function).with_path(Path::new(PROGRAM));
    let begun = context.eval(source).and_then(|function| {
        let function = function.as_callable().ok_or_else(|| {
            JsNativeError::syntax().with_message("a closing bracket has no opening bracket")
        })?;
        function.call(&JsValue::undefined(), &[], context)
    });
    let promise = begun.map_err(|error| prelude.explain(&error, context))?;
    let promise =
        promise.as_object().and_then(|object| JsPromise::from_object(object.clone()).ok());
    let promise = promise.ok_or_else(|| fault("the program is not an asynchronous function"))?;
    loop {
        context.run_jobs().map_err(|error| prelude.explain(&error, context))?;
        // Calls that the program does not await also run to their end.
        let next = with_host_functions(|functions| functions.next())
            .map_err(|error| fault(&error.to_string()))?;
        let Some(ended) = next else { break };
        clock.0.set(ended.milliseconds.max(clock.0.get()));
        prelude.settle(ended, context).map_err(|error| fault(&error.to_string()))?;
    }
    match promise.state() {
        PromiseState::Fulfilled(value) => {
            prelude.json(&value, context).map_err(|error| prelude.explain(&error, context))
        }
        PromiseState::Rejected(error) => {
            Err(prelude.explain(&JsError::from_opaque(error), context))
        }
        PromiseState::Pending => Err(ProgramError {
            name: "Error".into(),
            message:
                "the program awaits a promise that can never be fulfilled: no call is in progress"
                    .into(),
            place: None,
        }),
    }
}

/// The functions that the prelude returns.
struct Prelude {
    object: JsObject,
}

type Native = fn(&JsValue, &[JsValue], &mut Context) -> JsResult<JsValue>;

fn function(context: &Context, native: Native) -> JsValue {
    FunctionObjectBuilder::new(context.realm(), NativeFunction::from_fn_ptr(native)).build().into()
}

fn text_at(arguments: &[JsValue], place: usize, context: &mut Context) -> JsResult<String> {
    Ok(arguments.get_or_undefined(place).to_string(context)?.to_std_string_lossy())
}

fn names(_: &JsValue, _: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    let tools = with_host_functions(|functions| functions.names())?;
    Ok(JsString::from(layout(&tools).as_str()).into())
}

fn start(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let (tool, given) = (text_at(arguments, 0, context)?, text_at(arguments, 1, context)?);
    Ok(with_host_functions(|functions| functions.start(&tool, &given))?.into())
}

fn log(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let (level, line) = (text_at(arguments, 0, context)?, text_at(arguments, 1, context)?);
    with_host_functions(|functions| functions.log(&level, &line))?;
    Ok(JsValue::undefined())
}

fn search(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let query = text_at(arguments, 0, context)?;
    let limit = arguments.get_or_undefined(1).to_length(context)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = with_host_functions(|functions| functions.search(&query, limit))?;
    Ok(JsString::from(found.as_str()).into())
}

fn describe(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let names = text_at(arguments, 0, context)?;
    let names: Vec<String> = serde_json::from_str(&names).map_err(|_| {
        JsNativeError::typ().with_message("tools.describe takes a name or an array of names")
    })?;
    let described = with_host_functions(|functions| functions.describe(&names))?;
    Ok(JsString::from(described.as_str()).into())
}

impl Prelude {
    fn new(context: &mut Context) -> JsResult<Self> {
        let prelude = context.eval(Source::from_bytes(PRELUDE))?;
        let prelude = prelude
            .as_callable()
            .ok_or_else(|| JsNativeError::typ().with_message("the prelude is not a function"))?;
        let natives: [Native; 5] = [names, start, log, search, describe];
        let arguments = natives.map(|native| function(context, native));
        let object = prelude.call(&JsValue::undefined(), &arguments, context)?;
        let object = object
            .as_object()
            .ok_or_else(|| JsNativeError::typ().with_message("the prelude returned no object"))?;
        Ok(Self { object: object.clone() })
    }

    /// Sets the seed of the program's random numbers.
    fn seed(&self, seed: u64, context: &mut Context) -> JsResult<()> {
        let half = |bits: u64| {
            let low = u32::try_from(bits & 0xffff_ffff).unwrap_or(0);
            JsValue::from(low.cast_signed())
        };
        self.call("seed", &[half(seed), half(seed >> 32)], context)?;
        Ok(())
    }

    fn call(&self, name: &str, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
        let function = self.object.get(PropertyKey::from(JsString::from(name)), context)?;
        let function = function
            .as_callable()
            .ok_or_else(|| JsNativeError::typ().with_message("the prelude lacks a function"))?;
        function.call(&JsValue::undefined(), arguments, context)
    }

    /// Settles the promise of a call that has ended.
    fn settle(&self, ended: FinishedCall, context: &mut Context) -> JsResult<()> {
        let (kind, answer) = match ended.answer {
            Ok(value) => (String::new(), value),
            Err((kind, message)) => (kind, message),
        };
        let text = |text: String| JsValue::from(JsString::from(text.as_str()));
        self.call("settle", &[ended.call.into(), text(kind), text(answer)], context)?;
        Ok(())
    }

    /// A value as JSON.
    fn json(&self, value: &JsValue, context: &mut Context) -> JsResult<String> {
        let json = self.call("toJson", std::slice::from_ref(value), context)?;
        Ok(json.to_string(context)?.to_std_string_lossy())
    }

    /// Converts an error of the engine into the error that the model reads.
    fn explain(&self, error: &JsError, context: &mut Context) -> ProgramError {
        let shown = error.to_string();
        let native = error.try_native(context).map(|native| native.to_string());
        let Ok(value) = error.clone().into_opaque(context) else {
            // The program exceeded the recursion limit of the engine, an error that programs cannot catch.
            let message = shown.lines().next().unwrap_or_default().to_owned();
            return ProgramError { name: "RangeError".into(), message, place: place_in(&shown) };
        };
        let mut text = |function: &str| {
            let text = self.call(function, std::slice::from_ref(&value), context);
            text.and_then(|text| text.to_string(context)).map(|text| text.to_std_string_lossy())
        };
        let (name, message, stack) = (text("nameOf"), text("messageOf"), text("stackOf"));
        let texts = [native.ok(), stack.ok(), Some(shown.clone())];
        let place = texts.iter().flatten().find_map(|text| place_in(text));
        let message = message.unwrap_or(shown);
        let message = message.chars().take(MAX_MESSAGE).collect();
        ProgramError { name: name.unwrap_or_default(), message, place }
    }
}

/// The first position in the program that a text of the engine contains in the form `(program:LINE:COLUMN)`. The
/// engine's line numbers include the line that [`run_in`] writes before the program; the returned number does not.
fn place_in(text: &str) -> Option<(u32, u32)> {
    let start = format!("({PROGRAM}:");
    let mut places = text.split(&start).skip(1);
    places.find_map(|rest| {
        let (line, column) = rest.split(')').next()?.split_once(':')?;
        let line = line.parse::<u32>().ok()?.checked_sub(1).filter(|line| *line > 0)?;
        Some((line, column.parse().ok()?))
    })
}
