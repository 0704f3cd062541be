package main

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weigh-go/pongv1"
)

//go:generate go run github.com/bufbuild/buf/cmd/buf@v1.75.0 generate

// largestCount is the longest stream that may be asked for, in messages.
const largestCount = 1_000_000

// Handlers

// registerPong offers the operations of the workload pingpong.
func registerPong(server grpc.ServiceRegistrar, _ configuration) {
	pongv1.RegisterPongServer(server, operations{})
}

// operations are those of services/proto/pong.proto.
type operations struct {
	pongv1.UnimplementedPongServer
}

// Pong answers one body.
func (operations) Pong(_ context.Context, request *pongv1.PongRequest) (*pongv1.PongReply, error) {
	return replyOf(request.GetSize())
}

// Stream answers as many bodies as the request says, each made when it is its turn.
func (operations) Stream(request *pongv1.PongStreamRequest, replies grpc.ServerStreamingServer[pongv1.PongReply]) error {
	if request.GetCount() > largestCount {
		return status.Errorf(codes.InvalidArgument, "the count must be at most %d", largestCount)
	}
	if !allowed(int(request.GetSize())) {
		return status.Error(codes.InvalidArgument, wrongSize)
	}
	for range request.GetCount() {
		reply, err := replyOf(request.GetSize())
		if err != nil {
			return err
		}
		if err := replies.Send(reply); err != nil {
			return err
		}
	}
	return nil
}

// Collect counts what the client sends.
func (operations) Collect(messages grpc.ClientStreamingServer[pongv1.PongReply, pongv1.PongSummary]) error {
	var summary pongv1.PongSummary
	for {
		message, err := messages.Recv()
		if err == io.EOF {
			return messages.SendAndClose(&summary)
		}
		if err != nil {
			return err
		}
		summary.Count++
		summary.Bytes += uint64(len(message.GetBody()))
	}
}

// Chat answers a body for each request, in order.
func (operations) Chat(requests grpc.BidiStreamingServer[pongv1.PongRequest, pongv1.PongReply]) error {
	for {
		request, err := requests.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		reply, err := replyOf(request.GetSize())
		if err != nil {
			return err
		}
		if err := requests.Send(reply); err != nil {
			return err
		}
	}
}

// Version answers the text of GET /version.
func (operations) Version(context.Context, *pongv1.VersionRequest) (*pongv1.VersionReply, error) {
	return &pongv1.VersionReply{Text: versionText()}, nil
}

// replyOf is a reply with a body of that many bytes, made anew.
func replyOf(size uint32) (*pongv1.PongReply, error) {
	if !allowed(int(size)) {
		return nil, status.Error(codes.InvalidArgument, wrongSize)
	}
	return &pongv1.PongReply{Body: bodyOf(int(size))}, nil
}
