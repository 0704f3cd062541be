package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// mostRetries is how often a request is repeated whose connection ended before a
// byte of the reply came.
const mostRetries = 3

// Handlers

// pingRoutes are the paths of the workload ping, with one client for all.
func pingRoutes(configuration configuration) []route {
	c := client{newHTTPClient(newTransport()), configuration.peer}
	return []route{{"GET", "/ping/{n}", c.ping}, {"GET", "/mping/{n}", c.mping}}
}

// ping answers GET /ping/{n} with the body of the peer's reply.
func (c client) ping(w http.ResponseWriter, r *http.Request) {
	c.relay(w, r, func(a answer) {
		if a.code != http.StatusOK {
			problem(w, http.StatusBadGateway, fmt.Sprintf("the peer answered with status %d", a.code))
			return
		}
		reply(w, http.StatusOK, "text/plain", a.body)
	})
}

// mping answers GET /mping/{n} with how long the peer's reply took and what it was.
func (c client) mping(w http.ResponseWriter, r *http.Request) {
	c.relay(w, r, func(a answer) {
		// A struct of numbers can always be marshalled.
		body, _ := json.Marshal(struct {
			Duration int64 `json:"duration_ns"`
			Length   int   `json:"length"`
			Code     int   `json:"code"`
			Retries  int   `json:"retries"`
		}{a.duration.Nanoseconds(), len(a.body), a.code, a.retries})
		reply(w, http.StatusOK, "application/json", body)
	})
}

// relay asks the peer for the size that the request names, and hands its answer on.
func (c client) relay(w http.ResponseWriter, r *http.Request, answered func(answer)) {
	size, ok := sizeOf(w, r)
	if !ok {
		return
	}
	a, err := c.ask(size)
	if err != nil {
		problem(w, http.StatusBadGateway, fmt.Sprintf("the peer did not answer: %v", err))
		return
	}
	answered(a)
}

// Client

// client asks the peer.
type client struct {
	http *http.Client
	peer netip.AddrPort
}

// answer is a whole reply of the peer.
type answer struct {
	code     int
	body     []byte
	duration time.Duration
	retries  int
}

// newTransport has the connection policy of the contract.
func newTransport() *http.Transport {
	return &http.Transport{
		// The default keeps two, and closes the rest of what was in use at once.
		MaxIdleConnsPerHost: math.MaxInt,
		DisableCompression:  true,
	}
}

// newHTTPClient is net/http's client, which follows no redirect.
func newHTTPClient(transport *http.Transport) *http.Client {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: stay}
}

// ask asks the peer for that many bytes.
func (c client) ask(size int) (answer, error) {
	url := fmt.Sprintf("http://%s/pong/%d", c.peer, size)
	begin := time.Now()
	response, retries, err := send(func() (*http.Response, error) { return c.http.Get(url) })
	if err != nil {
		return answer{}, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	return answer{response.StatusCode, body, time.Since(begin), retries}, err
}

// send sends a request, repeats it where its connection ended without a reply,
// and tells how often.
func send(request func() (*http.Response, error)) (*http.Response, int, error) {
	for retries := 0; ; retries++ {
		response, err := request()
		if err == nil || retries == mostRetries || !ended(err) {
			return response, retries, err
		}
	}
}

// ended tells whether a connection ended before a byte of the reply came: later
// the end of the stream would be an unexpected one.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
