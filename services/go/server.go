package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/reflection"
)

// grace is how long outstanding requests may take after SIGTERM; the contract
// allows 5 s in all.
const grace = 4 * time.Second

// Replies

// version answers GET /version.
func version(w http.ResponseWriter, r *http.Request) {
	reply(w, http.StatusOK, "text/plain", []byte(versionText()))
}

// notFound answers every path that the contract does not name.
func notFound(w http.ResponseWriter, r *http.Request) {
	problem(w, http.StatusNotFound, "there is nothing at this path")
}

// methodNotAllowed answers every method but these on a known path.
func methodNotAllowed(methods []string) http.HandlerFunc {
	allow := strings.Join(methods, ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		problem(w, http.StatusMethodNotAllowed, "allowed here: "+allow)
	}
}

// problem replies with what was wrong, in JSON.
func problem(w http.ResponseWriter, status int, text string) {
	// A map of strings can always be marshalled.
	body, _ := json.Marshal(map[string]string{"error": text})
	reply(w, status, "application/json", body)
}

// reply writes a whole reply with its length.
func reply(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// This fails on HEAD, which has no body, and on a connection that is gone.
	w.Write(body)
}

// Router

// route is the handler of a method on all paths of a pattern, as ServeMux has it:
// GET answers HEAD too. A last segment in braces may be empty.
type route struct {
	method, pattern string
	handler         http.HandlerFunc
}

// router holds the paths of a workload, and what every workload answers.
func router(routes []route) http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, route := range append(routes, route{"GET", "/version", version}) {
		for _, path := range paths(route.pattern) {
			mux.HandleFunc(route.method+" "+path, route.handler)
			methods[path] = append(methods[path], route.method)
			if route.method == "GET" {
				methods[path] = append(methods[path], "HEAD")
			}
		}
	}
	for path, methods := range methods {
		mux.HandleFunc(path, methodNotAllowed(methods))
	}
	for path := range methods {
		folder, isEmpty := strings.CutSuffix(path, "/{$}")
		if _, isKnown := methods[folder]; isEmpty && !isKnown {
			// Without this line it would be redirected to the path with a slash.
			mux.HandleFunc(folder, notFound)
		}
	}
	mux.HandleFunc("/", notFound)
	return mux
}

// paths are the patterns of ServeMux, whose segments are never empty, for a pattern.
func paths(pattern string) []string {
	folder, last := pattern[:strings.LastIndex(pattern, "/")], pattern[strings.LastIndex(pattern, "/"):]
	if strings.HasPrefix(last, "/{") {
		return []string{pattern, folder + "/{$}"}
	}
	return []string{pattern}
}

// Server

// server is what net/http and grpc have in common.
type server struct {
	serve  func(net.Listener) error
	finish func() // takes nothing new, returns when nothing is outstanding
	cut    func() // ends what is outstanding
}

// overHTTP is net/http's server for the routes of a workload: one version of HTTP.
func overHTTP(routes func(configuration) []route) func(configuration) server {
	return func(c configuration) server {
		s := &http.Server{Handler: router(routes(c)), TLSConfig: c.tls, Protocols: new(http.Protocols)}
		isHTTP2 := strings.HasPrefix(c.protocol, "http2-")
		s.Protocols.SetHTTP1(!isHTTP2)
		s.Protocols.SetHTTP2(isHTTP2 && c.tls != nil)
		s.Protocols.SetUnencryptedHTTP2(isHTTP2 && c.tls == nil)
		serve := s.Serve
		if c.tls != nil {
			serve = func(listener net.Listener) error { return s.ServeTLS(listener, "", "") }
		}
		return server{serve, func() { s.Shutdown(context.Background()) }, func() { s.Close() }}
	}
}

// overGRPC is grpc-go's server for the operations of a workload, with reflection
// where they are described by Protocol Buffers.
func overGRPC(register func(grpc.ServiceRegistrar, configuration), own ...grpc.ServerOption) func(configuration) server {
	return func(c configuration) server {
		options := slices.Clone(own)
		if c.tls != nil {
			options = append(options, grpc.Creds(credentials.NewTLS(c.tls)))
		}
		s := grpc.NewServer(options...)
		register(s, c)
		if c.protocol == "grpc" || c.protocol == "grpc-protobuf" {
			reflection.Register(s)
		}
		return server{s.Serve, s.GracefulStop, s.Stop}
	}
}

// serve serves until the context ends and nothing is outstanding or grace is over.
func serve(stop context.Context, s server, listener net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- s.serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-stop.Done():
	}
	// Cut off, finishing has nothing left to wait for.
	defer time.AfterFunc(grace, s.cut).Stop()
	s.finish()
	return nil
}
