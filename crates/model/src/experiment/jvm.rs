//! Settings of a variant's Java virtual machine: the key `jvm`, read and written.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::node::{ExperimentError, Reader};
use super::{Target, Variant};
use crate::quantity::Bytes;

/// Where the launcher `java` looks for options before those of its command line, from JDK 9 on.
pub const JVM_VARIABLE: &str = "JDK_JAVA_OPTIONS";

/// Settings of a virtual machine; what is `None` is as it chooses itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JvmSettings {
    pub collector: Option<Collector>,
    pub heap: Option<HeapSize>,
    /// More options, as they are.
    pub options: Option<String>,
}

/// A garbage collector of HotSpot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Collector {
    Serial,
    Parallel,
    G1,
    Z,
    Shenandoah,
}

/// The size of a heap from its start on: it neither grows nor shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeapSize {
    Fixed(Bytes),
    /// Times the smallest heap with which G1 carries out the experiment's passages.
    Multiple(f64),
}

const HEAP_LEAST: Bytes = Bytes::new(1 << 20);
const HEAP_MOST: Bytes = Bytes::new(1 << 40);
const MULTIPLE_MOST: f64 = 100.0;

impl Collector {
    pub const ALL: [Self; 5] = [Self::Serial, Self::Parallel, Self::G1, Self::Z, Self::Shenandoah];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Parallel => "parallel",
            Self::G1 => "g1",
            Self::Z => "z",
            Self::Shenandoah => "shenandoah",
        }
    }

    const fn option(self) -> &'static str {
        match self {
            Self::Serial => "-XX:+UseSerialGC",
            Self::Parallel => "-XX:+UseParallelGC",
            Self::G1 => "-XX:+UseG1GC",
            Self::Z => "-XX:+UseZGC",
            Self::Shenandoah => "-XX:+UseShenandoahGC",
        }
    }
}

impl FromStr for HeapSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(factor) = text.strip_suffix('x').and_then(|factor| factor.parse().ok())
            && (1.0..=MULTIPLE_MOST).contains(&factor)
        {
            return Ok(Self::Multiple(factor));
        }
        let size = text.parse().ok().filter(|size| (HEAP_LEAST..=HEAP_MOST).contains(size));
        size.map(Self::Fixed).ok_or_else(|| {
            format!(
                "`{text}` must be a size from {HEAP_LEAST} to {HEAP_MOST}, such as `256 MiB`, or a multiple of the smallest from `1x` to \
                 `{MULTIPLE_MOST}x`, such as `1.5x`"
            )
        })
    }
}

/// As it is written: `256 MiB`, `1.5x`.
impl fmt::Display for HeapSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => size.fmt(f),
            Self::Multiple(factor) => write!(f, "{factor}x"),
        }
    }
}

impl JvmSettings {
    pub const KEYS: [&str; 3] = ["collector", "heap", "options"];

    /// The multiple of the smallest heap, if its size is still to be found.
    pub const fn heap_multiple(&self) -> Option<f64> {
        match self.heap {
            Some(HeapSize::Multiple(factor)) => Some(factor),
            _ => None,
        }
    }

    /// The settings for readers, each with its key.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        let heap = self.heap.map(|heap| heap.to_string());
        let collector = self.collector.map(|collector| collector.name().to_owned());
        let all = Self::KEYS.into_iter().zip([collector, heap, self.options.clone()]);
        all.filter_map(|(key, value)| Some((key, value?)))
    }

    /// What the virtual machine is told. A heap that is a multiple has no size yet, and is left out.
    pub fn options(&self) -> String {
        let heap = match self.heap {
            Some(HeapSize::Fixed(size)) => {
                let kilobytes = size.get() / 1024;
                Some(format!("-Xms{kilobytes}k -Xmx{kilobytes}k"))
            }
            Some(HeapSize::Multiple(_)) | None => None,
        };
        let collector = self.collector.map(|collector| collector.option().to_owned());
        [collector, heap, self.options.clone()].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// For readers: `collector g1, heap 2x`.
impl fmt::Display for JvmSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = self.settings().map(|(key, value)| format!("{key} {value}"));
        f.write_str(&settings.collect::<Vec<_>>().join(", "))
    }
}

/// Reads `jvm = { collector = "g1", heap = "2x", options = "-XX:+AlwaysPreTouch" }`.
pub(super) fn read(reader: &Reader<'_>) -> Result<Option<JvmSettings>, ExperimentError> {
    let Some(table) = reader.table("jvm")? else { return Ok(None) };
    let collector =
        table.choice("collector", &Collector::ALL.map(|collector| (collector.name(), collector)))?;
    let heap = table.value("heap", |node| node.show().parse())?;
    let options = table.text("options")?;
    let line = table.line();
    table.finish()?;
    let settings = JvmSettings { collector, heap, options };
    if settings == JvmSettings::default() {
        let message = "`variant.jvm` is empty; set `collector`, `heap` or `options`, or leave it out";
        return Err(reader.error(line, message));
    }
    Ok(Some(settings))
}

