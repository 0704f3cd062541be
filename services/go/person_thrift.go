package main

import (
	"context"
	"errors"

	"github.com/apache/thrift/lib/go/thrift"

	"weigh-go/personthrift"
)

//go:generate thrift -out . --gen go:package=personthrift,skip_remote ../person/person.thrift
//go:generate gofmt -w personthrift

// Handlers

// peopleProcessor offers the operations of the workload person.
func peopleProcessor(configuration configuration) thrift.TProcessor {
	return personthrift.NewPeopleProcessor(thriftPeople{newPeople(configuration.people, thriftForms)})
}

// thriftPeople are the operations of services/person/person.thrift.
type thriftPeople struct {
	people *people[personthrift.Person, personthrift.PersonLink, personthrift.PersonList, personthrift.PersonLinkList]
}

// ListPersons answers all persons.
func (t thriftPeople) ListPersons(context.Context) (*personthrift.PersonList, error) {
	return t.people.listPersons(), nil
}

// GetPerson answers the person with that id.
func (t thriftPeople) GetPerson(_ context.Context, id string) (*personthrift.Person, error) {
	person, ok := t.people.getPerson(id)
	if !ok {
		return nil, &personthrift.PersonNotFound{ID: id}
	}
	return person, nil
}

// GetPersonLinks answers the links with that id on either side.
func (t thriftPeople) GetPersonLinks(_ context.Context, id string) (*personthrift.PersonLinkList, error) {
	return t.people.getPersonLinks(id), nil
}

// CreatePerson answers the person that was sent.
func (t thriftPeople) CreatePerson(_ context.Context, person *personthrift.Person) (*personthrift.Person, error) {
	if person == nil {
		return nil, errors.New("there is no person in the call")
	}
	return person, nil
}

// Version answers the text of GET /version.
func (t thriftPeople) Version(context.Context) (string, error) { return versionText(), nil }

// Messages

// thriftForms are the messages of Thrift.
var thriftForms = forms[personthrift.Person, personthrift.PersonLink, personthrift.PersonList, personthrift.PersonLinkList]{
	person: thriftPerson,
	link: func(p1, p2 *personthrift.Person) *personthrift.PersonLink {
		return &personthrift.PersonLink{P1: p1, P2: p2}
	},
	list: func(persons []*personthrift.Person) *personthrift.PersonList {
		return &personthrift.PersonList{Persons: persons, Count: int32(len(persons))}
	},
	linkList: func(links []*personthrift.PersonLink) *personthrift.PersonLinkList {
		return &personthrift.PersonLinkList{Links: links, Count: int32(len(links))}
	},
}

func thriftPerson(p *person) *personthrift.Person {
	message := &personthrift.Person{
		ID:     p.ID,
		Name:   &personthrift.PersonName{Title: p.Name.Title, First: p.Name.First, Last: p.Name.Last},
		Gender: p.Gender,
		Location: &personthrift.Location{
			Street:   p.Location.Street,
			City:     p.Location.City,
			State:    p.Location.State,
			PostCode: p.Location.PostCode,
		},
		Email: p.Email,
	}
	if urls := p.Picture; urls != nil {
		message.Picture = &personthrift.Picture{Large: urls.Large, Medium: urls.Medium, Thumbnail: urls.Thumbnail}
	}
	return message
}
