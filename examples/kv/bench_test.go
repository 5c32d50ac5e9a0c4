package kv

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// onCore is a goroce.Program that gets keys with several Batches. On the polling core a GET takes
// no other thread.
type onCore struct {
	batches          []*Batch
	keys             [][]byte
	flight, begun, n int
	ended            int
	failure          error
	each             func(tag int, value []byte, err error)
}

func (p *onCore) Step(*transport.Endpoint, units.Time) (busy, done bool) {
	for _, b := range p.batches {
		b.Poll(p.each)
		for p.begun < p.n && b.InFlight() < p.flight {
			if _, err := b.Get(p.keys[p.begun%len(p.keys)], p.begun); err != nil {
				p.failure = err
				return true, true
			}
			p.begun++
		}
	}
	return true, p.ended == p.n
}

// BenchmarkGetOnCore is BenchmarkGet by a program on the client's polling core. A connection has 16
// READs in flight at most, so further ones wait unless there are several connections.
func BenchmarkGetOnCore(b *testing.B) {
	host, _, addr := newServer(b, 10_000)
	var clients []*Client
	for range 8 {
		clients = append(clients, dial(b, host, addr))
	}
	keys := storeKeys(b, clients[0])
	for _, x := range []struct{ connections, flight int }{{1, 16}, {1, 64}, {4, 16}, {8, 16}} {
		b.Run(fmt.Sprintf("connections=%d/flight=%d", x.connections, x.flight),
			func(b *testing.B) {
				p := &onCore{keys: keys, flight: x.flight, n: b.N}
				p.each = func(_ int, _ []byte, err error) {
					if p.ended++; err != nil {
						p.failure = err
					}
				}
				for _, c := range clients[:x.connections] {
					batch, err := c.NewBatch()
					require.NoError(b, err)
					p.batches = append(p.batches, batch)
				}
				b.ReportAllocs()
				b.ResetTimer()
				done, err := host.Run(0, p)
				require.NoError(b, err)
				<-done
				require.NoError(b, p.failure)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "GET/s")
			})
	}
}

var _ goroce.Program = (*onCore)(nil)

func storeKeys(b *testing.B, c *Client) (keys [][]byte) {
	for i := range 1000 {
		keys = append(keys, fmt.Append(nil, "key ", i))
		require.NoError(b, c.Put(b.Context(), keys[i], keys[i]))
	}
	return keys
}

func BenchmarkGet(b *testing.B) {
	host, _, addr := newServer(b, 10_000)
	c := dial(b, host, addr)
	keys := storeKeys(b, c)
	for _, flight := range []int{1, 16, 64, Flight} {
		b.Run(fmt.Sprintf("flight=%d", flight), func(b *testing.B) {
			batch, err := c.NewBatch()
			require.NoError(b, err)
			b.ReportAllocs()
			ended := 0
			each := func(_ int, _ []byte, err error) {
				if ended++; err != nil {
					b.Error(err)
				}
			}
			for begun := 0; ended < b.N; {
				for begun < b.N && batch.InFlight() < flight {
					_, _ = batch.Get(keys[begun%len(keys)], begun)
					begun++
				}
				_ = batch.Wait(context.Background(), each)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "GET/s")
		})
	}
}
