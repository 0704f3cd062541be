//! The user's own requests with values in them: sessions, rows of data, values taken from replies.
//!
//! A [`Scene`] is all of that bound to one variant: values known in advance are filled in, the rest are gaps that each
//! session fills. It refuses, before anything is sent, values that would be missing or would not fit.

mod conversation;
mod extract;
pub mod rows;
mod scenes;
pub(crate) mod values;

use std::sync::Arc;

use weighbridge_load::request::{Rendered, Request};
use weighbridge_load::template::{Gaps, Piece, RenderedTemplate, RequestBuffer, RequestTemplate};
use weighbridge_model::experiment::{
    ReplyCheck, RequestSpec, RowOrder, Scenario, SessionPlan, Template, TemplateError, TemplatePiece,
    ValueError, ValueForm, check_columns,
};
use weighbridge_model::id::OperationId;

pub use conversation::{Conversation, Question};
pub(crate) use scenes::Scenes;

use crate::WorkloadError;
use crate::bind::{Binding, join, render_error};
use crate::stream::Mix;
use extract::Extractor;
use rows::Rows;
use values::{Fitness, Place};

/// Where a session's value comes from.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// A column of the session's row of a file.
    Column { file: usize, column: usize },
    /// A value taken from a reply of the session.
    Extracted(usize),
}

/// A place for a value in a request.
#[derive(Debug, Clone, Copy)]
struct Gap {
    source: Source,
    form: ValueForm,
    place: Place,
}

/// One request, bound.
#[derive(Debug, Clone)]
struct SceneRequest {
    template: RenderedTemplate,
    gaps: Vec<Gap>,
    /// The request where it has no gap.
    fixed: Option<Rendered>,
    check: ReplyCheck,
    extractors: Arc<[Extractor]>,
}

/// Requests, sessions and data bound to one variant.
#[derive(Debug)]
pub(crate) struct Scene {
    requests: Vec<SceneRequest>,
    plans: Vec<SessionPlan>,
    mix: Mix,
    rows: Vec<(RowOrder, Arc<Rows>)>,
    /// How many values sessions take from replies.
    extracted: usize,
}

/// The values with which a session fills gaps.
struct Filling<'a> {
    gaps: &'a [Gap],
    rows: &'a [(RowOrder, Arc<Rows>)],
    own: &'a [usize],
    extracted: &'a [Vec<u8>],
}

impl Gaps for Filling<'_> {
    fn write(&self, number: usize, into: &mut Vec<u8>) {
        let Gap { source, form, place } = self.gaps[number];
        let value = match source {
            Source::Column { file, column } => self.rows[file].1.value(self.own[file], column),
            Source::Extracted(at) => &self.extracted[at],
        };
        values::write(value, form, place, into);
    }
}

/// Whether sessions have values to fill in, to take or an order to keep; if not, requests are rendered once.
pub(crate) fn is_needed(requests: &[RequestSpec], scenario: &Scenario) -> bool {
    let single = scenario.plans(requests).iter().all(|plan| plan.requests.len() == 1);
    let plain = requests.iter().all(|request| request.extract.is_empty() && request.values().is_empty());
    !(single && plain && scenario.data.is_empty())
}

/// A request whose values all come from the environment, with them filled in.
pub(crate) fn plain_request(spec: &RequestSpec, binding: &Binding<'_>) -> Result<Request, WorkloadError> {
    let template = TemplateBuilder { spec, binding, names: &Names::default(), gaps: Vec::new() }.build()?;
    let text = |pieces: Vec<Piece>| {
        let texts = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text),
            Piece::Gap(_) => None,
        });
        texts.collect::<String>()
    };
    Ok(Request {
        method: template.method,
        target: text(template.target),
        authority: template.authority,
        headers: template.headers.into_iter().map(|(name, value)| (name, text(value))).collect(),
        body: match std::str::from_utf8(&spec.body) {
            Ok(_) => text(template.body).into_bytes(),
            // Bytes that are not text have no gaps.
            Err(_) => spec.body.clone(),
        },
    })
}

/// The values that sessions have, by name.
#[derive(Debug, Default)]
struct Names(Vec<(String, Source)>);

