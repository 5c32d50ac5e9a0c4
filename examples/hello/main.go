// Hello sends a message from one RDMA host to another and prints the response. Both hosts run in
// this process on the two ends of a loop port; with memif:/tmp/m.sock and memif:/tmp/m.sock,client
// they could run in two processes.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/goroce/goroce"
)

func main() {
	ctx := context.Background()
	server, client := open("loop:"), open("loop:")
	defer server.Close()
	defer client.Close()

	l, err := server.Listen("127.0.0.1:0")
	check(err)
	go func() { // the server echoes every message
		conn, err := l.Accept(ctx)
		check(err)
		buf := make([]byte, goroce.MaxMessage)
		for n, err := conn.Recv(ctx, buf); err == nil; n, err = conn.Recv(ctx, buf) {
			check(conn.Send(ctx, append([]byte("you said: "), buf[:n]...)))
		}
	}()

	conn, err := client.Dial(ctx, l.Addr().String())
	check(err)
	check(conn.Send(ctx, []byte("hello over RoCEv2")))
	buf := make([]byte, 100)
	n, err := conn.Recv(ctx, buf)
	check(err)
	fmt.Println(string(buf[:n]))
	check(conn.Close())
}

func open(url string) *goroce.Host {
	h, err := goroce.Open(url, goroce.Options{})
	check(err)
	return h
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
