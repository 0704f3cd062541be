package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Model

// person and the messages below are what JSON and Avro write; Protocol Buffers
// and Thrift have generated types of their own.
type person struct {
	ID       string     `json:"id" avro:"id"`
	Name     personName `json:"name" avro:"name"`
	Gender   string     `json:"gender" avro:"gender"`
	Location location   `json:"location" avro:"location"`
	Email    string     `json:"email" avro:"email"`
	Picture  *picture   `json:"picture" avro:"picture"`
}

type personName struct {
	Title string `json:"title" avro:"title"`
	First string `json:"first" avro:"first"`
	Last  string `json:"last" avro:"last"`
}

type location struct {
	Street   string `json:"street" avro:"street"`
	City     string `json:"city" avro:"city"`
	State    string `json:"state" avro:"state"`
	PostCode int32  `json:"postCode" avro:"postCode"`
}

type picture struct {
	Large     string `json:"large" avro:"large"`
	Medium    string `json:"medium" avro:"medium"`
	Thumbnail string `json:"thumbnail" avro:"thumbnail"`
}

type personID struct {
	ID string `json:"id" avro:"id"`
}

type personLink struct {
	P1 *person `json:"p1" avro:"p1"`
	P2 *person `json:"p2" avro:"p2"`
}

type personList struct {
	Persons []*person `json:"persons" avro:"persons"`
	Count   int32     `json:"count" avro:"count"`
}

type personLinkList struct {
	Links []*personLink `json:"links" avro:"links"`
	Count int32         `json:"count" avro:"count"`
}

type listPersonsRequest struct{}

type versionRequest struct{}

type versionReply struct {
	Text string `json:"text" avro:"text"`
}

// People file

// peopleFile is what the people file holds.
type peopleFile struct {
	persons []*person
	links   [][2]int // places in persons
}

// readPeople reads the people file in the folder DATA. The error is the line for
// stderr.
func readPeople() (*peopleFile, error) {
	folder := os.Getenv("DATA")
	if folder == "" {
		return nil, refusal("DATA", folder, "a folder with the file `people.json`")
	}
	text, err := os.ReadFile(filepath.Join(folder, "people.json"))
	if err != nil {
		return nil, refusal("DATA", folder, fmt.Sprintf("a folder with the file `people.json` (%v)", err))
	}
	people, err := parsePeople(text)
	if err != nil {
		return nil, refusal("DATA", folder, fmt.Sprintf("a folder whose `people.json` is a people file (%v)", err))
	}
	return people, nil
}

// parsePeople reads the text of a people file.
func parsePeople(text []byte) (*peopleFile, error) {
	type document struct {
		Persons []sentPerson `json:"persons"`
		Links   [][]int64    `json:"links"`
	}
	var file document
	if err := readJSON(text, &file); err != nil {
		return nil, err
	}
	if file.Persons == nil || file.Links == nil {
		return nil, errors.New("`persons` and `links` are needed")
	}
	people := &peopleFile{}
	places := map[string]int{}
	for i, sent := range file.Persons {
		p := &person{}
		if err := sent.fill(p); err != nil {
			return nil, fmt.Errorf("`persons[%d]`: %w", i, err)
		}
		if _, isTaken := places[p.ID]; isTaken {
			return nil, fmt.Errorf("`persons[%d]`: the id %q was there before", i, p.ID)
		}
		places[p.ID] = i
		people.persons = append(people.persons, p)
	}
	for i, ids := range file.Links {
		link, err := placesOf(ids, places)
		if err != nil {
			return nil, fmt.Errorf("`links[%d]`: %w", i, err)
		}
		people.links = append(people.links, link)
	}
	return people, nil
}

// placesOf are the places of the two persons whose ids a link has.
func placesOf(ids []int64, places map[string]int) (link [2]int, err error) {
	if len(ids) != 2 {
		return link, fmt.Errorf("two ids are needed, not %d", len(ids))
	}
	for side, id := range ids {
		place, isKnown := places[strconv.FormatInt(id, 10)]
		if !isKnown {
			return link, fmt.Errorf("no person has the id %d", id)
		}
		link[side] = place
	}
	return link, nil
}

