package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/goroce/goroce"
)

func init() {
	register(campaign{
		name:   "dial-loop",
		about:  "two hosts on a loop open, connect, exchange messages and close",
		rounds: 500,
		full:   10000,
		run:    runDialLoop,
	})
	register(campaign{
		name:   "dial-memif",
		about:  "the same over a memif, whose ends close together",
		rounds: 500,
		full:   10000,
		run:    runDialMemif,
		peer:   dialMemifPeer,
	})
}

// roundLimit is the time limit of a round; the processes may be stopped for measurements.
const roundLimit = 4 * time.Minute

// messages is the number of messages per connection.
const messages = 10

func runDialLoop(r *run) error {
	return r.forEachRound(func(int) error {
		a, err := goroce.Open("loop:dial", goroce.Options{})
		if err != nil {
			return err
		}
		b, err := goroce.Open("loop:dial", goroce.Options{})
		if err != nil {
			return errors.Join(err, a.Close())
		}
		err = exchangeMessages(a, b)
		return errors.Join(err, a.Close(), b.Close())
	})
}

func exchangeMessages(a, b *goroce.Host) error {
	l, err := b.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	heard := make(chan error, 1)
	go func() { heard <- receiveMessages(l) }()
	err = sendMessages(a, l.Addr().String())
	return errors.Join(err, <-heard, l.Close())
}

// sendMessages connects, sends messages and closes.
func sendMessages(h *goroce.Host, addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), roundLimit)
	defer cancel()
	c, err := h.Dial(ctx, addr)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	for i := range messages {
		if err := c.Send(ctx, message(i)); err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
	return c.Close()
}

// receiveMessages accepts a connection and receives messages until the other end closes it.
func receiveMessages(l *goroce.Listener) error {
	ctx, cancel := context.WithTimeout(context.Background(), roundLimit)
	defer cancel()
	c, err := l.Accept(ctx)
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	buf := make([]byte, goroce.MaxMessage)
	for i := 0; ; i++ {
		n, err := c.Recv(ctx, buf)
		switch {
		case errors.Is(err, io.EOF) && i == messages:
			return c.Close()
		case err != nil:
			return fmt.Errorf("message %d: %w", i, err)
		case i == messages || !bytes.Equal(buf[:n], message(i)):
			return fmt.Errorf("message %d differs from what was sent", i)
		}
	}
}

func message(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 1000*i) }

func runDialMemif(r *run) error {
	url := "memif:" + filepath.Join(r.dir, "s")
	server, err := r.startPeer(url)
	if err != nil {
		return err
	}
	return r.forEachRound(func(int) error {
		addr, err := server.call("open")
		if err != nil {
			return err
		}
		h, err := goroce.Open(url+",client", goroce.Options{})
		if err != nil {
			return err
		}
		if err := awaitLink(h.Device(), true); err != nil {
			return errors.Join(err, h.Close())
		}
		err = sendMessages(h, addr)
		err = errors.Join(err, server.sendOrder("close"), h.Close())
		_, doneErr := server.awaitReply()
		return errors.Join(err, doneErr)
	})
}

func dialMemifPeer(in *orders, args []string) error {
	for {
		if _, more := in.next(); !more {
			return nil
		}
		h, err := goroce.Open(args[0], goroce.Options{})
		if err != nil {
			return err
		}
		l, err := h.Listen("127.0.0.1:0")
		if err != nil {
			return err
		}
		heard := make(chan error, 1)
		go func() { heard <- receiveMessages(l) }()
		in.reply(l.Addr().String())
		in.next()
		if err := errors.Join(<-heard, l.Close(), h.Close()); err != nil {
			return err
		}
		in.reply("closed")
	}
}
