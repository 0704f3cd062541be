package main

import (
	"fmt"
	"io"
	"mime"
	"net/http"
)

// Handlers

// personHandlers answer the operations of the workload person over HTTP.
type personHandlers[P, L, PL, LL any] struct {
	people *people[P, L, PL, LL]
	codec  codec
}

// personRoutes are the paths of the workload person, for a codec and its messages.
func personRoutes[P, L, PL, LL any](f forms[P, L, PL, LL], c codec) func(configuration) []route {
	return func(configuration configuration) []route {
		h := personHandlers[P, L, PL, LL]{newPeople(configuration.people, f), c}
		return []route{
			{"GET", "/person", h.listPersons},
			{"POST", "/person", h.createPerson},
			{"GET", "/person/{id}", h.getPerson},
			{"GET", "/person/{id}/links", h.getPersonLinks},
		}
	}
}

// listPersons answers GET /person.
func (h personHandlers[P, L, PL, LL]) listPersons(w http.ResponseWriter, r *http.Request) {
	h.codec.reply(w, h.people.listPersons())
}

// getPerson answers GET /person/{id}.
func (h personHandlers[P, L, PL, LL]) getPerson(w http.ResponseWriter, r *http.Request) {
	person, ok := h.people.getPerson(r.PathValue("id"))
	if !ok {
		problem(w, http.StatusNotFound, noSuchPerson)
		return
	}
	h.codec.reply(w, person)
}

// getPersonLinks answers GET /person/{id}/links.
func (h personHandlers[P, L, PL, LL]) getPersonLinks(w http.ResponseWriter, r *http.Request) {
	h.codec.reply(w, h.people.getPersonLinks(r.PathValue("id")))
}

// createPerson answers POST /person with the person in its body.
func (h personHandlers[P, L, PL, LL]) createPerson(w http.ResponseWriter, r *http.Request) {
	// Parameters are passed over, even broken ones: those are the error.
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if mediaType != h.codec.mediaType {
		problem(w, http.StatusUnsupportedMediaType, "the media type must be "+h.codec.mediaType)
		return
	}
	person := new(P)
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = h.codec.read(body, person)
	}
	if err != nil {
		problem(w, http.StatusBadRequest, fmt.Sprintf("the body is no person: %v", err))
		return
	}
	h.codec.reply(w, person)
}
