package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/goroce/goroce/dpdk"
)

func init() {
	register(campaign{
		name:   "memif-close",
		about:  "both ends of a memif close at about the same time",
		rounds: 2000,
		full:   20000,
		run:    runMemifClose,
		peer:   memifClosePeer,
	})
}

// closeWithin is the maximum time between the closes of both ends.
const closeWithin = 400 * time.Microsecond

// runMemifClose alternates between server and client.
func runMemifClose(r *run) error {
	var ends [2]struct {
		ours  string
		other *peer
	}
	for i := range ends {
		url := "memif:" + filepath.Join(r.dir, fmt.Sprint("s", i))
		urls := []string{url, url + ",client"}
		other, err := r.startPeer(urls[1-i])
		if err != nil {
			return err
		}
		ends[i].ours, ends[i].other = urls[i], other
	}
	return r.forEachRound(func(i int) error {
		end := ends[i%2]
		if err := end.other.sendOrder("open"); err != nil {
			return err
		}
		d, err := dpdk.Open(end.ours, dpdk.Options{})
		if err != nil {
			return err
		}
		if _, err := end.other.awaitReply(); err != nil {
			return err
		}
		if err := awaitLink(d, true); err != nil {
			return err
		}
		if err := end.other.sendOrder("close"); err != nil {
			return err
		}
		after := rand.N(closeWithin)
		for began := time.Now(); time.Since(began) < after; {
		}
		if err := d.Close(); err != nil {
			return err
		}
		_, err = end.other.awaitReply()
		return err
	})
}

func memifClosePeer(in *orders, args []string) error {
	for {
		if _, more := in.next(); !more {
			return nil
		}
		d, err := dpdk.Open(args[0], dpdk.Options{})
		if err != nil {
			return err
		}
		in.reply("open")
		in.next()
		if err := d.Close(); err != nil {
			return err
		}
		in.reply("closed")
	}
}
