// Client stores keys on a server, gets them, and measures GETs (docs/kv.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/examples/kv"
)

func main() {
	port := flag.String("d", "memif:/tmp/kv.sock,client", "URL of the port")
	addr := flag.String("a", "127.0.0.1:18516", "address of the server's handshake (TCP)")
	ip := flag.String("ip", "", "the host's address with its prefix length; default: link-local")
	keys := flag.Int("keys", 10_000, "number of keys")
	gets := flag.Int("n", 1_000_000, "number of GETs to measure")
	flight := flag.Int("flight", 64, "GETs in flight")
	wait := flag.Duration("wait", 10*time.Second, "how long to wait for the server")
	flag.Parse()
	if *keys < 1 || *gets < 1 || *flight < 1 || *flight > kv.Flight {
		fmt.Fprintf(os.Stderr, "client: -keys %d, -n %d, -flight %d: want 1 or more, and at most "+
			"%d in flight\n", *keys, *gets, *flight, kv.Flight)
		os.Exit(2)
	}
	if err := run(*port, *addr, *ip, *keys, *gets, *flight, *wait); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(port, addr, ip string, keys, gets, flight int, wait time.Duration) error {
	o := goroce.Options{}
	if ip != "" {
		prefix, err := netip.ParsePrefix(ip)
		if err != nil {
			return err
		}
		o.Addrs = []netip.Prefix{prefix}
	}
	host, err := goroce.Open(port, o)
	if err != nil {
		return err
	}
	defer host.Close()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	c, err := kv.Dial(ctx, host, addr)
	if err != nil {
		return err
	}
	names, err := fill(c, keys)
	if err == nil {
		err = measureOne(c, names)
	}
	if err == nil {
		err = measureMany(c, names, gets, flight)
	}
	return errors.Join(err, c.Close())
}

// fill stores the keys and compares what comes back.
func fill(c *kv.Client, keys int) (names [][]byte, err error) {
	ctx := context.Background()
	began := time.Now()
	for i := range keys {
		names = append(names, fmt.Appendf(nil, "key %d", i))
		if err := c.Put(ctx, names[i], fmt.Appendf(nil, "value %d", i)); err != nil {
			return nil, fmt.Errorf("put %q: %w", names[i], err)
		}
	}
	fmt.Printf("%d PUTs, one after another: %v each\n", keys,
		(time.Since(began) / time.Duration(keys)).Round(10*time.Nanosecond))
	for i, name := range names {
		value, err := c.Get(ctx, name)
		if want := fmt.Sprintf("value %d", i); err != nil || string(value) != want {
			return nil, fmt.Errorf("get %q: %q and error %w, want %q", name, value, err, want)
		}
	}
	if _, err := c.Get(ctx, []byte("no such key")); !errors.Is(err, kv.ErrNotFound) {
		return nil, fmt.Errorf("get a key that was not stored: error %w", err)
	}
	return names, nil
}

// measureOne measures GETs one after another.
func measureOne(c *kv.Client, names [][]byte) error {
	var took []time.Duration
	for i := range 20_000 {
		began := time.Now()
		if _, err := c.Get(context.Background(), names[i%len(names)]); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	fmt.Printf("GETs one after another: p50 %v, p99 %v\n", took[len(took)/2],
		took[len(took)*99/100])
	return nil
}

// measureMany measures GETs of which many are in flight.
func measureMany(c *kv.Client, names [][]byte, gets, flight int) error {
	b, err := c.NewBatch()
	if err != nil {
		return err
	}
	var failure error
	begun, ended := make([]time.Time, gets), 0
	took := make([]time.Duration, 0, gets)
	each := func(tag int, _ []byte, err error) {
		took = append(took, time.Since(begun[tag]))
		if ended++; err != nil {
			failure = err
		}
	}
	start := time.Now()
	for i := 0; ended < gets && failure == nil; {
		for i < gets && b.InFlight() < flight {
			begun[i] = time.Now()
			if _, err := b.Get(names[i%len(names)], i); err != nil {
				return err
			}
			i++
		}
		if err := b.Wait(context.Background(), each); err != nil {
			return err
		}
	}
	if failure != nil {
		return failure
	}
	rate := float64(gets) / time.Since(start).Seconds()
	slices.Sort(took)
	fmt.Printf("%d GETs, %d in flight: %.0f GET/s, p50 %v, p99 %v\n", gets, flight, rate,
		took[len(took)/2], took[len(took)*99/100])
	return nil
}
