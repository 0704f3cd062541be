//! Formats of other programs: golden files of each, output read back by independent parsers, hostile names,
//! and figures that must be left out. `UPDATE_GOLDEN=1` rewrites the golden files.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;
use weighbridge_model::estimate::{Quantity, Verdict};
use weighbridge_model::event::{Event, Interim, TimedEvent};
use weighbridge_model::evidence::Evidence;
use weighbridge_model::gate::{Gate, GateKind, GateResult};
use weighbridge_model::id::PointLabel;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::summary::Summary;
use weighbridge_model::table::TableCell;
use weighbridge_report::{ExportFormat, Exported, JmhClass, Report, Schema, TableName, TextOptions, export};

use crate::result_tables::actions;
use crate::support::golden;
use crate::{evidence, support};

fn gates() -> Vec<GateResult> {
    let result = |text: &str, passed, figure: &str| GateResult {
        gate: Gate::parse(GateKind::FailIf, text).unwrap(),
        passed,
        figure: figure.to_owned(),
    };
    vec![
        result("errors > 100", true, "errors of go (64 B), the highest of 2: 0, at most 100"),
        result("p50 > +2 %", false, "response p50 of go (64 B): +20.90 % [+20.18 %, +21.63 %], at most +2 %"),
    ]
}

fn made(summary: &Summary, evidence: &Evidence, format: ExportFormat, table: TableName) -> Vec<u8> {
    let (detail, environment, how) = (support::detail(), support::environment(), support::how());
    let gates = gates();
    let report = Report { summary, detail: &detail, environment: &environment, how: &how, gates: &gates };
    let run = Exported { report, evidence: Some(evidence), rows: &[], jmh_class: JmhClass::Measure };
    export(format, table, &run, &TextOptions::default()).unwrap()
}

fn text(summary: &Summary, format: ExportFormat, table: TableName) -> String {
    String::from_utf8(made(summary, &evidence::evidence(summary), format, table)).unwrap()
}

/// A run in which every name is hostile and different.
fn hostile() -> (Summary, Evidence) {
    let mut summary = support::troubled();
    let text = |what: &str| format!("{}{what}\u{ffff}\u{0}", support::HOSTILE);
    (summary.title, summary.run, summary.started) = (text("title"), text("run"), text("started"));
    let label = |label: &PointLabel| -> PointLabel {
        label.iter().map(|(key, value)| (text(key), text(value))).collect()
    };
    summary.layering = support::layered::layered().layering;
    for chain in &mut summary.layering.chains {
        (chain.of, chain.point) = (text("of"), label(&chain.point));
        for stage in &mut chain.stages {
            (stage.name, stage.variant) = (text("stage"), text(&stage.variant));
            stage.costs.iter_mut().for_each(|cost| cost.reason = Some(text("reason")));
        }
    }
    summary.factorials = support::layered::layered().factorials;
    for one in &mut summary.factorials {
        (one.of, one.point, one.reason) = (text("of"), label(&one.point), Some(text("reason")));
        one.framings.iter_mut().chain(&mut one.codecs).for_each(|name| *name = text(name));
        for table in &mut one.tables {
            for effect in table.framings.iter_mut().chain(&mut table.codecs) {
                (effect.value, effect.against) = (text("value"), text("against"));
                effect.reason = Some(text("reason"));
            }
            for one in &mut table.interactions {
                (one.framing, one.codec) = (text("framing"), text("codec"));
            }
        }
    }
    summary.tables = vec![actions(&summary)];
    for table in &mut summary.tables {
        (table.name, table.title, table.reading) = (text("name"), text("title"), text("reading"));
        (table.point, table.notes) = (label(&table.point), vec![text("note")]);
        table.columns.iter_mut().for_each(|column| column.name = text("column"));
        for cell in table.rows.iter_mut().flatten() {
            match cell {
                TableCell::Variant { variant: foreign } | TableCell::Text { text: foreign } => {
                    *foreign = text(foreign);
                }
                TableCell::Absent { reason } => *reason = Some(text("reason")),
                _ => {}
            }
        }
    }
    for cost in &mut summary.costs {
        (cost.variant, cost.operation, cost.point) = (text(&cost.variant), text("pong"), label(&cost.point));
        cost.reason = Some(text("reason"));
    }
    for variant in &mut summary.variants {
        (variant.name, variant.point) = (text(&variant.name), label(&variant.point));
        variant.reasons = vec![text("reason")];
        for figure in &mut variant.figures {
            figure.operation = text("pong");
        }
    }
    summary.unavailable = vec![(text("name"), text("reason"))];
    let mut evidence = evidence::evidence(&summary);
    evidence.operations.iter_mut().for_each(|each| each.operation = text("pong"));
    (summary, evidence)
}

