//! The workload `person`: one interface of persons and their links, over every framing and codec. Its keys, read and written.

use serde::{Deserialize, Serialize};
use toml::{Table, Value as Toml};

use super::{Part, Spec, Variant, refuse_peers};
use crate::experiment::node::{Node, Read, Reader, Value, suggestion};
use crate::id::OperationId;

/// Persons of the people file that lies with the services; another number is made from a seed.
pub const PEOPLE: u32 = 4;
/// The most persons.
pub const PEOPLE_MOST: u32 = 100_000;
/// The largest factor of the length of texts.
pub const TEXT_MOST: u32 = 1_000;

/// Calls of the interface, each a kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PersonSpec {
    pub operations: Vec<PersonOperation>,
    pub ids: PersonIds,
    /// Persons in the people file.
    pub persons: u32,
    /// How many times as long as in the people file each text is.
    pub text: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PersonOperation {
    ListPersons,
    GetPerson,
    GetPersonLinks,
    CreatePerson,
    /// A person that is not there: *not found* is the good reply.
    GetMissing,
    /// One message a person: gRPC alone has that.
    StreamPersons,
    /// A session of calls, each sent when the reply before it was right.
    ProgramComposition,
}

/// Which persons are asked for, and created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PersonIds {
    /// The first; the one that the people file gives is created.
    #[default]
    One,
    /// Each alike.
    All,
    /// Those of `programComposition`, each alike.
    Composition,
}

impl PersonOperation {
    pub const ALL: [Self; 7] = [
        Self::ListPersons,
        Self::GetPerson,
        Self::GetPersonLinks,
        Self::CreatePerson,
        Self::GetMissing,
        Self::StreamPersons,
        Self::ProgramComposition,
    ];

    /// What `programComposition` calls, in order, and how often.
    pub const COMPOSITION: [(Self, u32); 4] =
        [(Self::ListPersons, 1), (Self::GetPerson, 4), (Self::GetPersonLinks, 2), (Self::CreatePerson, 1)];

    pub const fn name(self) -> &'static str {
        match self {
            Self::ListPersons => "listPersons",
            Self::GetPerson => "getPerson",
            Self::GetPersonLinks => "getPersonLinks",
            Self::CreatePerson => "createPerson",
            Self::GetMissing => "getMissing",
            Self::StreamPersons => "streamPersons",
            Self::ProgramComposition => "programComposition",
        }
    }
}

impl PersonIds {
    const NAMED: [(&'static str, Self); 3] =
        [("1", Self::One), ("all", Self::All), ("composition", Self::Composition)];

    fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::All => "all",
            Self::Composition => "composition",
        }
    }
}

impl Default for PersonSpec {
    fn default() -> Self {
        Self { operations: vec![PersonOperation::GetPerson], ids: PersonIds::One, persons: PEOPLE, text: 1 }
    }
}

impl PersonSpec {
    /// The operations that are recorded, in the order of their [`OperationId`]: those of a composition before itself.
    fn recorded(&self) -> Vec<PersonOperation> {
        let mut recorded = Vec::new();
        for operation in &self.operations {
            let parts = PersonOperation::COMPOSITION.into_iter().map(|(part, _)| part);
            let parts = parts.filter(|_| *operation == PersonOperation::ProgramComposition);
            for one in parts.chain([*operation]) {
                if !recorded.contains(&one) {
                    recorded.push(one);
                }
            }
        }
        recorded
    }

    /// The number of an operation, or of a part of one.
    pub fn operation_id(&self, operation: PersonOperation) -> Option<OperationId> {
        let at = self.recorded().iter().position(|one| *one == operation)?;
        Some(OperationId(at as u16))
    }
}

impl Spec for PersonSpec {
    const NAME: &'static str = "person";

    fn read(reader: &Reader<'_>) -> Read<Self> {
        let standard = Self::default();
        let persons = reader.integer("persons", PEOPLE.into(), PEOPLE_MOST.into())?;
        let text = reader.integer("text", 1, TEXT_MOST.into())?;
        Ok(Self {
            operations: operations(reader)?.unwrap_or(standard.operations),
            ids: reader.choice("ids", &PersonIds::NAMED)?.unwrap_or_default(),
            persons: persons.map_or(standard.persons, |persons| persons as u32),
            text: text.map_or(standard.text, |text| text as u32),
        })
    }

