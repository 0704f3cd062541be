// Command weigh-go is the Go service: the workload pingpong over the protocol
// http1-json, with net/http.
//
// It keeps the contract of services/README.md and holds nothing that the
// contract does not ask for: no cache of bodies, no log line per request, no
// tuning. What was decided and why is in README.md.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Sizes of a body that the contract allows, in bytes.
const (
	smallestBody = 4
	largestBody  = 100_000_000
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

// configuration says where to listen; everything else that the environment
// may say has only one allowed value.
type configuration struct {
	host netip.Addr
	port uint16
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
	for _, v := range []struct{ name, only string }{{"WORKLOAD", "pingpong"}, {"PROTOCOL", "http1-json"}} {
		if text := os.Getenv(v.name); text != "" && text != v.only {
			return configuration{}, refusal(v.name, text, "`"+v.only+"`")
		}
	}
	for _, name := range []string{"TLS_CERT", "TLS_KEY", "DIRECT"} {
		if text := os.Getenv(name); text != "" {
			return configuration{}, refusal(name, text, "nothing (not supported by this service)")
		}
	}
	return configuration{host, uint16(port)}, nil
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

// pong answers GET /pong/{n}: p, n - 3 times o, ng. The body is made anew for
// each request.
func pong(w http.ResponseWriter, r *http.Request) {
	size, err := number(r.PathValue("n"))
	if err != nil || size < smallestBody || size > largestBody {
		text := fmt.Sprintf("the size must be a whole number from %d to %d", smallestBody, largestBody)
		problem(w, http.StatusBadRequest, text)
		return
	}
	body := bytes.Repeat([]byte("o"), size)
	body[0] = 'p'
	copy(body[size-2:], "ng")
	reply(w, http.StatusOK, "text/plain", body)
}

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

// router holds the paths of the contract. A pattern with GET answers HEAD too.
func router() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pong/{n}", pong)
	mux.HandleFunc("/pong/{n}", methodNotAllowed)
	mux.HandleFunc("GET /pong/{$}", pong)
	mux.HandleFunc("/pong/{$}", methodNotAllowed)
	mux.HandleFunc("GET /version", version)
	mux.HandleFunc("/version", methodNotAllowed)
	// Without this line /pong would be redirected to /pong/.
	mux.HandleFunc("/pong", notFound)
	mux.HandleFunc("/", notFound)
	return mux
}

// serve serves until the context ends, then until nothing is outstanding or
// the grace period is over.
func serve(stop context.Context, listener net.Listener) error {
	server := &http.Server{Handler: router()}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-stop.Done():
	}
	expiry, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := server.Shutdown(expiry); err != nil {
		return server.Close()
	}
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
	if err := serve(stop, listener); err != nil {
		fail(exitBroken, err)
	}
}

// versionText is what --version and /version answer: language, its version,
// library, its version. net/http is part of the standard library.
func versionText() string {
	// An experiment of the toolchain is named behind a blank.
	release, _, _ := strings.Cut(strings.TrimPrefix(runtime.Version(), "go"), " ")
	return fmt.Sprintf("Go %s net/http %s", release, release)
}

// fail writes one line on stderr and ends the process.
func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(code)
}