#[test]
fn every_format_of_other_programs_is_as_it_was() {
    for (name, summary) in [("valid", support::valid()), ("troubled", support::troubled())] {
        for (format, ending) in [
            (ExportFormat::Jmh, "jmh.json"),
            (ExportFormat::JmhText, "jmh.txt"),
            (ExportFormat::OpenMetrics, "openmetrics.txt"),
            (ExportFormat::Junit, "junit.xml"),
            (ExportFormat::HdrLog, "hlog"),
        ] {
            golden(&format!("{name}.{ending}"), &text(&summary, format, TableName::Costs));
        }
        for table in [TableName::Figures, TableName::Blocks, TableName::Windows] {
            golden(&format!("{name}.{table}.csv"), &text(&summary, ExportFormat::Csv, table));
        }
    }
    let layered = support::layered::layered();
    for table in [TableName::Waterfall, TableName::Sums, TableName::Interactions, TableName::Slopes] {
        golden(&format!("layered.{table}.csv"), &text(&layered, ExportFormat::Csv, table));
    }
    golden("valid.detail.json", &text(&support::valid(), ExportFormat::Detail, TableName::Costs));
}

#[test]
fn an_interval_log_reads_back_as_the_histograms_it_was_made_of() {
    let check = |summary: &Summary, evidence: &Evidence| {
        let log = made(summary, evidence, ExportFormat::HdrLog, TableName::Costs);
        let mut read: Vec<(String, Histogram<u64>)> = Vec::new();
        for entry in IntervalLogIterator::new(&log) {
            if let LogEntry::Interval(interval) = entry.expect("a line that the library reads") {
                let encoded = STANDARD.decode(interval.encoded_histogram()).unwrap();
                let histogram = Deserializer::new().deserialize(&mut &encoded[..]).unwrap();
                read.push((interval.tag().expect("a tag").as_str().to_owned(), histogram));
            }
        }
        let outcomes = evidence.operations.iter().flat_map(|each| &each.outcomes);
        let written: Vec<_> = outcomes.flat_map(|times| [&times.response, &times.service]).collect();
        assert_eq!(read.len(), written.len());
        assert!(read.iter().zip(&written).all(|((_, read), written)| read == *written));
        let tags: BTreeSet<&String> = read.iter().map(|(tag, _)| tag).collect();
        assert_eq!(tags.len(), read.len(), "no tag stands for two histograms");
    };
    let summary = support::valid();
    check(&summary, &evidence::evidence(&summary));
    let (summary, evidence) = hostile();
    check(&summary, &evidence);
}

