//! The chart library in an embedded JavaScript engine: a run goes in as JSON, drawings come out as SVG.
//!
//! The engine has no files, no network, no clock that a chart could show, and a bound on its memory. Nothing is computed
//! in it but a layout; what it lacks, widths of text, is lent to it.

use rquickjs::function::Func;
use rquickjs::{CatchResultExt, Context, Function, Object, Runtime};

use super::PlotError;
use super::font::Widths;

/// The bundle that `web/` builds.
pub(super) const BUNDLE: &str = include_str!("../../../../web/dist/charts.js");
/// Most memory that the engine may take; a chart of a million dots takes a fifth of it.
const MEMORY: usize = 1 << 30;
/// Stack of the engine: layouts recurse a little.
const STACK: usize = 4 << 20;

/// An engine with the library loaded.
pub(super) struct Script {
    context: Context,
    // After the context, which must go first.
    _runtime: Runtime,
}

impl Script {
    /// Loads the library.
    pub(super) fn new(bundle: &str, widths: Widths) -> Result<Self, PlotError> {
        let engine = |error: rquickjs::Error| PlotError::Engine(error.to_string());
        let runtime = Runtime::new().map_err(engine)?;
        runtime.set_memory_limit(MEMORY);
        runtime.set_max_stack_size(STACK);
        let context = Context::full(&runtime).map_err(engine)?;
        context.with(|js| {
            let advance = move |text: String, bold: bool| widths.advance(&text, bold);
            js.globals().set("advance", Func::from(advance)).catch(&js).map_err(PlotError::thrown)?;
            js.eval::<(), _>(bundle).catch(&js).map_err(PlotError::thrown)
        })?;
        Ok(Self { context, _runtime: runtime })
    }

    /// Calls one of the bundle's functions with texts.
    pub(super) fn call(&self, name: &str, arguments: &[&str]) -> Result<String, PlotError> {
        self.context.with(|js| {
            let charts: Object<'_> = js.globals().get("charts").catch(&js).map_err(PlotError::thrown)?;
            let function: Function<'_> = charts.get(name).catch(&js).map_err(PlotError::thrown)?;
            let answer: Option<String> = match arguments {
                [] => function.call(()),
                [one] => function.call((*one,)),
                [one, two, ..] => function.call((*one, *two)),
            }
            .catch(&js)
            .map_err(PlotError::thrown)?;
            Ok(answer.unwrap_or_default())
        })
    }
}
