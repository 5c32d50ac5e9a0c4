package goroce

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Endpoints share the queues of a port that has fewer, and connections take them in turn: they
// need not be on the endpoint whose number the peer's endpoint has.
func TestConnsOfSeveralEndpoints(t *testing.T) {
	for _, endpoints := range [][2]int{{1, 3}, {2, 3}, {2, 2}} {
		t.Run(fmt.Sprint(endpoints), func(t *testing.T) {
			var hosts [2]*Host // the first one to open sets the number of the loop's queues
			for i := range hosts {
				h, err := Open("loop:"+t.Name(), Options{Queues: endpoints[i]})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, h.Close()) })
				require.Equal(t, endpoints[i], h.Endpoints())
				hosts[i] = h
			}
			var all sync.WaitGroup
			used := map[*worker]int{}
			for range 6 {
				client, server := dialed(t, hosts[1], hosts[0])
				used[client.w]++
				used[server.w]++
				all.Go(func() { pingPong(t, client, server) })
			}
			all.Wait()
			for _, h := range hosts {
				for i, w := range h.workers {
					assert.Equal(t, 6/len(h.workers), used[w], "connections of endpoint %d", i)
				}
			}
		})
	}
}

// pingPong sends messages that an end returns, and closes the connection.
func pingPong(t *testing.T, client, server *Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	go func() {
		buf := make([]byte, MaxMessage)
		for {
			n, err := server.Recv(ctx, buf)
			if err != nil || server.Send(ctx, buf[:n]) != nil {
				return
			}
		}
	}()
	buf := make([]byte, MaxMessage)
	for i := range 50 {
		size := i * i * 20
		if !assert.NoError(t, client.Send(ctx, make([]byte, size))) {
			return
		}
		n, err := client.Recv(ctx, buf)
		if !assert.NoError(t, err) || !assert.Equal(t, size, n) {
			return
		}
	}
	assert.NoError(t, client.Close())
}