#[test]
fn benchmarks_for_the_java_harness_hold_the_figures_of_the_summary() {
    let summary = support::troubled();
    let list: Vec<Value> =
        serde_json::from_str(&text(&summary, ExportFormat::Jmh, TableName::Costs)).unwrap();
    // Three of four variants may be used, each with response times and throughput.
    assert_eq!(list.len(), 6);
    for entry in &list {
        let name = entry["params"]["variant"].as_str().unwrap();
        let size = entry["params"]["workload.size"].as_str().unwrap();
        let is_own = |v: &&weighbridge_model::summary::VariantSummary| {
            v.name == name && v.point == support::point(size)
        };
        let variant = summary.variants.iter().find(is_own).unwrap();
        let (quantity, unit) = match entry["mode"].as_str().unwrap() {
            "sample" => (Quantity::ResponseMean, "ns/op"),
            "thrpt" => (Quantity::Throughput, "ops/s"),
            other => panic!("mode {other}"),
        };
        let figure = variant.figures.iter().find(|figure| figure.quantity == quantity).unwrap();
        let estimate = figure.estimate.unwrap();
        let metric = &entry["primaryMetric"];
        assert_eq!(metric["score"].as_f64(), Some(estimate.point));
        assert_eq!(metric["scoreConfidence"][0].as_f64(), estimate.lower);
        assert_eq!(metric["scoreConfidence"][1].as_f64(), estimate.upper);
        assert_eq!(metric["scoreUnit"], unit);
        assert_eq!(metric["rawData"].as_array().unwrap().len(), 6, "a fork a block");
        assert_eq!(metric["scorePercentiles"].as_object().unwrap().len(), 10);
        assert_eq!(entry["forks"], 6);
    }
    let first = &list[0]["primaryMetric"];
    assert!(first["scorePercentiles"]["50.0"].is_number());
    assert_eq!(first["scorePercentiles"]["99.99"], "NaN", "too few requests beyond");
    assert!(list[0]["secondaryMetrics"]["·cpu_per_operation"]["score"].is_number());
    assert!(list[0]["secondaryMetrics"].get("·response_p99").is_none(), "it was withheld");
}

/// Checks the lines of an exposition, and returns the names of its families: they come one after another,
/// each with its type before its samples and with no other family's, no sample comes twice, and the end is
/// marked.
fn families(text: &str) -> Vec<String> {
    let mut families: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let lines: Vec<&str> = text.split_terminator('\n').collect();
    assert_eq!(lines.last(), Some(&"# EOF"));
    for line in &lines[..lines.len() - 1] {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a name and a type");
            assert!(["gauge", "counter", "info", "stateset"].contains(&kind), "{line}");
            assert!(!families.iter().any(|known| known == name), "`{name}` comes twice");
            families.push(name.to_owned());
            continue;
        }
        let family = families.last().expect("a type first");
        if let Some(rest) = line.strip_prefix("# HELP ").or_else(|| line.strip_prefix("# UNIT ")) {
            let (name, text) = rest.split_once(' ').expect("a name and more");
            assert_eq!(name, family);
            assert!(!line.starts_with("# UNIT") || name.ends_with(&format!("_{text}")), "{line}");
            continue;
        }
        let (name, rest) = line.split_once('{').expect("labels");
        assert!(
            [family.clone(), format!("{family}_total"), format!("{family}_info")].contains(&name.to_owned())
        );
        let value = after_labels(rest).strip_prefix(' ').expect("a value");
        assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
        assert!(seen.insert(line.rsplit_once(' ').expect("a value").0), "twice: {line}");
    }
    families
}

/// The rest after `name="value",…}`, in which values are escaped.
fn after_labels(text: &str) -> &str {
    let mut rest = text;
    loop {
        let (name, value) = rest.split_once("=\"").expect("a label");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "`{name}`");
        let mut escaped = false;
        let ends = |(_, c): &(usize, char)| {
            let is_end = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            is_end
        };
        let (end, _) = value.char_indices().find(ends).expect("a closing quote");
        rest = &value[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return rest.strip_prefix('}').expect("a closing brace"),
        }
    }
}

