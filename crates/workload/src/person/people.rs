//! Persons and links: the model, the people file, and what each operation answers.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use weighbridge_model::experiment::{CodecName, PEOPLE, PersonIds, PersonOperation, PersonSpec};

use crate::codec::{self, Field, FieldType, Record};

static NAME: Record = Record {
    name: "PersonName",
    fields: &[
        Field::required(1, "title", FieldType::Text),
        Field::required(2, "first", FieldType::Text),
        Field::required(3, "last", FieldType::Text),
    ],
};
static LOCATION: Record = Record {
    name: "Location",
    fields: &[
        Field::required(1, "street", FieldType::Text),
        Field::required(2, "city", FieldType::Text),
        Field::required(3, "state", FieldType::Text),
        Field::required(4, "postCode", FieldType::Int),
    ],
};
static PICTURE: Record = Record {
    name: "Picture",
    fields: &[
        Field::required(1, "large", FieldType::Text),
        Field::required(2, "medium", FieldType::Text),
        Field::required(3, "thumbnail", FieldType::Text),
    ],
};
pub(crate) static PERSON: Record = Record {
    name: "Person",
    fields: &[
        Field::required(1, "id", FieldType::Text),
        Field::required(2, "name", FieldType::Record(&NAME)),
        Field::required(3, "gender", FieldType::Text),
        Field::required(4, "location", FieldType::Record(&LOCATION)),
        Field::required(5, "email", FieldType::Text),
        Field::optional(6, "picture", FieldType::Record(&PICTURE)),
    ],
};
static LINK: Record = Record {
    name: "PersonLink",
    fields: &[
        Field::required(1, "p1", FieldType::Record(&PERSON)),
        Field::required(2, "p2", FieldType::Record(&PERSON)),
    ],
};
pub(crate) static PERSON_ID: Record =
    Record { name: "PersonId", fields: &[Field::required(1, "id", FieldType::Text)] };
pub(crate) static PERSON_LIST: Record = Record {
    name: "PersonList",
    fields: &[
        Field::required(1, "persons", FieldType::List(&PERSON)),
        Field::required(2, "count", FieldType::Int),
    ],
};
pub(crate) static LINK_LIST: Record = Record {
    name: "PersonLinkList",
    fields: &[
        Field::required(1, "links", FieldType::List(&LINK)),
        Field::required(2, "count", FieldType::Int),
    ],
};
/// The request of what takes no argument.
pub(crate) static NOTHING: Record = Record { name: "ListPersonsRequest", fields: &[] };

/// The arguments of calls of Thrift and SOAP.
static LIST_PERSONS: Record = Record { name: "listPersons", fields: &[] };
static GET_PERSON: Record = Record { name: "getPerson", fields: PERSON_ID.fields };
static GET_LINKS: Record = Record { name: "getPersonLinks", fields: PERSON_ID.fields };
static CREATE_PERSON: Record =
    Record { name: "createPerson", fields: &[Field::required(1, "person", FieldType::Record(&PERSON))] };
static NOT_FOUND: Record =
    Record { name: "PersonNotFound", fields: &[Field::required(1, "id", FieldType::Text)] };

/// What a call of Thrift or SOAP returns: a value, or that the person is not there.
macro_rules! result {
    ($name:ident, $element:literal, $record:ident) => {
        static $name: Record = Record {
            name: $element,
            fields: &[
                Field::optional(0, SUCCESS, FieldType::Record(&$record)),
                Field::optional(1, FAILURE, FieldType::Record(&NOT_FOUND)),
            ],
        };
    };
}
result!(LIST_RESULT, "listPersonsResponse", PERSON_LIST);
result!(PERSON_RESULT, "getPersonResponse", PERSON);
result!(LINKS_RESULT, "getPersonLinksResponse", LINK_LIST);
result!(CREATE_RESULT, "createPersonResponse", PERSON);

/// Fields of those.
pub(crate) const SUCCESS: &str = "return";
const FAILURE: &str = "notFound";

/// The people file of an experiment that says nothing else.
const FILE: &str = include_str!("../../../../services/person/people.json");

/// Where persons beyond those of the file come from.
const SEED: u64 = 1;

