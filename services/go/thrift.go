package main

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/apache/thrift/lib/go/thrift"
)

// Server

var (
	thriftOptions = &thrift.TConfiguration{
		TBinaryStrictRead:  new(true),
		TBinaryStrictWrite: new(true),
		MaxFrameSize:       thrift.DEFAULT_MAX_MESSAGE_SIZE,
	}
	binaryProtocol  = thrift.NewTBinaryProtocolFactoryConf(thriftOptions)
	compactProtocol = thrift.NewTCompactProtocolFactoryConf(thriftOptions)
)

// overThrift is Thrift's server for the operations of a workload: framed, over a
// buffer, so that a reply leaves in one write.
func overThrift(processor func(configuration) thrift.TProcessor, protocol thrift.TProtocolFactory) func(configuration) server {
	return func(c configuration) server {
		// It would report each client that breaks off.
		slog.SetDefault(slog.New(slog.DiscardHandler))
		a := &acceptor{open: map[*connection]struct{}{}}
		s := thrift.NewTSimpleServer4(framedProcessor{processor(c)}, a, framesFactory{}, protocol)
		s.SetLogContext(context.Background())
		serve := func(listener net.Listener) error {
			if c.tls != nil {
				listener = tls.NewListener(listener, c.tls)
			}
			a.start(listener)
			return s.AcceptLoop()
		}
		finish := func() {
			a.finish()
			s.Stop()
		}
		return server{serve, finish, a.cut}
	}
}

// Frames

// frames is Thrift's framed transport, but that a message ends with its frame:
// the library reads on in the next one, and a message cut short would wait for it.
type frames struct {
	*thrift.TFramedTransport
	isBegun bool // some of the message has been read
}

func (f *frames) Read(buffer []byte) (int, error) {
	if err := f.advance(); err != nil {
		return 0, err
	}
	return f.TFramedTransport.Read(buffer)
}

func (f *frames) ReadByte() (byte, error) {
	if err := f.advance(); err != nil {
		return 0, err
	}
	return f.TFramedTransport.ReadByte()
}

// advance refuses to read beyond the frame of the message.
func (f *frames) advance() error {
	if f.isBegun && f.RemainingBytes() == 0 {
		return thrift.NewTTransportException(thrift.END_OF_FILE, "the frame ends amid the message")
	}
	f.isBegun = true
	return nil
}

// framesFactory makes frames over a buffer, as Thrift's tutorial does.
type framesFactory struct{}

func (framesFactory) GetTransport(base thrift.TTransport) (thrift.TTransport, error) {
	buffered := thrift.NewTBufferedTransport(base, 8192)
	return &frames{TFramedTransport: thrift.NewTFramedTransportConf(buffered, thriftOptions)}, nil
}

// framedProcessor begins a message in frames with each call.
type framedProcessor struct{ thrift.TProcessor }

func (p framedProcessor) Process(ctx context.Context, in, out thrift.TProtocol) (bool, thrift.TException) {
	in.Transport().(*frames).isBegun = false
	return p.TProcessor.Process(ctx, in, out)
}

// Connections

// acceptor hands the connections of a listener to Thrift's server, and ends them:
// that server by itself waits until idle clients hang up.
type acceptor struct {
	mutex    sync.Mutex
	listener net.Listener
	open     map[*connection]struct{}
	isOver   bool
}

// start begins with the listener, unless the end came first.
func (a *acceptor) start(listener net.Listener) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.listener = listener
	if a.isOver {
		listener.Close()
	}
}

// Accept gives the next connection.
func (a *acceptor) Accept() (thrift.TTransport, error) {
	conn, err := a.listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, acceptor: a, isAnswered: true}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.isOver {
		conn.Close()
		return nil, net.ErrClosed
	}
	a.open[c] = struct{}{}
	return thrift.NewTSocketFromConnConf(c, thriftOptions), nil
}

// Listen does nothing: the listener is there.
func (a *acceptor) Listen() error { return nil }

// Close does nothing: finish has closed the listener.
func (a *acceptor) Close() error { return nil }

// Interrupt does nothing, as Close.
func (a *acceptor) Interrupt() error { return nil }

// finish closes the listener and each connection without a request at work, the
// others behind their reply.
func (a *acceptor) finish() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.isOver = true
	if a.listener != nil {
		a.listener.Close()
	}
	for c := range a.open {
		if c.state.Swap(over) == idle {
			c.Conn.Close()
		}
	}
}

// cut closes every connection.
func (a *acceptor) cut() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for c := range a.open {
		c.Conn.Close()
	}
}

// States of a connection.
const (
	busy int32 = iota // a request has begun to arrive
	idle              // waits for the next request
	over              // takes no further request
)

// connection knows whether a request has been begun with on it. One goroutine
// reads and writes.
type connection struct {
	net.Conn
	acceptor   *acceptor
	state      atomic.Int32
	isAnswered bool // nothing has arrived since the last reply
}

func (c *connection) Read(buffer []byte) (int, error) {
	if c.isAnswered && !c.state.CompareAndSwap(busy, idle) {
		return 0, io.EOF
	}
	n, err := c.Conn.Read(buffer)
	c.isAnswered = false
	c.state.CompareAndSwap(idle, busy)
	return n, err
}

func (c *connection) Write(buffer []byte) (int, error) {
	c.isAnswered = true
	return c.Conn.Write(buffer)
}

func (c *connection) Close() error {
	c.acceptor.mutex.Lock()
	delete(c.acceptor.open, c)
	c.acceptor.mutex.Unlock()
	return c.Conn.Close()
}
