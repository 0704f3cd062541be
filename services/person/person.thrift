// The workload `person` over Thrift. services/README.md is the contract; this file is its interface, one for every language.

namespace go personv1
namespace java weighbridge.person.v1

struct PersonName {
  1: required string title
  2: required string first
  3: required string last
}

struct Location {
  1: required string street
  2: required string city
  3: required string state
  4: required i32 postCode
}

struct Picture {
  1: required string large
  2: required string medium
  3: required string thumbnail
}

struct Person {
  1: required string id
  2: required PersonName name
  3: required string gender
  4: required Location location
  5: required string email
  6: optional Picture picture
}

struct PersonLink {
  1: required Person p1
  2: required Person p2
}

struct PersonList {
  1: required list<Person> persons
  2: required i32 count
}

struct PersonLinkList {
  1: required list<PersonLink> links
  2: required i32 count
}

exception PersonNotFound {
  1: required string id
}

service People {
  PersonList listPersons()
  Person getPerson(1: string id) throws (1: PersonNotFound notFound)
  PersonLinkList getPersonLinks(1: string id)
  Person createPerson(1: Person person)
  string version()
}