/// Errors: in words, why the variant has no virtual machine of ours to set.
pub(super) fn check(variant: &Variant) -> Result<(), String> {
    if variant.jvm.is_none() {
        return Ok(());
    }
    if matches!(variant.target, Target::Url(_)) {
        return Err("`jvm` has no use beside `url`: that server is not started by us".to_owned());
    }
    if variant.env.iter().any(|(name, _)| name == JVM_VARIABLE) {
        return Err(format!(
            "`env.{JVM_VARIABLE}` beside `jvm`: both are options of the virtual machine; put them into `jvm.options`"
        ));
    }
    Ok(())
}

pub(super) fn write(settings: &JvmSettings) -> Table {
    let heap = settings.heap.map(|heap| match heap {
        HeapSize::Fixed(size) => format!("{} B", size.get()),
        HeapSize::Multiple(_) => heap.to_string(),
    });
    let entries: [(&str, Option<toml::Value>); 3] = [
        ("collector", settings.collector.map(|collector| collector.name().into())),
        ("heap", heap.map(Into::into)),
        ("options", settings.options.clone().map(Into::into)),
    ];
    entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_back;
    use super::*;

    fn parse(variant: &str) -> Result<Option<JvmSettings>, String> {
        let text = format!("[workload]\nname = 'trade'\n[[variant]]\n{variant}\n");
        Ok(read_back(&text)?.variants.remove(0).jvm)
    }

    #[test]
    fn settings_are_options_of_the_virtual_machine() {
        for (written, options) in [
            ("{ collector = 'serial' }", "-XX:+UseSerialGC"),
            ("{ heap = '64 MiB' }", "-Xms65536k -Xmx65536k"),
            ("{ heap = '64 MB' }", "-Xms62500k -Xmx62500k"),
            ("{ options = '-XX:+AlwaysPreTouch -Xss1m' }", "-XX:+AlwaysPreTouch -Xss1m"),
            (
                "{ collector = 'z', heap = '1 GiB', options = '-Xss1m' }",
                "-XX:+UseZGC -Xms1048576k -Xmx1048576k -Xss1m",
            ),
            // Its size is not known before it was searched for.
            ("{ collector = 'g1', heap = '2x' }", "-XX:+UseG1GC"),
        ] {
            let settings = parse(&format!("service = 's'\njvm = {written}")).expect(written);
            assert_eq!(settings.expect(written).options(), options);
        }
        let all = parse("service = 's'\njvm = { collector = 'z', heap = '1.5x', options = '-Xss1m' }")
            .expect("settings");
        assert_eq!(all.expect("settings").to_string(), "collector z, heap 1.5x, options -Xss1m");
        assert_eq!(parse("service = 's'"), Ok(None));
        assert!(
            parse("command = 'java -jar it.jar'\njvm.collector = 'parallel'").is_ok_and(|jvm| jvm.is_some())
        );
    }

    #[test]
    fn a_matrix_makes_variants_of_collectors_and_heaps() {
        let text = "[workload]\nname = 'trade'\n[matrix]\nservice = ['s']\njvm.collector = ['serial', 'shenandoah']\njvm.heap = ['1.5x', '64 MB']\n";
        let experiment = read_back(text).expect("an experiment");
        let all: Vec<_> = experiment
            .variants
            .iter()
            .map(|one| {
                (
                    one.name.as_str(),
                    one.jvm.as_ref().and_then(JvmSettings::heap_multiple),
                    one.jvm.as_ref().map(JvmSettings::options),
                )
            })
            .collect();
        let options = |text: &str| Some(text.to_owned());
        assert_eq!(
            all,
            [
                ("s/serial/1.5x", Some(1.5), options("-XX:+UseSerialGC")),
                ("s/serial/64 MB", None, options("-XX:+UseSerialGC -Xms62500k -Xmx62500k")),
                ("s/shenandoah/1.5x", Some(1.5), options("-XX:+UseShenandoahGC")),
                ("s/shenandoah/64 MB", None, options("-XX:+UseShenandoahGC -Xms62500k -Xmx62500k")),
            ]
        );
    }

    #[test]
    fn a_wrong_setting_is_told_with_what_is_allowed() {
        for (variant, part) in [
            ("service = 's'\njvm = {}", "`variant.jvm` is empty; set `collector`, `heap` or `options`"),
            ("service = 's'\njvm = 'g1'", "`variant.jvm` must be a table"),
            ("service = 's'\njvm.collector = 'G1'", "allowed: `serial`, `parallel`, `g1`, `z`, `shenandoah`"),
            ("service = 's'\njvm.heap = '0.5x'", "must be a size from 1 MiB to"),
            ("service = 's'\njvm.heap = 'x'", "or a multiple of the smallest from `1x` to `100x`"),
            ("service = 's'\njvm.heap = 'NaNx'", "or a multiple of the smallest"),
            ("service = 's'\njvm.heap = '1 kB'", "must be a size from 1 MiB to"),
            ("service = 's'\njvm.pauses = 1", "unknown key `pauses` in `[variant.jvm]`"),
            ("url = 'h'\njvm.heap = '64 MB'", "`jvm` has no use beside `url`"),
            (
                "service = 's'\njvm.heap = '64 MB'\nenv.JDK_JAVA_OPTIONS = '-Xss1m'",
                "`env.JDK_JAVA_OPTIONS` beside `jvm`: both are options of the virtual machine",
            ),
        ] {
            let message = parse(variant).expect_err(variant);
            assert!(message.contains(part), "{variant}: {message}");
        }
    }
}
