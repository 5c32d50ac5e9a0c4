package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/goroce/goroce"
)

// Message is the type of requests and responses.
type Message = wrapperspb.BytesValue

// Echo is the service; it returns what it receives.
type Echo struct{}

const (
	service  = "goroce.examples.Echo"
	unary    = "/" + service + "/Unary"
	repeated = "/" + service + "/Repeat"
	bothWays = "/" + service + "/BothWays"
)

// description is what protoc would make of
//
//	service Echo {
//	  rpc Unary(BytesValue) returns (BytesValue);
//	  rpc Repeat(BytesValue) returns (stream BytesValue);
//	  rpc BothWays(stream BytesValue) returns (stream BytesValue);
//	}
var description = grpc.ServiceDesc{
	ServiceName: service,
	HandlerType: (*any)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Unary", Handler: handleUnary}},
	Streams: []grpc.StreamDesc{
		{StreamName: "Repeat", Handler: handleRepeat, ServerStreams: true},
		{StreamName: "BothWays", Handler: handleBothWays, ServerStreams: true,
			ClientStreams: true},
	},
}

// NewServer returns a server of Echo. Serve it on the listener of Host.ListenStream.
func NewServer(o ...grpc.ServerOption) *grpc.Server {
	s := grpc.NewServer(o...)
	s.RegisterService(&description, &Echo{})
	return s
}

// Unary returns the message. An empty one is an error.
func (*Echo) Unary(ctx context.Context, m *Message) (*Message, error) {
	if len(m.Value) == 0 {
		return nil, status.Error(codes.InvalidArgument, "empty message")
	}
	return m, ctx.Err()
}

func handleUnary(echo any, ctx context.Context, decode func(any) error,
	intercept grpc.UnaryServerInterceptor) (any, error) {
	m := new(Message)
	if err := decode(m); err != nil {
		return nil, err
	}
	call := func(ctx context.Context, m any) (any, error) {
		return echo.(*Echo).Unary(ctx, m.(*Message))
	}
	if intercept == nil {
		return call(ctx, m)
	}
	return intercept(ctx, m, &grpc.UnaryServerInfo{Server: echo, FullMethod: unary}, call)
}

// handleRepeat sends the message as many times as the value of its first byte.
func handleRepeat(_ any, s grpc.ServerStream) error {
	m := new(Message)
	if err := s.RecvMsg(m); err != nil {
		return err
	}
	if len(m.Value) == 0 {
		return status.Error(codes.InvalidArgument, "empty message")
	}
	for range m.Value[0] {
		if err := s.SendMsg(m); err != nil {
			return err
		}
	}
	return nil
}

// handleBothWays returns each message.
func handleBothWays(_ any, s grpc.ServerStream) error {
	for {
		m := new(Message)
		if err := s.RecvMsg(m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.SendMsg(m); err != nil {
			return err
		}
	}
}

// Client calls Echo.
type Client struct{ *grpc.ClientConn }

// Dial returns a client whose connections are streams of a host, to a server that listens at addr.
func Dial(host *goroce.Host, addr string) (Client, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return host.DialStream(ctx, addr)
		}))
	return Client{conn}, err
}

// Ready waits until the client has a connection: the server may start after it.
func (c Client) Ready(ctx context.Context) error {
	for {
		c.Connect()
		state := c.GetState()
		if state == connectivity.Ready {
			return nil
		}
		if !c.WaitForStateChange(ctx, state) {
			return fmt.Errorf("no connection to %s: %w", c.Target(), ctx.Err())
		}
	}
}

// Unary calls Echo.Unary.
func (c Client) Unary(ctx context.Context, value []byte) ([]byte, error) {
	response := new(Message)
	err := c.Invoke(ctx, unary, wrapperspb.Bytes(value), response)
	return response.Value, err
}

// Repeat calls each for every response.
func (c Client) Repeat(ctx context.Context, value []byte, each func(value []byte)) error {
	s, err := c.NewStream(ctx, &description.Streams[0], repeated)
	if err == nil {
		err = s.SendMsg(wrapperspb.Bytes(value))
	}
	if err == nil {
		err = s.CloseSend()
	}
	for err == nil {
		m := new(Message)
		if err = s.RecvMsg(m); err == nil {
			each(m.Value)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// BothWays opens a stream of messages in both directions.
func (c Client) BothWays(ctx context.Context) (grpc.ClientStream, error) {
	return c.NewStream(ctx, &description.Streams[1], bothWays)
}
