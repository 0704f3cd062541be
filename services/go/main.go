// Command weigh-go is the Go service: the workload pingpong (pong.go) over the
// protocols http1-json and http2-json, with net/http, and grpc (grpc.go), and the
// workload ping over http1-json (ping.go).
//
// It keeps the contract of services/README.md and holds nothing that it does not
// ask for: no cache of bodies, no log line per request, no tuning. README.md has why.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
)

// grace is how long outstanding requests may take after SIGTERM; the contract
// allows 5 s in all.
const grace = 4 * time.Second

const (
	exitBroken        = 1
	exitConfiguration = 2
	exitPortInUse     = 3
)

// Configuration

// configuration says where to listen, and what to speak there.
type configuration struct {
	host     netip.Addr
	port     uint16
	protocol string
	peer     netip.AddrPort // not valid: the workload is pingpong
	tls      *tls.Config    // nil: cleartext
}

// readConfiguration reads the environment. The error is the line for stderr.
func readConfiguration() (configuration, error) {
	host, port := netip.AddrFrom4([4]byte{127, 0, 0, 1}), 8080
	var err error
	if text := os.Getenv("HOST"); text != "" {
		if host, err = netip.ParseAddr(text); err != nil {
			return configuration{}, refusal("HOST", text, "an IP address")
		}
	}
	if text := os.Getenv("PORT"); text != "" {
		if port, err = number(text); err != nil || port > 65535 {
			return configuration{}, refusal("PORT", text, "0 to 65535")
		}
	}
	workload := cmp.Or(os.Getenv("WORKLOAD"), "pingpong")
	protocols := []string{"http1-json", "http2-json", "grpc"}
	switch workload {
	case "pingpong":
	case "ping":
		protocols = protocols[:1]
	default:
		return configuration{}, refusal("WORKLOAD", workload, "`pingpong`, `ping`")
	}
	protocol := cmp.Or(os.Getenv("PROTOCOL"), "http1-json")
	if !slices.Contains(protocols, protocol) {
		return configuration{}, refusal("PROTOCOL", protocol, "`"+strings.Join(protocols, "`, `")+"`")
	}
	var peer netip.AddrPort
	if workload == "ping" {
		if peer, err = readPeer(); err != nil {
			return configuration{}, err
		}
	}
	// Both are the same: Go turns Nagle's algorithm off by itself.
	if text := os.Getenv("NAGLE"); text != "" && text != "off" && text != "default" {
		return configuration{}, refusal("NAGLE", text, "`off`, `default`")
	}
	secure, err := readTLS(workload)
	if err != nil {
		return configuration{}, err
	}
	if text := os.Getenv("DIRECT"); text != "" {
		return configuration{}, refusal("DIRECT", text, "nothing (not supported by this service)")
	}
	return configuration{host, uint16(port), protocol, peer, secure}, nil
}

// setting is an environment variable and its value.
type setting struct{ name, value string }

// readTLS reads the certificate and the key that the environment names; it is
// nil where the environment names none.
func readTLS(workload string) (*tls.Config, error) {
	files := [2]setting{{"TLS_CERT", os.Getenv("TLS_CERT")}, {"TLS_KEY", os.Getenv("TLS_KEY")}}
	if files[0].value == "" && files[1].value == "" {
		return nil, nil
	}
	if workload == "ping" {
		file := files[slices.IndexFunc(files[:], func(file setting) bool { return file.value != "" })]
		return nil, refusal(file.name, file.value, "nothing, since `WORKLOAD` is `ping`")
	}
	var texts [2][]byte
	for i, file := range files {
		if file.value == "" {
			return nil, refusal(file.name, "", "a PEM file, since `"+files[1-i].name+"` is set")
		}
		text, err := os.ReadFile(file.value)
		if err != nil {
			return nil, refusal(file.name, file.value, fmt.Sprintf("a PEM file (%v)", err))
		}
		if block, _ := pem.Decode(text); block == nil {
			return nil, refusal(file.name, file.value, "a PEM file (it has no PEM block)")
		}
		texts[i] = text
	}
	certificate, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return nil, refusal("TLS_KEY", files[1].value, fmt.Sprintf("the key of `TLS_CERT` (%v)", err))
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}}, nil
}

// refusal is the line that refuses a value.
func refusal(name, value, allowed string) error {
	return fmt.Errorf("`%s` is %q, allowed: %s", name, value, allowed)
}