    fn write(&self, table: &mut Table) {
        let names: Vec<Toml> = self.operations.iter().map(|operation| operation.name().into()).collect();
        match &names[..] {
            [one] => table.insert("operation".into(), one.clone()),
            _ => table.insert("operations".into(), names.into()),
        };
        table.insert("ids".into(), self.ids.name().into());
        table.insert("persons".into(), i64::from(self.persons).into());
        table.insert("text".into(), i64::from(self.text).into());
    }

    fn operations(&self) -> Vec<String> {
        self.recorded().iter().map(|operation| operation.name().to_owned()).collect()
    }

    fn first_operations(&self) -> Vec<(OperationId, String)> {
        let first = |operation: &PersonOperation| match operation {
            PersonOperation::ProgramComposition => PersonOperation::COMPOSITION[0].0,
            single => *single,
        };
        let firsts: Vec<PersonOperation> = self.operations.iter().map(first).collect();
        let numbered = (0..).map(OperationId).zip(self.recorded());
        let is_first = |(_, operation): &(OperationId, PersonOperation)| firsts.contains(operation);
        numbered.filter(is_first).map(|(id, operation)| (id, operation.name().to_owned())).collect()
    }

    fn session_length(&self) -> f64 {
        let calls = PersonOperation::COMPOSITION.iter().map(|(_, times)| f64::from(*times)).sum();
        let length = |one: &PersonOperation| match one {
            PersonOperation::ProgramComposition => calls,
            _ => 1.0,
        };
        self.operations.iter().map(length).sum::<f64>() / self.operations.len() as f64
    }

    fn has_long_sessions(&self) -> bool {
        self.operations.contains(&PersonOperation::ProgramComposition)
    }

    /// Only where parts alone are asked for the same persons.
    fn composition(&self) -> Option<(OperationId, Vec<Part<Self>>)> {
        let id = self.operation_id(PersonOperation::ProgramComposition)?;
        let part =
            |(operation, times)| Part { alone: Self { operations: vec![operation], ..self.clone() }, times };
        (self.ids == PersonIds::Composition)
            .then(|| (id, PersonOperation::COMPOSITION.into_iter().map(part).collect()))
    }

    fn words(&self) -> String {
        let named: Vec<&str> = self.operations.iter().map(|operation| operation.name()).collect();
        let mut words = format!("person {}", named.join(", "));
        match self.ids {
            PersonIds::One => {}
            PersonIds::All => words.push_str(" of all"),
            PersonIds::Composition => words.push_str(" of the composition's persons"),
        }
        if self.persons != PEOPLE {
            words.push_str(&format!(", {} persons", self.persons));
        }
        if self.text != 1 {
            words.push_str(&format!(", texts ×{}", self.text));
        }
        words
    }

    fn offered_as(&self, _variant: &Variant) -> Option<&'static str> {
        Some(Self::NAME)
    }

    fn check_variants(&self, variants: &[Variant]) -> Result<(), String> {
        refuse_peers(variants, Self::NAME)?;
        let streams = self.operations.contains(&PersonOperation::StreamPersons);
        let cannot = |variant: &&Variant| !variant.protocol.has_calls();
        match variants.iter().find(cannot).filter(|_| streams) {
            None => Ok(()),
            Some(variant) => Err(format!(
                "`workload.operation`: `streamPersons` is a stream of messages, which variant `{}` over `{}` cannot carry; allowed: `protocol = \"grpc\"`, `\"grpc-json\"`, `\"grpc-avro\"`",
                variant.name,
                variant.protocol.name()
            )),
        }
    }
}

/// `operation`, or the list `operations`.
fn operations(reader: &Reader<'_>) -> Read<Option<Vec<PersonOperation>>> {
    let named = PersonOperation::ALL.map(|operation| (operation.name(), operation));
    let one = reader.choice("operation", &named)?;
    let many = reader.value("operations", |node| match &node.value {
        Value::List(items) if !items.is_empty() => items.iter().map(operation).collect(),
        _ => Err("must be a list of at least one operation".to_owned()),
    })?;
    if one.is_some() && many.is_some() {
        let message = "`workload.operation` and `workload.operations` cannot stand together";
        return Err(reader.error(reader.line(), message));
    }
    Ok(one.map(|operation| vec![operation]).or(many))
}

