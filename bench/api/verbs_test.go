package api

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// BenchmarkGoroutineRead compares a READ of 8 bytes by a goroutine, which waits for each, with one
// by a program on the polling core.
func BenchmarkGoroutineRead(b *testing.B) {
	for _, wait := range []struct {
		name string
		spin units.Duration
	}{{"spinning", spinning}, {"waiting", waiting}} {
		for _, a := range arrangements {
			b.Run(wait.name+"/"+a.name, func(b *testing.B) {
				benchmarkRead(b, goroce.Options{Spin: wait.spin, Cores: a.cores})
			})
		}
	}
}

func benchmarkRead(b *testing.B, o goroce.Options) {
	h := openLoop(b, o)
	client, server := h.dial(b)
	local, remote := memories(b, client, server, 8)
	program := newPoster(b, h, transport.OpRead, 8, 1, 1)
	ctx := context.Background()
	var took latencies
	const n = 1000
	for b.Loop() {
		took.timed(n, h.client.Now, func() {
			if err := client.Read(ctx, local.All(), remote); err != nil {
				b.Fatal(err)
			}
		})
		program.run(b, n)
	}
	goroutine, core := took.p50(), program.took.p50()
	report(b, map[string]float64{"goroutine-p50-µs": goroutine, "core-p50-µs": core,
		"ratio": goroutine / core, "difference-µs": goroutine - core})
}

// keepPosted executes n operations of one goroutine with flight in flight. Without a completion it
// polls, or waits for one.
func keepPosted(conn *goroce.Conn, r goroce.Request, n, flight int, polls bool) error {
	q, err := goroce.NewCompletions(flight)
	if err != nil {
		return err
	}
	var done [64]goroce.Completion
	for posted, ended := 0, 0; ended < n; {
		for posted < n && posted-ended < flight {
			if err := conn.Post(q, r); err != nil {
				return err
			}
			posted++
		}
		k := q.Poll(done[:])
		if k == 0 && polls {
			runtime.Gosched()
		} else if k == 0 {
			if done[0], err = q.Next(context.Background()); err != nil {
				return err
			}
			k = 1
		}
		for _, c := range done[:k] {
			if c.Err != nil {
				return c.Err
			}
		}
		ended += k
	}
	return nil
}

// BenchmarkGoroutineWrites compares WRITEs of 64 bytes by 16 goroutines, with 32 in flight each,
// with those of a program on the polling core, with 128 in flight.
func BenchmarkGoroutineWrites(b *testing.B) {
	for _, a := range arrangements {
		b.Run(a.name, func(b *testing.B) {
			h := openLoop(b, goroce.Options{Cores: a.cores})
			client, server := h.dial(b)
			local, remote := memories(b, client, server, 64)
			program := newPoster(b, h, transport.OpWrite, 64, 128, 64)
			request := goroce.Request{Op: transport.OpWrite, Local: local.All(), Remote: remote}
			const goroutines, each = 16, 5000
			var ours, core []float64
			for b.Loop() {
				ours = append(ours, rate(goroutines*each, func() {
					var all sync.WaitGroup
					for range goroutines {
						all.Go(func() {
							if err := keepPosted(client, request, each, 32, false); err != nil {
								b.Error(err)
							}
						})
					}
					all.Wait()
				}))
				core = append(core, rate(goroutines*each,
					func() { program.run(b, goroutines*each) }))
			}
			report(b, map[string]float64{"goroutines-M/s": median(ours) / 1e6,
				"core-M/s": median(core) / 1e6, "ratio": median(ours) / median(core)})
		})
	}
}

// BenchmarkKV measures READs of 128 bytes of one goroutine with 256 in flight: GETs of a store that
// is read by its clients.
func BenchmarkKV(b *testing.B) {
	for _, name := range []string{"polling", "waiting"} {
		for _, a := range arrangements {
			b.Run(name+"/"+a.name, func(b *testing.B) {
				benchmarkKV(b, goroce.Options{Cores: a.cores}, name == "polling")
			})
		}
	}
}

func benchmarkKV(b *testing.B, o goroce.Options, polls bool) {
	h := openLoop(b, o)
	client, server := h.dial(b)
	local, remote := memories(b, client, server, 128)
	program := newPoster(b, h, transport.OpRead, 128, 128, 1)
	request := goroce.Request{Op: transport.OpRead, Local: local.All(), Remote: remote}
	const n = 50_000
	var ours, core []float64
	for b.Loop() {
		ours = append(ours, rate(n, func() {
			require.NoError(b, keepPosted(client, request, n, 256, polls))
		}))
		core = append(core, rate(n, func() { program.run(b, n) }))
	}
	report(b, map[string]float64{"GET-M/s": median(ours) / 1e6,
		"core-M/s": median(core) / 1e6, "ratio": median(ours) / median(core)})
}

// BenchmarkGoroutineQueues compares WRITEs of 64 bytes over eight connections between hosts with
// two endpoints each and with one each.
func BenchmarkGoroutineQueues(b *testing.B) {
	var rates [3][]float64 // by number of queues
	for b.Loop() {
		for queues := 1; queues <= 2; queues++ {
			h := openPair(b, "loop:api", "", goroce.Options{Queues: queues})
			rates[queues] = append(rates[queues], eightConns(b, h))
			h.close(b)
		}
	}
	one, two := median(rates[1]), median(rates[2])
	report(b, map[string]float64{"one-M/s": one / 1e6, "two-M/s": two / 1e6, "ratio": two / one})
}

// eightConns returns the rate of WRITEs over eight connections, with a goroutine each.
func eightConns(b *testing.B, h hosts) float64 {
	const conns, each = 8, 10_000
	var clients [conns]*goroce.Conn
	var requests [conns]goroce.Request
	for i := range clients {
		client, server := h.dial(b)
		local, remote := memories(b, client, server, 64)
		clients[i] = client
		requests[i] = goroce.Request{Op: transport.OpWrite, Local: local.All(), Remote: remote}
	}
	return rate(conns*each, func() {
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				if err := keepPosted(clients[i], requests[i], each, 32, false); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	})
}
