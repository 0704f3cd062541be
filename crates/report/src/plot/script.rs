//! Runs the chart library in an embedded JavaScript engine: a run goes in as JSON, charts come out as SVG.
//!
//! The engine has no files, no network, no clock that a chart could show, and limited memory. It computes
//! only layouts; the widths of text, which it cannot know, come from a function that it is given.

use rquickjs::function::Func;
use rquickjs::{CatchResultExt, Context, Function, Object, Runtime};

use super::PlotError;
use super::font::Widths;

/// The bundle that `web/` builds.
pub(super) const BUNDLE: &str = include_str!("../../../../web/dist/charts.js");
/// Memory limit of the engine; a chart of a million dots takes a fifth of it.
const MEMORY: usize = 1 << 30;
/// Stack limit of the engine; layouts recurse a little.
const STACK: usize = 4 << 20;

pub(super) struct Script {
    context: Context,
    // Declared after the context, which must be dropped first.
    _runtime: Runtime,
}

impl Script {
    pub(super) fn new(bundle: &str, widths: Widths) -> Result<Self, PlotError> {
        let engine = |error: rquickjs::Error| PlotError::Engine(error.to_string());
        let runtime = Runtime::new().map_err(engine)?;
        runtime.set_memory_limit(MEMORY);
        runtime.set_max_stack_size(STACK);
        let context = Context::full(&runtime).map_err(engine)?;
        context.with(|js| {
            let advance = move |text: String, bold: bool| widths.advance(&text, bold);
            js.globals().set("advance", Func::from(advance)).catch(&js).map_err(PlotError::exception)?;
            js.eval::<(), _>(bundle).catch(&js).map_err(PlotError::exception)
        })?;
        Ok(Self { context, _runtime: runtime })
    }

    pub(super) fn call(&self, name: &str, arguments: &[&str]) -> Result<String, PlotError> {
        self.context.with(|js| {
            let charts: Object<'_> = js.globals().get("charts").catch(&js).map_err(PlotError::exception)?;
            let function: Function<'_> = charts.get(name).catch(&js).map_err(PlotError::exception)?;
            let answer: Option<String> = match arguments {
                [] => function.call(()),
                [one] => function.call((*one,)),
                [one, two, ..] => function.call((*one, *two)),
            }
            .catch(&js)
            .map_err(PlotError::exception)?;
            Ok(answer.unwrap_or_default())
        })
    }
}
