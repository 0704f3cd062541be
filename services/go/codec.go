package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"unicode/utf8"

	"github.com/twmb/avro"
	"google.golang.org/protobuf/proto"

	"weigh-go/personv1"
)

// codec turns messages into bytes and back, under a name in gRPC and a media
// type in HTTP.
type codec struct {
	name, mediaType string
	write           func(message any) ([]byte, error)
	read            func(body []byte, message any) error
}

var (
	jsonCodec     = codec{"json", "application/json", writeJSON, readJSON}
	protobufCodec = codec{"proto", "application/protobuf", writeProtobuf, readProtobuf}
	avroCodec     = codec{"avro", "avro/binary", writeAvro, readAvro}
)

// reply answers with a message.
func (c codec) reply(w http.ResponseWriter, message any) {
	body, err := c.write(message)
	if err != nil {
		problem(w, http.StatusInternalServerError, fmt.Sprintf("the reply cannot be written: %v", err))
		return
	}
	reply(w, http.StatusOK, c.mediaType, body)
}

// JSON

// writeJSON is json.Marshal without its escapes for HTML.
func writeJSON(message any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(message); err != nil {
		return nil, err
	}
	// The encoder ends each value with a line feed.
	return body.Bytes()[:body.Len()-1], nil
}

// readJSON is json.Unmarshal, but that a person needs its fields, and text must
// be UTF-8: what is none would be replaced.
func readJSON(body []byte, message any) error {
	if !utf8.Valid(body) {
		return errors.New("JSON must be UTF-8")
	}
	p, isPerson := message.(*person)
	if !isPerson {
		return json.Unmarshal(body, message)
	}
	var sent sentPerson
	if err := json.Unmarshal(body, &sent); err != nil {
		return err
	}
	return sent.fill(p)
}

// Protocol Buffers

func writeProtobuf(message any) ([]byte, error) { return proto.Marshal(message.(proto.Message)) }

func readProtobuf(body []byte, message any) error {
	return proto.Unmarshal(body, message.(proto.Message))
}

// Avro

//go:generate cp ../person/person.avsc .

//go:embed person.avsc
var avroSchemas []byte

// schemas are those of the messages, read when the first is asked for.
var schemas = sync.OnceValue(readSchemas)

// readSchemas reads person.avsc, in which each schema may name those before it.
func readSchemas() map[reflect.Type]*avro.Schema {
	var texts []json.RawMessage
	if err := json.Unmarshal(avroSchemas, &texts); err != nil {
		panic(err)
	}
	named := map[string]*avro.Schema{}
	var cache avro.SchemaCache
	for _, text := range texts {
		schema, err := cache.Parse(string(text))
		if err != nil {
			panic(err)
		}
		named[schema.Root().Name] = schema
	}
	return map[reflect.Type]*avro.Schema{
		reflect.TypeFor[*person]():             named["Person"],
		reflect.TypeFor[*personID]():           named["PersonId"],
		reflect.TypeFor[*personList]():         named["PersonList"],
		reflect.TypeFor[*personLinkList]():     named["PersonLinkList"],
		reflect.TypeFor[*listPersonsRequest](): named["ListPersonsRequest"],
		reflect.TypeFor[*versionRequest]():     named["VersionRequest"],
		reflect.TypeFor[*versionReply]():       named["VersionReply"],
	}
}

func writeAvro(message any) ([]byte, error) {
	return schemas()[reflect.TypeOf(message)].Encode(message)
}

func readAvro(body []byte, message any) error {
	rest, err := schemas()[reflect.TypeOf(message)].Decode(body, message)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes behind the message", len(rest))
	}
	return err
}

// Messages

// plainForms are the messages of JSON and Avro.
var plainForms = forms[person, personLink, personList, personLinkList]{
	person: func(p *person) *person { return p },
	link:   func(p1, p2 *person) *personLink { return &personLink{p1, p2} },
	list: func(persons []*person) *personList {
		return &personList{persons, int32(len(persons))}
	},
	linkList: func(links []*personLink) *personLinkList {
		return &personLinkList{links, int32(len(links))}
	},
}

// protobufForms are the messages of Protocol Buffers.
var protobufForms = forms[personv1.Person, personv1.PersonLink, personv1.PersonList, personv1.PersonLinkList]{
	person: protobufPerson,
	link: func(p1, p2 *personv1.Person) *personv1.PersonLink {
		return &personv1.PersonLink{P1: p1, P2: p2}
	},
	list: func(persons []*personv1.Person) *personv1.PersonList {
		return &personv1.PersonList{Persons: persons, Count: int32(len(persons))}
	},
	linkList: func(links []*personv1.PersonLink) *personv1.PersonLinkList {
		return &personv1.PersonLinkList{Links: links, Count: int32(len(links))}
	},
}

func protobufPerson(p *person) *personv1.Person {
	message := &personv1.Person{
		Id:     p.ID,
		Name:   &personv1.PersonName{Title: p.Name.Title, First: p.Name.First, Last: p.Name.Last},
		Gender: p.Gender,
		Location: &personv1.Location{
			Street:   p.Location.Street,
			City:     p.Location.City,
			State:    p.Location.State,
			PostCode: p.Location.PostCode,
		},
		Email: p.Email,
	}
	if urls := p.Picture; urls != nil {
		message.Picture = &personv1.Picture{Large: urls.Large, Medium: urls.Medium, Thumbnail: urls.Thumbnail}
	}
	return message
}
