package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weigh-go/personthrift"
	"weigh-go/personv1"
)

// peerProtocol is a protocol over which the peer is called, and the paths of the
// workload person-client with one client for all.
type peerProtocol struct {
	name   string
	routes func(netip.AddrPort) []route
}

// peerProtocols are all of them, the default first.
var peerProtocols = []peerProtocol{
	{"http1-json", callRoutes(plainReader, restCalls[person, personList, personLinkList](jsonCodec, oneByOne))},
	{"http1-protobuf", callRoutes(protobufReader, restCalls[personv1.Person, personv1.PersonList, personv1.PersonLinkList](protobufCodec, oneByOne))},
	{"http1-avro", callRoutes(plainReader, restCalls[person, personList, personLinkList](avroCodec, oneByOne))},
	{"http2-json", callRoutes(plainReader, restCalls[person, personList, personLinkList](jsonCodec, multiplexed))},
	{"http2-protobuf", callRoutes(protobufReader, restCalls[personv1.Person, personv1.PersonList, personv1.PersonLinkList](protobufCodec, multiplexed))},
	{"http2-avro", callRoutes(plainReader, restCalls[person, personList, personLinkList](avroCodec, multiplexed))},
	{"grpc", callRoutes(protobufReader, grpcCalls)},
	{"grpc-protobuf", callRoutes(protobufReader, grpcCalls)}, // another name of the same
	{"grpc-json", callRoutes(plainReader, plainGRPCCalls(jsonCodec))},
	{"grpc-avro", callRoutes(plainReader, plainGRPCCalls(avroCodec))},
	{"thrift-binary", callRoutes(thriftReader, thriftCalls(binaryProtocol))},
	{"thrift-compact", callRoutes(thriftReader, thriftCalls(compactProtocol))},
}

// readPeerProtocol reads PEER_PROTOCOL. The error is the line for stderr.
func readPeerProtocol() (peerProtocol, error) {
	name := os.Getenv("PEER_PROTOCOL")
	var names []string
	for _, protocol := range peerProtocols {
		if name == "" || protocol.name == name {
			return protocol, nil
		}
		names = append(names, protocol.name)
	}
	return peerProtocol{}, refusal("PEER_PROTOCOL", name, "`"+strings.Join(names, "`, `")+"`")
}

// Handlers

// personClientRoutes are the paths of the workload person-client.
func personClientRoutes(c configuration) []route { return c.peerProtocol.routes(c.peer) }

// calls are the operations of the peer, by a client whose messages are persons P
// and the lists PL and LL.
type calls[P, PL, LL any] interface {
	ListPersons(ctx context.Context) (*PL, error)
	GetPerson(ctx context.Context, id string) (*P, error)
	GetPersonLinks(ctx context.Context, id string) (*LL, error)
	CreatePerson(ctx context.Context, person *P) (*P, error)
}

// callHandlers make a call for each request.
type callHandlers[P, L, PL, LL any] struct {
	reader[P, L, PL, LL]
	calls calls[P, PL, LL]
}

// callRoutes are the paths of the workload, for messages and the client that has them.
func callRoutes[P, L, PL, LL any](r reader[P, L, PL, LL], client func(netip.AddrPort) calls[P, PL, LL]) func(netip.AddrPort) []route {
	return func(peer netip.AddrPort) []route {
		h := callHandlers[P, L, PL, LL]{r, client(peer)}
		return []route{
			{"GET", "/call/listPersons", h.listPersons},
			{"GET", "/call/getPerson/{id}", h.getPerson},
			{"GET", "/call/getPersonLinks/{id}", h.getPersonLinks},
			{"POST", "/call/createPerson", h.createPerson},
		}
	}
}

// listPersons answers GET /call/listPersons.
func (h callHandlers[P, L, PL, LL]) listPersons(w http.ResponseWriter, r *http.Request) {
	report(w, h.readList, func() (*PL, error) { return h.calls.ListPersons(r.Context()) })
}

// getPerson answers GET /call/getPerson/{id}.
func (h callHandlers[P, L, PL, LL]) getPerson(w http.ResponseWriter, r *http.Request) {
	report(w, h.person, func() (*P, error) { return h.calls.GetPerson(r.Context(), r.PathValue("id")) })
}

// getPersonLinks answers GET /call/getPersonLinks/{id}.
func (h callHandlers[P, L, PL, LL]) getPersonLinks(w http.ResponseWriter, r *http.Request) {
	report(w, h.readLinks, func() (*LL, error) { return h.calls.GetPersonLinks(r.Context(), r.PathValue("id")) })
}

// createPerson answers POST /call/createPerson with the person in its body.
func (h callHandlers[P, L, PL, LL]) createPerson(w http.ResponseWriter, r *http.Request) {
	sent := &person{}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = readJSON(body, sent)
	}
	if err != nil {
		problem(w, http.StatusBadRequest, fmt.Sprintf("the body is no person: %v", err))
		return
	}
	created := h.form(sent)
	report(w, h.person, func() (*P, error) { return h.calls.CreatePerson(r.Context(), created) })
}

