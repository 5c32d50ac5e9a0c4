package goroce_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/transport"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// open opens the two ends of a loop port. In two processes the ports could be memif:/run/x.sock and
// memif:/run/x.sock,client, or those of two machines.
func open(name string) (client, server *goroce.Host) {
	server, err := goroce.Open("loop:"+name, goroce.Options{})
	check(err)
	client, err = goroce.Open("loop:"+name, goroce.Options{})
	check(err)
	return client, server
}

// connect returns both ends of a connection.
func connect(ctx context.Context, client, server *goroce.Host) (c, s *goroce.Conn) {
	l, err := server.Listen("127.0.0.1:0")
	check(err)
	defer l.Close()
	accepted := make(chan *goroce.Conn)
	go func() {
		conn, err := l.Accept(ctx)
		check(err)
		accepted <- conn
	}()
	c, err = client.Dial(ctx, l.Addr().String())
	check(err)
	return c, <-accepted
}

// Messages arrive whole and in order, with 32 bits of immediate data if one likes.
func ExampleConn_SendMsg() {
	ctx := context.Background()
	client, server := open("messages")
	defer client.Close()
	defer server.Close()
	c, s := connect(ctx, client, server)

	check(c.SendMsg(ctx, []byte("hello"), 7))
	buf := make([]byte, goroce.MaxMessage)
	m, err := s.RecvMsg(ctx, buf)
	check(err)
	fmt.Printf("%s, immediate data %d\n", buf[:m.Len], m.Imm)
	check(c.Close())
	_, err = s.Recv(ctx, buf)
	fmt.Println(err == io.EOF)
	// Output:
	// hello, immediate data 7
	// true
}

// The server registers memory and sends its handle; the client reads and writes it, without the
// server's program.
func ExampleConn_Write() {
	ctx := context.Background()
	client, server := open("onesided")
	defer client.Close()
	defer server.Close()
	c, s := connect(ctx, client, server)

	table, err := s.Register(make([]byte, 4096), transport.RemoteRead, transport.RemoteWrite,
		transport.RemoteAtomic)
	check(err)
	handle, err := table.Remote().MarshalBinary()
	check(err)
	check(s.Send(ctx, handle))

	buf := make([]byte, 100)
	n, err := c.Recv(ctx, buf)
	check(err)
	var remote goroce.Remote
	check(remote.UnmarshalBinary(buf[:n]))
	local, err := c.Register(make([]byte, 64))
	check(err)
	copy(local.Bytes(), "written by the client")
	check(c.Write(ctx, local.All(), remote))
	fmt.Printf("%s\n", table.Bytes()[:21])

	counter := remote.Slice(1024, 8)
	for range 3 {
		_, err = c.FetchAdd(ctx, counter, 1)
		check(err)
	}
	before, err := c.CompareSwap(ctx, counter, 3, 100)
	check(err)
	fmt.Println(before)
	// Output:
	// written by the client
	// 3
}

// Many operations are in flight, and their completions come to a queue of the caller's.
func ExampleConn_Post() {
	ctx := context.Background()
	client, server := open("post")
	defer client.Close()
	defer server.Close()
	c, s := connect(ctx, client, server)
	theirs, err := s.Register(make([]byte, 64*8), transport.RemoteRead)
	check(err)
	mine, err := c.Register(make([]byte, 64*8))
	check(err)

	done, err := goroce.NewCompletions(16)
	check(err)
	var posted, completed int
	for completed < 64 {
		for posted < 64 && done.Pending() < 16 {
			check(c.Post(done, goroce.Request{Op: transport.OpRead, ID: uint64(posted),
				Local:  mine.Slice(posted*8, 8),
				Remote: theirs.Remote().Slice(posted*8, 8)}))
			posted++
		}
		completion, err := done.Next(ctx)
		check(err)
		check(completion.Err)
		completed++
	}
	fmt.Println(completed, "READs")
	// Output: 64 READs
}

// Errors are typed: what was asked, of whom, and why it failed.
func ExampleOpError() {
	ctx := context.Background()
	client, server := open("errors")
	defer client.Close()
	defer server.Close()
	c, s := connect(ctx, client, server)
	theirs, err := s.Register(make([]byte, 64), transport.RemoteRead)
	check(err)
	mine, err := c.Register(make([]byte, 64))
	check(err)

	err = c.Write(ctx, mine.All(), theirs.Remote()) // the peer permits READs alone
	var failure *goroce.OpError
	if errors.As(err, &failure) {
		fmt.Println(failure.Op, failure.Status, failure.State)
	}
	fmt.Println(errors.Is(err, transport.StatusRemAccessErr))
	// Output:
	// RDMA_WRITE remote access error ERR
	// true
}

// A stream is a net.Conn: what runs over TCP runs over it.
func ExampleHost_DialStream() {
	client, server := open("streams")
	defer client.Close()
	defer server.Close()
	l, err := server.ListenStream("127.0.0.1:0")
	check(err)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s over RDMA", r.URL.Path[1:])
	}))

	web := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return client.DialStream(ctx, addr)
		}}}
	response, err := web.Get("http://" + l.Addr().String() + "/HTTP")
	check(err)
	body, err := io.ReadAll(response.Body)
	check(err)
	fmt.Println(string(body))
	// Output: HTTP over RDMA
}
