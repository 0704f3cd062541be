package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"sync"

	"github.com/apache/thrift/lib/go/thrift"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"

	"weigh-go/personthrift"
	"weigh-go/personv1"
)

// The clients of the workload person-client: net/http, grpc-go and Thrift.

// HTTP

// rest is net/http's client, with a codec.
type rest struct {
	http  *http.Client
	peer  netip.AddrPort
	codec codec
}

// typedRest is the same with its messages.
type typedRest[P, PL, LL any] struct{ rest }

// oneByOne is HTTP/1.1, multiplexed HTTP/2 by prior knowledge.
func oneByOne(transport *http.Transport) {}

func multiplexed(transport *http.Transport) {
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetUnencryptedHTTP2(true)
}

// restCalls are the calls over a version of HTTP.
func restCalls[P, PL, LL any](c codec, version func(*http.Transport)) func(netip.AddrPort) calls[P, PL, LL] {
	return func(peer netip.AddrPort) calls[P, PL, LL] {
		transport := newTransport()
		version(transport)
		return typedRest[P, PL, LL]{rest{newHTTPClient(transport), peer, c}}
	}
}

func (c typedRest[P, PL, LL]) ListPersons(ctx context.Context) (*PL, error) {
	return ask[PL](ctx, c.rest, "GET", "/person", nil)
}

func (c typedRest[P, PL, LL]) GetPerson(ctx context.Context, id string) (*P, error) {
	return ask[P](ctx, c.rest, "GET", "/person/"+url.PathEscape(id), nil)
}

func (c typedRest[P, PL, LL]) GetPersonLinks(ctx context.Context, id string) (*LL, error) {
	return ask[LL](ctx, c.rest, "GET", "/person/"+url.PathEscape(id)+"/links", nil)
}

func (c typedRest[P, PL, LL]) CreatePerson(ctx context.Context, person *P) (*P, error) {
	body, err := c.codec.write(person)
	if err != nil {
		return nil, err
	}
	return ask[P](ctx, c.rest, "POST", "/person", body)
}

// ask sends a request, with a body where there is one, and reads the message of
// the reply.
func ask[M any](ctx context.Context, c rest, method, path string, body []byte) (*M, error) {
	response, _, err := send(func() (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, method, "http://"+c.peer.String()+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if body != nil {
			request.Header.Set("Content-Type", c.codec.mediaType)
		}
		return c.http.Do(request)
	})
	if err != nil {
		return nil, err
	}
	received, err := io.ReadAll(response.Body)
	response.Body.Close()
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusNotFound:
		return nil, errNotFound
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	message := new(M)
	return message, c.codec.read(received, message)
}

// gRPC

// newConnection is grpc-go's channel to the peer, which connects when it is needed.
func newConnection(peer netip.AddrPort, options ...grpc.CallOption) *grpc.ClientConn {
	connection, err := grpc.NewClient(peer.String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(options...))
	if err != nil {
		panic(err) // an address is always a target
	}
	return connection
}

// stub makes the calls with Protocol Buffers, as generated.
type stub struct{ personv1.PeopleClient }

func grpcCalls(peer netip.AddrPort) calls[personv1.Person, personv1.PersonList, personv1.PersonLinkList] {
	return stub{personv1.NewPeopleClient(newConnection(peer))}
}

func (s stub) ListPersons(ctx context.Context) (*personv1.PersonList, error) {
	return s.PeopleClient.ListPersons(ctx, &personv1.ListPersonsRequest{})
}

func (s stub) GetPerson(ctx context.Context, id string) (*personv1.Person, error) {
	return s.PeopleClient.GetPerson(ctx, &personv1.PersonId{Id: id})
}

func (s stub) GetPersonLinks(ctx context.Context, id string) (*personv1.PersonLinkList, error) {
	return s.PeopleClient.GetPersonLinks(ctx, &personv1.PersonId{Id: id})
}

func (s stub) CreatePerson(ctx context.Context, person *personv1.Person) (*personv1.Person, error) {
	return s.PeopleClient.CreatePerson(ctx, person)
}

// plainStub makes the calls with a codec that grpc-go does not bring.
type plainStub struct{ *grpc.ClientConn }

