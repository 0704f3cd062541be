//! The workload `http`: the user's own requests, rendered once or session by session.

use std::sync::Arc;

use weighbridge_model::experiment::{HttpSpec, ReplyCheck, RequestSpec};
use weighbridge_model::id::OperationId;
use weighbridge_model::secret::shown_path;

use crate::bind::{Bind, Binding, join, render_error};
use crate::checks::explain::{FailureLog, Noted};
use crate::checks::{HttpCheck, Reset};
use crate::expect::Expect;
use crate::json::Pointer;
use crate::scenario::{self, Scene};
use crate::stream::Mix;
use crate::{Entry, Workload, WorkloadError};

impl Bind for HttpSpec {
    fn bind(&self, binding: &Binding<'_>) -> Result<Workload, WorkloadError> {
        let Self { requests, equal, scenario } = self;
        if !binding.protocol.is_rest() {
            return Err(binding.unbound("http"));
        }
        let scene = match scenario::is_needed(requests, scenario) {
            true => Some(Arc::new(Scene::bind(requests, scenario, binding)?)),
            false => None,
        };
        let mix = Mix::weighted(requests.iter().map(|request| request.weight));
        let entries = entries(requests, scene.as_deref(), binding)?;
        let ignored = scenario.ignore.iter().map(|pointer| Pointer::new(pointer)).collect();
        Ok(Workload { ignored, scene, ..binding.plain(entries, mix, *equal) })
    }
}

fn entries(
    requests: &[RequestSpec],
    scene: Option<&Scene>,
    binding: &Binding<'_>,
) -> Result<Vec<Entry>, WorkloadError> {
    let bind = |(index, spec): (usize, &RequestSpec)| {
        // The title must not reveal values.
        let title = format!("{} {}", spec.method, shown_path(&join(&binding.address.base, &spec.path)));
        let rendered = match scene {
            Some(scene) => scene.sample(index),
            None => {
                let request = scenario::plain_request(spec, binding)?;
                let rendered = binding.framing.render(OperationId(index as u16), &request);
                rendered.map_err(|source| render_error(&spec.name, source))?
            }
        };
        Ok(Entry { name: spec.name.clone(), title, rendered, expect: Arc::new(spec.check.clone()) })
    };
    requests.iter().enumerate().map(bind).collect()
}

impl Expect for ReplyCheck {
    fn check(&self, log: &FailureLog) -> Box<dyn Reset + Send> {
        Box::new(Noted::new(HttpCheck::new(self.clone()), log))
    }
}
