package main

import (
	"bytes"
	"fmt"
	"net/http"
)

// Sizes of a body that the contract allows, in bytes.
const (
	smallestBody = 4
	largestBody  = 100_000_000
)

// Handlers

// pongRoutes are the paths of the workload pingpong.
func pongRoutes(configuration) []route {
	return []route{{"GET", "/pong/{n}", pong}}
}

// pong answers GET /pong/{n}. The body is made anew for each request.
func pong(w http.ResponseWriter, r *http.Request) {
	if size, ok := sizeOf(w, r); ok {
		reply(w, http.StatusOK, "text/plain", bodyOf(size))
	}
}

// sizeOf is the size that the path names; one that names none is refused.
func sizeOf(w http.ResponseWriter, r *http.Request) (size int, ok bool) {
	size, err := number(r.PathValue("n"))
	if err != nil || !allowed(size) {
		problem(w, http.StatusBadRequest, wrongSize)
		return 0, false
	}
	return size, true
}

// bodyOf is p, size - 3 times o, ng.
func bodyOf(size int) []byte {
	body := bytes.Repeat([]byte("o"), size)
	body[0] = 'p'
	copy(body[size-2:], "ng")
	return body
}

// allowed tells whether the contract allows a body of that many bytes.
func allowed(size int) bool { return smallestBody <= size && size <= largestBody }

// wrongSize refuses any other size.
var wrongSize = fmt.Sprintf("the size must be a whole number from %d to %d", smallestBody, largestBody)