/// Of how many persons `ids = "all"` asks at most: each is a request that is kept rendered.
const ASKED: usize = 1_000;

/// The id of nobody.
const NOBODY: &str = "0";

#[derive(Debug, Clone)]
pub(crate) struct People {
    persons: Vec<Value>,
    /// Indices of two persons.
    links: Vec<[usize; 2]>,
    /// Who is created.
    create: Value,
}

/// One call: an operation with its argument, and its reply.
#[derive(Debug, Clone)]
pub(crate) struct CallOfPerson {
    pub operation: PersonOperation,
    /// The id that is asked for; empty where none is.
    pub id: String,
    /// Who is created.
    pub person: Option<Value>,
    pub reply: PersonReply,
}

#[derive(Debug, Clone)]
pub(crate) enum PersonReply {
    NotFound,
    Found(&'static Record, Value),
    /// The list of these, one message each.
    Stream(&'static Record, Value),
}

impl CallOfPerson {
    /// The arguments as a call of Thrift or SOAP has them.
    pub fn arguments(&self) -> (&'static Record, Value) {
        let (record, _) = self.signature();
        match &self.person {
            Some(person) => (record, json!({ "person": person })),
            None if self.id.is_empty() => (record, json!({})),
            None => (record, json!({ "id": self.id })),
        }
    }

    /// The reply as a call of Thrift or SOAP returns it.
    pub fn returned(&self) -> PersonReply {
        let (_, result) = self.signature();
        let value = match &self.reply {
            PersonReply::Found(_, value) | PersonReply::Stream(_, value) => json!({ SUCCESS: value }),
            PersonReply::NotFound => json!({ FAILURE: { "id": self.id } }),
        };
        PersonReply::Found(result, value)
    }

    const fn signature(&self) -> (&'static Record, &'static Record) {
        match self.operation {
            // No call is a composition: its first part is a list.
            PersonOperation::ListPersons
            | PersonOperation::StreamPersons
            | PersonOperation::ProgramComposition => (&LIST_PERSONS, &LIST_RESULT),
            PersonOperation::GetPerson | PersonOperation::GetMissing => (&GET_PERSON, &PERSON_RESULT),
            PersonOperation::GetPersonLinks => (&GET_LINKS, &LINKS_RESULT),
            PersonOperation::CreatePerson => (&CREATE_PERSON, &CREATE_RESULT),
        }
    }
}

impl People {
    pub fn of(spec: &PersonSpec) -> Self {
        let mut people = Self::read(FILE.as_bytes()).expect("the file is ours");
        people.grow(spec.persons as usize);
        people
            .persons
            .iter_mut()
            .chain([&mut people.create])
            .for_each(|person| lengthen(person, spec.text as usize));
        people
    }

    /// Reads a people file. Errors: what is wrong with it.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let file: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let list = |key: &str| file[key].as_array().ok_or_else(|| format!("`{key}` is not a list"));
        let person = |value: &Value| {
            let bytes = value.to_string().into_bytes();
            codec::decode(CodecName::Json, &PERSON, &bytes).map_err(|error| error.to_string())
        };
        let persons = list("persons")?.iter().map(person).collect::<Result<Vec<_>, _>>()?;
        let index = |id: &Value| {
            let id = id.as_u64().filter(|id| (1..=persons.len() as u64).contains(id));
            id.map(|id| id as usize - 1).ok_or_else(|| "`links` has somebody who is not there".to_owned())
        };
        let links = list("links")?.iter().map(|pair| Ok([index(&pair[0])?, index(&pair[1])?]));
        let links = links.collect::<Result<_, String>>()?;
        let create = person(&file["create"])?;
        if persons.is_empty() {
            Err("nobody is there".to_owned())
        } else {
            Ok(Self { persons, links, create })
        }
    }

    /// More persons, each like one of the file with other letters, and linked to one before.
    fn grow(&mut self, wanted: usize) {
        let mut random = ChaCha8Rng::seed_from_u64(SEED);
        let first = self.persons.len();
        for index in first..wanted {
            let mut person = self.persons[index % first].clone();
            visit_texts(&mut person, &mut |text| {
                *text = text
                    .chars()
                    .map(|c| if c.is_ascii_lowercase() { random.random_range(b'a'..=b'z').into() } else { c })
                    .collect();
            });
            person["id"] = (index + 1).to_string().into();
            person["location"]["postCode"] = random.random_range(1_000..100_000).into();
            self.persons.push(person);
            self.links.push([index, random.random_range(0..index)]);
        }
    }

    /// The people file as services read it.
    pub fn file(&self) -> Vec<u8> {
        let links: Vec<_> = self.links.iter().map(|[a, b]| [a + 1, b + 1]).collect();
        let file = json!({ "persons": self.persons, "links": links, "create": self.create });
        serde_json::to_vec(&file).expect("memory takes it")
    }

    /// The calls of one operation.
    pub fn calls(&self, operation: PersonOperation, ids: PersonIds) -> Vec<CallOfPerson> {
        let asked: Vec<usize> = match (ids, operation) {
            (PersonIds::One, _) => vec![0],
            (PersonIds::All, _) => (0..self.persons.len().min(ASKED)).collect(),
            (PersonIds::Composition, PersonOperation::GetPersonLinks) => vec![0, 2],
            (PersonIds::Composition, _) => (0..PEOPLE as usize).collect(),
        };
        let id = |at: usize| self.persons[at]["id"].as_str().expect("an id").to_owned();
        let call = |id: String, person, reply| CallOfPerson { operation, id, person, reply };
        match operation {
            PersonOperation::ListPersons => {
                let list = json!({ "persons": self.persons, "count": self.persons.len() });
                vec![call(String::new(), None, PersonReply::Found(&PERSON_LIST, list))]
            }
            PersonOperation::StreamPersons => {
                vec![call(String::new(), None, PersonReply::Stream(&PERSON, self.persons.clone().into()))]
            }
            PersonOperation::GetMissing => vec![call(NOBODY.to_owned(), None, PersonReply::NotFound)],
            PersonOperation::GetPerson => asked
                .into_iter()
                .map(|at| call(id(at), None, PersonReply::Found(&PERSON, self.persons[at].clone())))
                .collect(),
            PersonOperation::GetPersonLinks => {
                asked.into_iter().map(|at| call(id(at), None, self.links_of(at))).collect()
            }
            PersonOperation::CreatePerson => {
                let persons = match ids {
                    PersonIds::All => &self.persons[..asked.len()],
                    PersonIds::One | PersonIds::Composition => std::slice::from_ref(&self.create),
                };
                let created = |person: &Value| {
                    let reply = PersonReply::Found(&PERSON, person.clone());
                    call(String::new(), Some(person.clone()), reply)
                };
                persons.iter().map(created).collect()
            }
            PersonOperation::ProgramComposition => {
                let parts = PersonOperation::COMPOSITION.into_iter();
                parts.flat_map(|(part, _)| self.calls(part, PersonIds::Composition)).collect()
            }
        }
    }

    fn links_of(&self, index: usize) -> PersonReply {
        let links: Vec<Value> = self
            .links
            .iter()
            .filter(|pair| pair.contains(&index))
            .map(|[a, b]| json!({ "p1": self.persons[*a], "p2": self.persons[*b] }))
            .collect();
        PersonReply::Found(&LINK_LIST, json!({ "count": links.len(), "links": links }))
    }
}

/// Makes every text but the id so many times as long.
fn lengthen(person: &mut Value, factor: usize) {
    let id = person["id"].clone();
    visit_texts(person, &mut |text| *text = text.repeat(factor));
    person["id"] = id;
}

fn visit_texts(value: &mut Value, visitor: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => visitor(text),
        Value::Array(values) => values.iter_mut().for_each(|value| visit_texts(value, visitor)),
        Value::Object(fields) => fields.values_mut().for_each(|value| visit_texts(value, visitor)),
        _ => {}
    }
}

/// Whether the people file is the one that lies with the services.
pub(crate) fn is_standard(spec: &PersonSpec) -> bool {
    spec.persons == PEOPLE && spec.text == 1
}

/// The people file that lies with the services.
pub(crate) fn standard_file() -> Vec<u8> {
    FILE.as_bytes().to_vec()
}