fn operation(node: &Node) -> Result<PersonOperation, String> {
    let word = node.show();
    let found = PersonOperation::ALL.into_iter().find(|operation| operation.name() == word);
    found.ok_or_else(|| {
        let names = PersonOperation::ALL.map(PersonOperation::name);
        format!("`{word}` is no operation{}", suggestion(&word, &names))
    })
}

#[cfg(test)]
mod tests {
    use crate::experiment::Experiment;

    fn experiment(workload: &str, variant: &str) -> Result<Experiment, String> {
        let text = format!("[workload]\nname = 'person'\n{workload}\n[[variant]]\n{variant}\n");
        Experiment::parse("x.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn it_reads_what_it_writes() {
        for (workload, words) in [
            ("", "person getPerson"),
            ("operation = 'listPersons'\npersons = 1000", "person listPersons, 1000 persons"),
            (
                "operations = ['getPerson', 'getMissing']\nids = 'all'\ntext = 10",
                "person getPerson, getMissing of all, texts ×10",
            ),
            (
                "operation = 'programComposition'\nids = 'composition'",
                "person programComposition of the composition's persons",
            ),
        ] {
            let first = experiment(workload, "service = 'go'").expect("an experiment");
            let spec = &first.points[0].workload;
            assert_eq!(spec.words(), words);
            assert_eq!(spec.offered_as(&first.variants[0]), Some("person"));
            let again = Experiment::parse("x.toml", &first.to_toml()).expect("what was written");
            assert_eq!(&again.points[0].workload, spec, "{}", first.to_toml());
        }
    }

    #[test]
    fn a_composition_is_recorded_behind_its_parts() {
        let text = "operations = ['getMissing', 'programComposition', 'getPerson']\nids = 'composition'";
        let workload = &experiment(text, "service = 'go'").expect("an experiment").points[0].workload;
        let operations = workload.operations();
        let parts = ["listPersons", "getPerson", "getPersonLinks", "createPerson"];
        assert_eq!(operations[..1], ["getMissing"]);
        assert_eq!(operations[1..5], parts);
        assert_eq!(operations[5..], ["programComposition"]);
        let firsts: Vec<String> = workload.first_operations().into_iter().map(|(_, name)| name).collect();
        assert_eq!(firsts, ["getMissing", "listPersons", "getPerson"]);
        assert_eq!(workload.session_length(), 10.0 / 3.0);
        let (operation, alone) = workload.composition().expect("parts");
        assert_eq!((operation.0, alone.iter().map(|part| part.times).sum::<u32>()), (5, 8));
        assert!(alone.iter().map(|part| part.alone.operations()).eq(parts.map(|name| vec![name.to_owned()])));
        // Others are asked for than those of the composition, so they are not its parts.
        let other = experiment("operation = 'programComposition'", "service = 'go'").expect("an experiment");
        assert_eq!(other.points[0].workload.composition(), None);
    }

    #[test]
    fn errors_say_what_is_allowed() {
        for (workload, variant, expected) in [
            ("operation = 'getPersons'", "service = 'go'", "getPerson"),
            ("operations = ['getPerson', 'getLinks']", "service = 'go'", "`getLinks` is no operation"),
            ("operations = []", "service = 'go'", "at least one operation"),
            (
                "operation = 'getPerson'\noperations = ['getPerson']",
                "service = 'go'",
                "cannot stand together",
            ),
            ("persons = 3", "service = 'go'", "4"),
            ("ids = '2'", "service = 'go'", "all"),
            ("operation = 'streamPersons'", "service = 'go'", "grpc-avro"),
            (
                "operation = 'programComposition'\n[load]\nmodel = 'open'\nrate = '100/s'",
                "service = 'go'",
                "partly-open",
            ),
            ("", "service = 'go'\npeer = 'rust'", "leave it out"),
        ] {
            let error = experiment(workload, variant).expect_err(workload);
            assert!(error.contains(expected), "{workload}: {error}");
        }
    }
}