impl Names {
    fn new(requests: &[RequestSpec], rows: &[(RowOrder, Arc<Rows>)]) -> Self {
        let mut names = Vec::new();
        for (file, (_, rows)) in rows.iter().enumerate() {
            let columns = rows.columns().iter().enumerate();
            names.extend(columns.map(|(column, name)| (name.clone(), Source::Column { file, column })));
        }
        let mut extracted = 0;
        for extract in requests.iter().flat_map(|request| &request.extract) {
            if !names.iter().any(|(name, _)| *name == extract.name) {
                names.push((extract.name.clone(), Source::Extracted(extracted)));
                extracted += 1;
            }
        }
        Self(names)
    }

    fn find(&self, name: &str) -> Option<Source> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, source)| *source)
    }

    /// How many values are taken from replies.
    fn extracted(&self) -> usize {
        self.0.iter().filter(|(_, source)| matches!(source, Source::Extracted(_))).count()
    }
}

impl Scene {
    /// Binds requests, sessions and data to a variant.
    pub fn bind(
        requests: &[RequestSpec],
        scenario: &Scenario,
        binding: &Binding<'_>,
    ) -> Result<Self, WorkloadError> {
        let rows = binding.given.rows;
        if rows.len() != scenario.data.len() {
            return Err(WorkloadError::NoRows);
        }
        let columns: Vec<String> = rows.iter().flat_map(|rows| rows.columns()).cloned().collect();
        check_columns(&columns).map_err(WorkloadError::Columns)?;
        let unknown = |(at, source): (usize, ValueError)| WorkloadError::Value {
            name: requests[at].name.clone(),
            source,
        };
        scenario.check_values(requests, &columns).map_err(unknown)?;
        let rows: Vec<_> =
            scenario.data.iter().zip(rows).map(|(data, rows)| (data.order, Arc::clone(rows))).collect();
        let names = Names::new(requests, &rows);
        let mut templates = Vec::new();
        for spec in requests {
            let mut builder = TemplateBuilder { spec, binding, names: &names, gaps: Vec::new() };
            templates.push((builder.build()?, builder.gaps));
        }
        let gaps: Vec<Gap> = templates.iter().flat_map(|(_, gaps)| gaps).copied().collect();
        check_rows(&rows, &gaps)?;
        let mut bound = Vec::new();
        for ((at, spec), (template, own)) in (0..).zip(requests).zip(templates) {
            let template = RenderedTemplate::new(&binding.framing, OperationId(at), &template)
                .map_err(|source| render_error(&spec.name, source))?;
            let extractors = extractors(spec, &names, &gaps)?.into();
            bound.push(SceneRequest {
                template,
                gaps: own,
                fixed: None,
                check: spec.check.clone(),
                extractors,
            });
        }
        for request in bound.iter_mut().filter(|request| request.gaps.is_empty()) {
            let (mut buffer, none) =
                (RequestBuffer::new(), Filling { gaps: &[], rows: &[], own: &[], extracted: &[] });
            request.template.fill(&none, &mut buffer);
            request.fixed = Some(buffer.rendered().clone());
        }
        let plans = scenario.plans(requests);
        let mix = Mix::weighted(plans.iter().map(|plan| plan.weight));
        Ok(Self { requests: bound, plans, mix, rows, extracted: names.extracted() })
    }

    /// A request with the first rows and with no values from replies.
    pub fn sample(&self, at: usize) -> Rendered {
        let mut buffer = RequestBuffer::new();
        let own = vec![0; self.rows.len()];
        let extracted = vec![Vec::new(); self.extracted];
        self.fill(at, &own, &extracted, &mut buffer);
        buffer.rendered().clone()
    }

    /// Fills a request's gaps.
    fn fill(&self, at: usize, own: &[usize], extracted: &[Vec<u8>], buffer: &mut RequestBuffer) {
        let request = &self.requests[at];
        let filling = Filling { gaps: &request.gaps, rows: &self.rows, own, extracted };
        request.template.fill(&filling, buffer);
    }
}

/// The conditions that a value must meet to fit in all its places.
fn fitness(gaps: &[Gap], is: impl Fn(Source) -> bool) -> Fitness {
    let mut fitness = Fitness::default();
    gaps.iter().filter(|gap| is(gap.source)).for_each(|gap| fitness.note(gap.place, gap.form));
    fitness
}

/// Refuses rows with values that do not fit where they are used.
fn check_rows(rows: &[(RowOrder, Arc<Rows>)], gaps: &[Gap]) -> Result<(), WorkloadError> {
    for (at, (_, rows)) in rows.iter().enumerate() {
        for number in 0..rows.columns().len() {
            let is =
                |source| matches!(source, Source::Column { file, column } if (file, column) == (at, number));
            let fitness = fitness(gaps, is);
            if fitness != Fitness::default() {
                rows.check(number, &|value| fitness.check(value)).map_err(WorkloadError::Rows)?;
            }
        }
    }
    Ok(())
}

