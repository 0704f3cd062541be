package main

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"weigh-go/personv1"
)

// Protocol Buffers

// registerPeople offers the operations of the workload person as generated.
func registerPeople(server grpc.ServiceRegistrar, configuration configuration) {
	personv1.RegisterPeopleServer(server, protobufPeople{people: newPeople(configuration.people, protobufForms)})
}

// protobufPeople are the operations of services/person/person.proto.
type protobufPeople struct {
	personv1.UnimplementedPeopleServer
	people *people[personv1.Person, personv1.PersonLink, personv1.PersonList, personv1.PersonLinkList]
}

// ListPersons answers all persons.
func (p protobufPeople) ListPersons(context.Context, *personv1.ListPersonsRequest) (*personv1.PersonList, error) {
	return p.people.listPersons(), nil
}

// GetPerson answers the person with that id.
func (p protobufPeople) GetPerson(_ context.Context, request *personv1.PersonId) (*personv1.Person, error) {
	return known(p.people.getPerson(request.GetId()))
}

// GetPersonLinks answers the links with that id on either side.
func (p protobufPeople) GetPersonLinks(_ context.Context, request *personv1.PersonId) (*personv1.PersonLinkList, error) {
	return p.people.getPersonLinks(request.GetId()), nil
}

// CreatePerson answers the person that was sent.
func (p protobufPeople) CreatePerson(_ context.Context, person *personv1.Person) (*personv1.Person, error) {
	return person, nil
}

// StreamPersons answers all persons, one message each.
func (p protobufPeople) StreamPersons(_ *personv1.ListPersonsRequest, replies grpc.ServerStreamingServer[personv1.Person]) error {
	for _, person := range p.people.persons {
		if err := replies.Send(person); err != nil {
			return err
		}
	}
	return nil
}

// Version answers the text of GET /version.
func (p protobufPeople) Version(context.Context, *personv1.VersionRequest) (*personv1.VersionReply, error) {
	return &personv1.VersionReply{Text: versionText()}, nil
}

// known is the person that was found.
func known[P any](person *P, ok bool) (*P, error) {
	if !ok {
		return nil, status.Error(codes.NotFound, noSuchPerson)
	}
	return person, nil
}

// JSON and Avro

// registerPlainPeople offers the operations with a codec that grpc-go does not
// bring: the service is described by hand, as the generated code does it.
func registerPlainPeople(server grpc.ServiceRegistrar, configuration configuration) {
	people := newPeople(configuration.people, plainForms)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: personv1.People_ServiceDesc.ServiceName,
		Methods: []grpc.MethodDesc{
			unary("ListPersons", func(*listPersonsRequest) (*personList, error) { return people.listPersons(), nil }),
			unary("GetPerson", func(request *personID) (*person, error) { return known(people.getPerson(request.ID)) }),
			unary("GetPersonLinks", func(request *personID) (*personLinkList, error) {
				return people.getPersonLinks(request.ID), nil
			}),
			unary("CreatePerson", func(person *person) (*person, error) { return person, nil }),
			unary("Version", func(*versionRequest) (*versionReply, error) { return &versionReply{versionText()}, nil }),
		},
		Streams: []grpc.StreamDesc{{
			StreamName:    "StreamPersons",
			ServerStreams: true,
			Handler:       func(_ any, stream grpc.ServerStream) error { return streamPersons(people.persons, stream) },
		}},
	}, nil)
}

// unary describes an operation that takes one message and answers one.
func unary[Request, Reply any](name string, answer func(*Request) (*Reply, error)) grpc.MethodDesc {
	handler := func(_ any, _ context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		request := new(Request)
		if err := read(request); err != nil {
			return nil, err
		}
		return answer(request)
	}
	return grpc.MethodDesc{MethodName: name, Handler: handler}
}

// streamPersons answers all persons, one message each.
func streamPersons(persons []*person, stream grpc.ServerStream) error {
	if err := stream.RecvMsg(&listPersonsRequest{}); err != nil {
		return err
	}
	for _, person := range persons {
		if err := stream.SendMsg(person); err != nil {
			return err
		}
	}
	return nil
}

// grpcCodec is a codec as grpc-go takes it.
type grpcCodec struct{ codec }

// inCodec makes every message be of a codec, whatever subtype a call names: some
// clients name none.
func inCodec(c codec) grpc.ServerOption { return grpc.ForceServerCodecV2(grpcCodec{c}) }

// Name is the content-subtype.
func (c grpcCodec) Name() string { return c.name }

func (c grpcCodec) Marshal(message any) (mem.BufferSlice, error) {
	body, err := c.write(message)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(body)}, nil
}

func (c grpcCodec) Unmarshal(data mem.BufferSlice, message any) error {
	body := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer body.Free()
	return c.read(body.ReadOnlyData(), message)
}