// sentPerson is a person as JSON brings it: what is missing, or null, stays nil.
// encoding/json alone would read it as empty.
type sentPerson struct {
	ID   *string `json:"id"`
	Name *struct {
		Title *string `json:"title"`
		First *string `json:"first"`
		Last  *string `json:"last"`
	} `json:"name"`
	Gender   *string `json:"gender"`
	Location *struct {
		Street   *string `json:"street"`
		City     *string `json:"city"`
		State    *string `json:"state"`
		PostCode *int32  `json:"postCode"`
	} `json:"location"`
	Email   *string `json:"email"`
	Picture *struct {
		Large     *string `json:"large"`
		Medium    *string `json:"medium"`
		Thumbnail *string `json:"thumbnail"`
	} `json:"picture"`
}

// fill sets every field of a person. All but the picture are needed.
func (s sentPerson) fill(p *person) error {
	name, place, urls := s.Name, s.Location, s.Picture
	if anyIsNil(s.ID, s.Gender, s.Email) || name == nil || place == nil {
		return errors.New("a person needs `id`, `name`, `gender`, `location` and `email`")
	}
	if anyIsNil(name.Title, name.First, name.Last) {
		return errors.New("a name needs `title`, `first` and `last`")
	}
	if anyIsNil(place.Street, place.City, place.State) || place.PostCode == nil {
		return errors.New("a location needs `street`, `city`, `state` and `postCode`")
	}
	*p = person{
		ID:       *s.ID,
		Name:     personName{*name.Title, *name.First, *name.Last},
		Gender:   *s.Gender,
		Location: location{*place.Street, *place.City, *place.State, *place.PostCode},
		Email:    *s.Email,
	}
	if urls == nil {
		return nil
	}
	if anyIsNil(urls.Large, urls.Medium, urls.Thumbnail) {
		return errors.New("a picture needs `large`, `medium` and `thumbnail`")
	}
	p.Picture = &picture{*urls.Large, *urls.Medium, *urls.Thumbnail}
	return nil
}

// anyIsNil tells whether one of the texts is missing.
func anyIsNil(texts ...*string) bool {
	for _, text := range texts {
		if text == nil {
			return true
		}
	}
	return false
}

// Operations

// noSuchPerson refuses an id that is not in the people file.
const noSuchPerson = "no person has this id"

// forms make the messages that a codec writes: of persons P, links L, and the
// lists PL and LL of both.
type forms[P, L, PL, LL any] struct {
	person   func(*person) *P
	link     func(p1, p2 *P) *L
	list     func([]*P) *PL
	linkList func([]*L) *LL
}

// people are the persons and links of the people file, as messages of a codec.
type people[P, L, PL, LL any] struct {
	forms[P, L, PL, LL]
	persons []*P
	byID    map[string]*P
	links   map[string][][2]*P // by the id on either side
}

// newPeople turns the people file into messages.
func newPeople[P, L, PL, LL any](file *peopleFile, f forms[P, L, PL, LL]) *people[P, L, PL, LL] {
	p := &people[P, L, PL, LL]{f, make([]*P, len(file.persons)), map[string]*P{}, map[string][][2]*P{}}
	for i, person := range file.persons {
		p.persons[i] = f.person(person)
		p.byID[person.ID] = p.persons[i]
	}
	for _, link := range file.links {
		pair := [2]*P{p.persons[link[0]], p.persons[link[1]]}
		for side, place := range link {
			if id := file.persons[place].ID; side == 0 || place != link[0] {
				p.links[id] = append(p.links[id], pair)
			}
		}
	}
	return p
}

// listPersons is all persons.
func (p *people[P, L, PL, LL]) listPersons() *PL { return p.list(p.persons) }

// getPerson is the person with that id, where there is one.
func (p *people[P, L, PL, LL]) getPerson(id string) (*P, bool) {
	person, ok := p.byID[id]
	return person, ok
}

// getPersonLinks is the links with that id on either side.
func (p *people[P, L, PL, LL]) getPersonLinks(id string) *LL {
	pairs := p.links[id]
	links := make([]*L, len(pairs))
	for i, pair := range pairs {
		links[i] = p.link(pair[0], pair[1])
	}
	return p.linkList(links)
}