fn extractors(spec: &RequestSpec, names: &Names, gaps: &[Gap]) -> Result<Vec<Extractor>, WorkloadError> {
    let mut extractors = Vec::new();
    for extract in &spec.extract {
        let Some(Source::Extracted(value)) = names.find(&extract.name) else { continue };
        let fitness = fitness(gaps, |source| matches!(source, Source::Extracted(at) if at == value));
        let extractor = Extractor::new(extract, value, fitness).map_err(|source| WorkloadError::Regex {
            name: spec.name.clone(),
            extract: extract.name.clone(),
            // The parser's message has several lines; the last one says what is wrong.
            why: source.to_string().lines().last().unwrap_or_default().trim().to_owned(),
        })?;
        extractors.push(extractor);
    }
    Ok(extractors)
}

/// Turns a specification into a request with gaps.
struct TemplateBuilder<'a> {
    spec: &'a RequestSpec,
    binding: &'a Binding<'a>,
    names: &'a Names,
    gaps: Vec<Gap>,
}

impl TemplateBuilder<'_> {
    fn build(&mut self) -> Result<RequestTemplate, WorkloadError> {
        let path = self.pieces(&self.spec.path, Template::parse, "its path", Place::Path)?;
        let mut headers = Vec::new();
        for (name, value) in &self.spec.headers {
            let place = format!("header `{name}`");
            headers.push((name.clone(), self.pieces(value, Template::parse_value, &place, Place::Field)?));
        }
        headers
            .extend(self.binding.connection_header().map(|(name, value)| (name, vec![Piece::Text(value)])));
        let body = std::str::from_utf8(&self.spec.body).unwrap_or_default();
        let body = self.pieces(body, Template::parse_value, "its body", Place::Body)?;
        Ok(RequestTemplate {
            method: self.spec.method.clone(),
            target: self.target(path),
            authority: self.binding.address.authority.clone(),
            headers,
            body,
        })
    }

    /// The base followed by the request's own path.
    fn target(&mut self, path: Vec<Piece>) -> Vec<Piece> {
        let base = &self.binding.address.base;
        let mut path = path.into_iter();
        let first = match path.next() {
            Some(Piece::Text(first)) => vec![Piece::Text(join(base, &first))],
            Some(Piece::Gap(number)) => {
                self.gaps[number].place = Place::PathBegin;
                vec![Piece::Text(base.trim_end_matches('/').to_owned()), Piece::Gap(number)]
            }
            None => vec![Piece::Text(join(base, ""))],
        };
        first.into_iter().chain(path).filter(|piece| *piece != Piece::Text(String::new())).collect()
    }

    fn pieces(
        &mut self,
        text: &str,
        read: impl Fn(&str) -> Result<Template, TemplateError>,
        what: &str,
        place: Place,
    ) -> Result<Vec<Piece>, WorkloadError> {
        let template = read(text).map_err(|source| WorkloadError::Template {
            name: self.spec.name.clone(),
            place: what.to_owned(),
            source,
        })?;
        let mut pieces: Vec<Piece> = Vec::new();
        for piece in template.pieces() {
            let next = match piece {
                TemplatePiece::Text(text) => Piece::Text(text.clone()),
                TemplatePiece::Environment { name, form } => {
                    Piece::Text(self.variable(name, *form, what, place)?)
                }
                TemplatePiece::Value { name, form } => {
                    let Some(source) = self.names.find(name) else { continue };
                    self.gaps.push(Gap { source, form: *form, place });
                    Piece::Gap(self.gaps.len() - 1)
                }
            };
            match (pieces.last_mut(), next) {
                (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
                (_, next) => pieces.push(next),
            }
        }
        Ok(pieces)
    }

    /// The value of an environment variable, written for its place.
    fn variable(
        &self,
        name: &str,
        form: ValueForm,
        what: &str,
        place: Place,
    ) -> Result<String, WorkloadError> {
        let value = (self.binding.given.environment)(name).ok_or_else(|| WorkloadError::Environment {
            name: self.spec.name.clone(),
            place: what.to_owned(),
            variable: name.to_owned(),
        })?;
        let mut written = Vec::new();
        values::write(value.as_bytes(), form, place, &mut written);
        // Text stays text in every form.
        Ok(String::from_utf8_lossy(&written).into_owned())
    }
}