// report makes a call, reads its reply into the digest, and answers with both
// and the time they took.
func report[M any](w http.ResponseWriter, read func(*digest, *M), call func() (*M, error)) {
	d := emptyDigest
	begin := time.Now()
	message, err := call()
	switch {
	case err == nil:
		read(&d, message)
	case isNotFound(err):
		d.add("not found")
	default:
		problem(w, http.StatusBadGateway, fmt.Sprintf("the peer did not answer: %v", err))
		return
	}
	duration := time.Since(begin)
	// A struct of numbers and a text can always be marshalled.
	body, _ := json.Marshal(struct {
		Duration int64  `json:"duration_ns"`
		Calls    int    `json:"calls"`
		Digest   string `json:"digest"`
	}{duration.Nanoseconds(), 1, fmt.Sprintf("%016x", uint64(d))})
	reply(w, http.StatusOK, "application/json", body)
}

// errNotFound is what HTTP's status 404 says.
var errNotFound = errors.New("nothing was found")

// isNotFound tells whether the peer answered that there is no such person.
func isNotFound(err error) bool {
	var missing *personthrift.PersonNotFound
	return errors.Is(err, errNotFound) || status.Code(err) == codes.NotFound || errors.As(err, &missing)
}

// Digest

// digest is FNV-1a of 64 bits, over fields that each end with a line feed.
type digest uint64

const emptyDigest digest = 0xcbf29ce484222325

func (d *digest) add(fields ...string) {
	for _, field := range fields {
		for i := range len(field) {
			*d = (*d ^ digest(field[i])) * 0x100000001b3
		}
		*d = (*d ^ '\n') * 0x100000001b3
	}
}

func (d *digest) addNumber(n int32) { d.add(strconv.Itoa(int(n))) }

// reader makes the persons P of a client, and reads them and the lists PL of
// them and LL of links L.
type reader[P, L, PL, LL any] struct {
	form     func(*person) *P
	person   func(*digest, *P)
	sides    func(*L) [2]*P
	list     func(*PL) ([]*P, int32)
	linkList func(*LL) ([]*L, int32)
}

func (r reader[P, L, PL, LL]) readList(d *digest, list *PL) {
	persons, count := r.list(list)
	for _, person := range persons {
		r.person(d, person)
	}
	d.addNumber(count)
}

func (r reader[P, L, PL, LL]) readLinks(d *digest, list *LL) {
	links, count := r.linkList(list)
	for _, link := range links {
		for _, person := range r.sides(link) {
			r.person(d, person)
		}
	}
	d.addNumber(count)
}

var plainReader = reader[person, personLink, personList, personLinkList]{
	form: plainForms.person,
	person: func(d *digest, p *person) {
		d.add(p.ID, p.Name.Title, p.Name.First, p.Name.Last, p.Gender)
		d.add(p.Location.Street, p.Location.City, p.Location.State)
		d.addNumber(p.Location.PostCode)
		d.add(p.Email)
		if p.Picture == nil {
			d.add("")
			return
		}
		d.add(p.Picture.Large, p.Picture.Medium, p.Picture.Thumbnail)
	},
	sides:    func(link *personLink) [2]*person { return [2]*person{link.P1, link.P2} },
	list:     func(list *personList) ([]*person, int32) { return list.Persons, list.Count },
	linkList: func(list *personLinkList) ([]*personLink, int32) { return list.Links, list.Count },
}

var protobufReader = reader[personv1.Person, personv1.PersonLink, personv1.PersonList, personv1.PersonLinkList]{
	form: protobufPerson,
	person: func(d *digest, p *personv1.Person) {
		name, place := p.GetName(), p.GetLocation()
		d.add(p.GetId(), name.GetTitle(), name.GetFirst(), name.GetLast(), p.GetGender())
		d.add(place.GetStreet(), place.GetCity(), place.GetState())
		d.addNumber(place.GetPostCode())
		d.add(p.GetEmail())
		if p.Picture == nil {
			d.add("")
			return
		}
		d.add(p.Picture.GetLarge(), p.Picture.GetMedium(), p.Picture.GetThumbnail())
	},
	sides: func(link *personv1.PersonLink) [2]*personv1.Person {
		return [2]*personv1.Person{link.GetP1(), link.GetP2()}
	},
	list: func(list *personv1.PersonList) ([]*personv1.Person, int32) { return list.GetPersons(), list.GetCount() },
	linkList: func(list *personv1.PersonLinkList) ([]*personv1.PersonLink, int32) {
		return list.GetLinks(), list.GetCount()
	},
}

var thriftReader = reader[personthrift.Person, personthrift.PersonLink, personthrift.PersonList, personthrift.PersonLinkList]{
	form: thriftPerson,
	person: func(d *digest, p *personthrift.Person) {
		d.add(p.ID, p.Name.Title, p.Name.First, p.Name.Last, p.Gender)
		d.add(p.Location.Street, p.Location.City, p.Location.State)
		d.addNumber(p.Location.PostCode)
		d.add(p.Email)
		if p.Picture == nil {
			d.add("")
			return
		}
		d.add(p.Picture.Large, p.Picture.Medium, p.Picture.Thumbnail)
	},
	sides: func(link *personthrift.PersonLink) [2]*personthrift.Person {
		return [2]*personthrift.Person{link.P1, link.P2}
	},
	list: func(list *personthrift.PersonList) ([]*personthrift.Person, int32) { return list.Persons, list.Count },
	linkList: func(list *personthrift.PersonLinkList) ([]*personthrift.PersonLink, int32) {
		return list.Links, list.Count
	},
}