func plainGRPCCalls(c codec) func(netip.AddrPort) calls[person, personList, personLinkList] {
	return func(peer netip.AddrPort) calls[person, personList, personLinkList] {
		encoding.RegisterCodecV2(grpcCodec{c})
		return plainStub{newConnection(peer, grpc.CallContentSubtype(c.name))}
	}
}

func (s plainStub) ListPersons(ctx context.Context) (*personList, error) {
	return invoke[personList](ctx, s, "ListPersons", &listPersonsRequest{})
}

func (s plainStub) GetPerson(ctx context.Context, id string) (*person, error) {
	return invoke[person](ctx, s, "GetPerson", &personID{id})
}

func (s plainStub) GetPersonLinks(ctx context.Context, id string) (*personLinkList, error) {
	return invoke[personLinkList](ctx, s, "GetPersonLinks", &personID{id})
}

func (s plainStub) CreatePerson(ctx context.Context, created *person) (*person, error) {
	return invoke[person](ctx, s, "CreatePerson", created)
}

// invoke calls a method of the service.
func invoke[M any](ctx context.Context, s plainStub, method string, request any) (*M, error) {
	message := new(M)
	return message, s.Invoke(ctx, "/"+personv1.People_ServiceDesc.ServiceName+"/"+method, request, message)
}

// Thrift

// thriftClients are Thrift's clients, each of which carries one call at a time:
// those that were in use at once are kept.
type thriftClients struct {
	peer     netip.AddrPort
	protocol thrift.TProtocolFactory
	mutex    sync.Mutex
	idle     []thriftClient
}

// thriftClient is a generated client and its connection.
type thriftClient struct {
	*personthrift.PeopleClient
	transport thrift.TTransport
}

func thriftCalls(protocol thrift.TProtocolFactory) func(netip.AddrPort) calls[personthrift.Person, personthrift.PersonList, personthrift.PersonLinkList] {
	return func(peer netip.AddrPort) calls[personthrift.Person, personthrift.PersonList, personthrift.PersonLinkList] {
		return &thriftClients{peer: peer, protocol: protocol}
	}
}

func (t *thriftClients) ListPersons(ctx context.Context) (*personthrift.PersonList, error) {
	return callOf(t, func(c thriftClient) (*personthrift.PersonList, error) { return c.ListPersons(ctx) })
}

func (t *thriftClients) GetPerson(ctx context.Context, id string) (*personthrift.Person, error) {
	return callOf(t, func(c thriftClient) (*personthrift.Person, error) { return c.GetPerson(ctx, id) })
}

func (t *thriftClients) GetPersonLinks(ctx context.Context, id string) (*personthrift.PersonLinkList, error) {
	return callOf(t, func(c thriftClient) (*personthrift.PersonLinkList, error) { return c.GetPersonLinks(ctx, id) })
}

func (t *thriftClients) CreatePerson(ctx context.Context, person *personthrift.Person) (*personthrift.Person, error) {
	return callOf(t, func(c thriftClient) (*personthrift.Person, error) { return c.CreatePerson(ctx, person) })
}

// callOf makes a call, and repeats it where a kept connection ended without a reply.
func callOf[M any](t *thriftClients, call func(thriftClient) (*M, error)) (*M, error) {
	for retries := 0; ; retries++ {
		client, isKept, err := t.take()
		if err != nil {
			return nil, err
		}
		message, err := call(client)
		if err == nil || isNotFound(err) {
			t.keep(client)
			return message, err
		}
		client.transport.Close()
		if !isKept || retries == mostRetries || !ended(err) {
			return nil, err
		}
	}
}

// take gives a kept client, or connects a new one.
func (t *thriftClients) take() (client thriftClient, isKept bool, err error) {
	t.mutex.Lock()
	if last := len(t.idle) - 1; last >= 0 {
		client, t.idle = t.idle[last], t.idle[:last]
		isKept = true
	}
	t.mutex.Unlock()
	if isKept {
		return client, true, nil
	}
	socket := thrift.NewTSocketConf(t.peer.String(), thriftOptions)
	transport := thrift.NewTFramedTransportConf(thrift.NewTBufferedTransport(socket, 8192), thriftOptions)
	if err := transport.Open(); err != nil {
		return client, false, err
	}
	return thriftClient{personthrift.NewPeopleClientFactory(transport, t.protocol), transport}, false, nil
}

func (t *thriftClients) keep(client thriftClient) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.idle = append(t.idle, client)
}