/// Whether the format's reference parser accepts it; `None` if it is not installed.
fn reference_parser_accepts(text: &str) -> Option<bool> {
    const SCRIPT: &str = "import sys\ntry:\n    from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse\n\
                          except ImportError:\n    sys.exit(77)\nprint(len(list(parse(sys.stdin.buffer.read().decode()))))\n";
    let python = ["/usr/bin/python3", "python3"].into_iter().find_map(|python| {
        let mut child = Command::new(python)
            .args(["-c", SCRIPT])
            .env("PYTHONUTF8", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .ok()?;
        let _ = child.stdin.take()?.write_all(text.as_bytes());
        let output = child.wait_with_output().ok()?;
        (output.status.code() != Some(77)).then_some(output)
    })?;
    Some(python.status.success())
}

#[test]
fn metrics_are_what_the_format_says() {
    for summary in [support::valid(), support::troubled(), hostile().0] {
        let text = text(&summary, ExportFormat::OpenMetrics, TableName::Costs);
        let read = families(&text);
        assert!(read.contains(&"weighbridge_run".to_owned()));
        for cost in &summary.costs {
            let name = format!("weighbridge_{}_ratio", cost.quantity.name());
            let usable = summary.costs.iter().any(|other| {
                other.quantity == cost.quantity
                    && !matches!(other.verdict, Verdict::Invalid | Verdict::Withheld)
            });
            assert_eq!(read.contains(&name), usable, "{name}");
        }
        assert_ne!(reference_parser_accepts(&text), Some(false), "{text}");
    }
    let text = text(&support::valid(), ExportFormat::OpenMetrics, TableName::Costs);
    let p50 = "weighbridge_response_p50_seconds{run=\"2026-11-21T10-15-00-languages\",variant=\"rust\",\
               point=\"workload.size=64 B\",operation=\"pong\",level=\"0.95\",bound=\"point\"} 0.00001534\n";
    assert!(text.contains(p50), "times are in seconds");
    assert_eq!(text.matches("bound=\"lower\"").count(), text.matches("bound=\"point\"").count());
}

#[test]
fn test_cases_are_well_formed_and_say_what_failed() {
    let (hostile, _) = hostile();
    for summary in [support::valid(), support::troubled(), hostile] {
        let xml = text(&summary, ExportFormat::Junit, TableName::Costs);
        let document = roxmltree::Document::parse(&xml).unwrap_or_else(|error| panic!("{error}\n{xml}"));
        let root = document.root_element();
        let count = |name: &str| root.descendants().filter(|node| node.has_tag_name(name)).count();
        for (attribute, element) in
            [("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")]
        {
            assert_eq!(root.attribute(attribute), Some(count(element).to_string().as_str()), "{attribute}");
        }
        let judged = |verdict| summary.costs.iter().filter(|cost| cost.verdict == verdict).count();
        assert_eq!(count("failure"), 1, "a failed gate, and nothing else");
        assert_eq!(count("skipped"), judged(Verdict::Withheld) + summary.unavailable.len());
        // A gate that passed on figures that must not be used is an error too.
        let invalid = judged(Verdict::Invalid);
        assert_eq!(count("error"), invalid + usize::from(invalid > 0));
        assert_eq!(count("testcase"), summary.costs.len() + 2 + summary.unavailable.len());
    }
    let xml = text(&support::valid(), ExportFormat::Junit, TableName::Costs);
    assert!(xml.contains("response p50 +20.9 % [+20.2, +21.6], +3.21 µs: higher (worse)"), "{xml}");
}

#[test]
fn hostile_names_stay_within_their_fields() {
    let (summary, evidence) = hostile();
    for format in ExportFormat::ALL.into_iter().filter(|format| format.is_built() && format.is_text()) {
        let bytes = made(&summary, &evidence, format, TableName::Costs);
        let text = String::from_utf8(bytes).unwrap();
        // CSV quotes fields and does not change them.
        let raw = format == ExportFormat::Csv;
        assert!(raw || !text.contains('\x1b'), "{format}");
        if !raw {
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{format}");
        }
    }
    for table in TableName::ALL {
        let text = String::from_utf8(made(&summary, &evidence, ExportFormat::Csv, table)).unwrap();
        let mut fields = vec![0];
        let mut quoted = false;
        for c in text.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => *fields.last_mut().unwrap() += 1,
                '\n' if !quoted => fields.push(0),
                _ => {}
            }
        }
        assert_eq!(fields.pop(), Some(0), "{table}: ends with a line end");
        assert!(fields.len() > 1 && fields.iter().all(|count| *count == fields[0]), "{table}: {fields:?}");
    }
}

#[test]
fn figures_stand_beside_their_intervals_in_every_table() {
    for table in [TableName::Costs, TableName::Figures] {
        let text = text(&support::valid(), ExportFormat::Csv, table);
        let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        for name in ["difference", "ratio", "figure"] {
            if header.contains(&name) {
                let [lower, upper] = ["lower", "upper"].map(|end| format!("{name}_{end}"));
                assert!(header.contains(&lower.as_str()) && header.contains(&upper.as_str()), "{table}");
            }
        }
    }
}