// number reads a decimal number as the contract writes it: digits only, no
// leading zero.
func number(text string) (int, error) {
	if text != "0" && strings.HasPrefix(text, "0") {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseUint(text, 10, 63)
	return int(n), err
}

// Handlers

// version answers GET /version.
func version(w http.ResponseWriter, r *http.Request) {
	reply(w, http.StatusOK, "text/plain", []byte(versionText()))
}

// notFound answers every path that the contract does not name.
func notFound(w http.ResponseWriter, r *http.Request) {
	problem(w, http.StatusNotFound, "there is nothing at this path")
}

// methodNotAllowed answers every method but GET and HEAD on a known path.
func methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET, HEAD")
	problem(w, http.StatusMethodNotAllowed, "allowed here: GET and HEAD")
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

// Server

// router holds the paths of the contract: these, each with a size behind it, and
// the version. A pattern with GET answers HEAD too.
func router(sized map[string]http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	for path, handler := range sized {
		for _, size := range []string{"/{n}", "/{$}"} {
			mux.HandleFunc("GET "+path+size, handler)
			mux.HandleFunc(path+size, methodNotAllowed)
		}
		// Without this line /pong would be redirected to /pong/.
		mux.HandleFunc(path, notFound)
	}
	mux.HandleFunc("GET /version", version)
	mux.HandleFunc("/version", methodNotAllowed)
	mux.HandleFunc("/", notFound)
	return mux
}

// server is what net/http and grpc have in common.
type server struct {
	serve  func(net.Listener) error
	finish func() // takes nothing new, returns when nothing is outstanding
	cut    func() // ends what is outstanding
}

// overHTTP is the server for JSON: one version of HTTP each.
func overHTTP(c configuration) server {
	handlers := pongHandlers()
	if c.peer.IsValid() {
		handlers = pingHandlers(c.peer)
	}
	s := &http.Server{Handler: router(handlers), TLSConfig: c.tls, Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(c.protocol == "http1-json")
	s.Protocols.SetHTTP2(c.protocol == "http2-json" && c.tls != nil)
	s.Protocols.SetUnencryptedHTTP2(c.protocol == "http2-json" && c.tls == nil)
	serve := s.Serve
	if c.tls != nil {
		serve = func(listener net.Listener) error { return s.ServeTLS(listener, "", "") }
	}
	return server{serve, func() { s.Shutdown(context.Background()) }, func() { s.Close() }}
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

// Main

func main() {
	switch arguments := os.Args[1:]; {
	case len(arguments) == 0:
		run()
	case len(arguments) == 1 && arguments[0] == "--version":
		fmt.Println(versionText())
	default:
		fail(exitConfiguration, fmt.Errorf("argument %q, allowed: `--version` alone", arguments[0]))
	}
}

// run configures, listens, says so, serves.
func run() {
	c, err := readConfiguration()
	if err != nil {
		fail(exitConfiguration, err)
	}
	// SIGTERM is caught before ready is said: from then on it may come at any time.
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	// Plain "tcp" would take IPv6 connections on 0.0.0.0 too.
	network := "tcp4"
	if c.host.Is6() {
		network = "tcp6"
	}
	listener, err := net.Listen(network, netip.AddrPortFrom(c.host, c.port).String())
	if errors.Is(err, syscall.EADDRINUSE) {
		fail(exitPortInUse, fmt.Errorf("`PORT` %d on `HOST` %s is in use, choose another", c.port, c.host))
	}
	if err != nil {
		fail(exitConfiguration, fmt.Errorf("`PORT` %d on `HOST` %s cannot be used: %w", c.port, c.host, err))
	}
	fmt.Println("ready", listener.Addr().(*net.TCPAddr).Port)
	s := overHTTP(c)
	if c.protocol == "grpc" {
		s = overGRPC(c)
	}
	if err := serve(stop, s, listener); err != nil {
		fail(exitBroken, err)
	}
}

// versionText is what --version and /version answer: language, its version,
// each library, its version. net/http is part of the standard library.
func versionText() string {
	// An experiment of the toolchain is named behind a blank.
	release, _, _ := strings.Cut(strings.TrimPrefix(runtime.Version(), "go"), " ")
	return fmt.Sprintf("Go %s net/http %s grpc %s", release, release, grpc.Version)
}

// fail writes one line on stderr and ends the process.
func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(code)
}
