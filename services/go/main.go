// Command weigh-go is the Go service, with net/http, grpc-go and Thrift:
// configuration and life. server.go has the servers; each workload has its handlers in a file
// of its own, and its lines in the table below.
//
// It keeps the contract of services/README.md and holds nothing that it does not
// ask for: no cache of bodies, no log line per request, no tuning. README.md has why.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"google.golang.org/grpc"
)

const (
	exitBroken        = 1
	exitConfiguration = 2
	exitPortInUse     = 3
)

// offer is a workload over a protocol, and the server that answers it.
type offer struct {
	workload, protocol string
	server             func(configuration) server
}

// offers are all of them, the defaults first.
var offers = []offer{
	{"pingpong", "http1-json", overHTTP(pongRoutes)},
	{"pingpong", "http2-json", overHTTP(pongRoutes)},
	{"pingpong", "grpc", overGRPC(registerPong)},
	{"ping", "http1-json", overHTTP(pingRoutes)},
	{"person", "http1-json", overHTTP(personRoutes(plainForms, jsonCodec))},
	{"person", "http1-protobuf", overHTTP(personRoutes(protobufForms, protobufCodec))},
	{"person", "http1-avro", overHTTP(personRoutes(plainForms, avroCodec))},
	{"person", "http2-json", overHTTP(personRoutes(plainForms, jsonCodec))},
	{"person", "http2-protobuf", overHTTP(personRoutes(protobufForms, protobufCodec))},
	{"person", "http2-avro", overHTTP(personRoutes(plainForms, avroCodec))},
	{"person", "grpc", overGRPC(registerPeople)},
	{"person", "grpc-protobuf", overGRPC(registerPeople)}, // another name of the same
	{"person", "grpc-json", overGRPC(registerPlainPeople, inCodec(jsonCodec))},
	{"person", "grpc-avro", overGRPC(registerPlainPeople, inCodec(avroCodec))},
	{"person", "thrift-binary", overThrift(peopleProcessor, binaryProtocol)},
	{"person", "thrift-compact", overThrift(peopleProcessor, compactProtocol)},
	{"person-client", "http1-json", overHTTP(personClientRoutes)},
}

// relays are the workloads that ask PEER, in clear text only.
var relays = []string{"ping", "person-client"}

// readers are the workloads that read a people file in DATA.
var readers = []string{"person"}

// Configuration

// configuration says where to listen, and what to speak there.
type configuration struct {
	offer
	host         netip.Addr
	port         uint16
	peer         netip.AddrPort // not valid: the workload is no relay
	peerProtocol peerProtocol   // read by person-client
	tls          *tls.Config    // nil: cleartext
	people       *peopleFile    // nil: the workload reads none
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
	offer, err := readOffer()
	if err != nil {
		return configuration{}, err
	}
	var peer netip.AddrPort
	if slices.Contains(relays, offer.workload) {
		if peer, err = readPeer(); err != nil {
			return configuration{}, err
		}
	}
	var peerProtocol peerProtocol
	if offer.workload == "person-client" {
		if peerProtocol, err = readPeerProtocol(); err != nil {
			return configuration{}, err
		}
	}
	// Both are the same: Go turns Nagle's algorithm off by itself.
	if text := os.Getenv("NAGLE"); text != "" && text != "off" && text != "default" {
		return configuration{}, refusal("NAGLE", text, "`off`, `default`")
	}
	secure, err := readTLS(offer.workload)
	if err != nil {
		return configuration{}, err
	}
	if text := os.Getenv("DIRECT"); text != "" {
		return configuration{}, refusal("DIRECT", text, "nothing (not supported by this service)")
	}
	var people *peopleFile
	if slices.Contains(readers, offer.workload) {
		if people, err = readPeople(); err != nil {
			return configuration{}, err
		}
	}
	return configuration{offer, host, uint16(port), peer, peerProtocol, secure, people}, nil
}

// readOffer reads which workload is asked for, and over which protocol.
func readOffer() (offer, error) {
	workload := cmp.Or(os.Getenv("WORKLOAD"), offers[0].workload)
	protocol := cmp.Or(os.Getenv("PROTOCOL"), offers[0].protocol)
	var workloads, protocols []string
	for _, o := range offers {
		if !slices.Contains(workloads, o.workload) {
			workloads = append(workloads, o.workload)
		}
		if o.workload != workload {
			continue
		}
		if o.protocol == protocol {
			return o, nil
		}
		protocols = append(protocols, o.protocol)
	}
	if protocols == nil {
		return offer{}, refusal("WORKLOAD", workload, "`"+strings.Join(workloads, "`, `")+"`")
	}
	return offer{}, refusal("PROTOCOL", protocol, "`"+strings.Join(protocols, "`, `")+"`")
}

// readPeer reads the address of the service to which requests are passed on.
func readPeer() (netip.AddrPort, error) {
	text := os.Getenv("PEER")
	peer, err := netip.ParseAddrPort(text)
	if err != nil || peer.Port() == 0 {
		return peer, refusal("PEER", text, "an address and a port from 1 to 65535, such as `127.0.0.1:8080`")
	}
	return peer, nil
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
	if slices.Contains(relays, workload) {
		file := files[slices.IndexFunc(files[:], func(file setting) bool { return file.value != "" })]
		return nil, refusal(file.name, file.value, "nothing, since `WORKLOAD` is `"+workload+"`")
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
	s := c.server(c)
	if err := serve(stop, s, listener); err != nil {
		fail(exitBroken, err)
	}
}

// versionText is what --version and /version answer: language, its version,
// each library, its version. net/http is part of the standard library.
func versionText() string {
	// An experiment of the toolchain is named behind a blank.
	release, _, _ := strings.Cut(strings.TrimPrefix(runtime.Version(), "go"), " ")
	return fmt.Sprintf("Go %s net/http %s grpc %s thrift %s", release, release, grpc.Version, thriftVersion)
}

// thriftVersion is that of the module, which tells none itself.
var thriftVersion = versionOf("github.com/apache/thrift")

// versionOf is the version of a module in this program.
func versionOf(module string) string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range build.Deps {
			if dependency.Path == module {
				return strings.TrimPrefix(dependency.Version, "v")
			}
		}
	}
	return "unknown"
}

// fail writes one line on stderr and ends the process.
func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(code)
}