fn validator(schema: Schema) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&schema.text()).unwrap();
    jsonschema::validator_for(&schema).expect("a schema")
}

#[track_caller]
fn assert_valid(schema: Schema, value: &Value) {
    let errors: Vec<String> = validator(schema)
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{schema}: {errors:?}");
}

#[test]
fn what_is_printed_is_what_the_schemas_say() {
    let json = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    for summary in [support::valid(), support::troubled(), hostile().0] {
        assert_valid(Schema::Summary, &json(text(&summary, ExportFormat::Json, TableName::Costs)));
        assert_valid(Schema::Detail, &json(text(&summary, ExportFormat::Detail, TableName::Costs)));
    }
    for load in [support::load(), support::load_valid(), support::load_overloaded()] {
        assert_valid(Schema::Load, &serde_json::to_value(load).unwrap());
    }
    let interim = Interim {
        variant: "go".into(),
        point: support::point("64 B"),
        change: 0.2,
        contrast: Default::default(),
        half_width: Some(0.01),
        lower: Some(0.19),
        upper: Some(0.21),
    };
    for event in [
        Event::RunStarted {
            title: "t".into(),
            folder: "runs/t".into(),
            variants: vec!["a".into()],
            points: 1,
            blocks: (6, 30),
            budget: Nanoseconds::from_secs(300),
            headline: Some(Quantity::ResponseP50),
        },
        Event::Started { variant: "a".into(), took: None },
        Event::BlockEnded { block: 0, interim: vec![interim], of: 6 },
        Event::Interrupted { folder: "runs/t".into(), blocks: 2 },
    ] {
        let timed = TimedEvent { at: Nanoseconds::from_micros(5), event };
        assert_valid(Schema::Event, &serde_json::to_value(timed).unwrap());
    }
}

#[test]
fn a_schema_refuses_what_it_is_not_of() {
    let mut value = serde_json::to_value(support::valid()).unwrap();
    value["costs"][0]["verdict"] = "excellent".into();
    assert!(!validator(Schema::Summary).is_valid(&value));
    let event = serde_json::json!({ "at_ns": 1, "event": "party" });
    assert!(!validator(Schema::Event).is_valid(&event));
    assert!(!validator(Schema::Load).is_valid(&serde_json::json!({ "url": "http://127.0.0.1/" })));
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_what_csv_holds() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    let summary = support::troubled();
    let evidence = evidence::evidence(&summary);
    for table in TableName::ALL {
        let csv = String::from_utf8(made(&summary, &evidence, ExportFormat::Csv, table)).unwrap();
        let bytes = made(&summary, &evidence, ExportFormat::Parquet, table);
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let columns = reader.metadata().file_metadata().schema_descr().columns();
        let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
        let mut again = format!("{}\r\n", names.join(","));
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let fields = row.get_column_iter().map(|(_, field)| match field {
                Field::Null => String::new(),
                Field::Str(text) if text.contains([',', '"']) => format!("\"{}\"", text.replace('"', "\"\"")),
                Field::Str(text) => text.clone(),
                Field::Double(number) => number.to_string(),
                Field::Long(count) => count.to_string(),
                Field::Bool(flag) => flag.to_string(),
                other => panic!("{other:?}"),
            });
            again.push_str(&format!("{}\r\n", fields.collect::<Vec<_>>().join(",")));
        }
        assert_eq!(again, csv, "{table}");
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_so() {
    let summary = support::valid();
    let (detail, environment, how) = (support::detail(), support::environment(), support::how());
    let report =
        Report { summary: &summary, detail: &detail, environment: &environment, how: &how, gates: &[] };
    let run = Exported { report, evidence: None, rows: &[], jmh_class: JmhClass::Measure };
    let error = export(ExportFormat::Parquet, TableName::Costs, &run, &TextOptions::default()).unwrap_err();
    assert!(error.to_string().contains("--features parquet`, or use `csv`"), "{error}");
}
