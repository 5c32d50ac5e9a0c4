package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/transport"
)

// Flight is how many GETs of a Client may be in flight.
const Flight = 256

// Client is a connection to a Server. Its methods are safe for concurrent use.
type Client struct {
	conn          *goroce.Conn
	table, places goroce.Remote
	buckets       int

	buffers *goroce.Memory // a bucket for each GET in flight
	entries *goroce.Memory // a slot for each PUT in flight
	reads   chan int       // free buffers
	puts    chan int       // free places
	replies [requests]chan uint32
	ended   chan struct{} // closed when err is set
	err     error
}

// Dial connects to a Server on a host that listens at addr.
func Dial(ctx context.Context, host *goroce.Host, addr string) (*Client, error) {
	conn, err := host.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	c := &Client{conn: conn, reads: make(chan int, Flight), puts: make(chan int, requests),
		ended: make(chan struct{})}
	if err := c.begin(ctx); err != nil {
		return nil, errors.Join(err, conn.Abort())
	}
	go c.receive()
	return c, nil
}

func (c *Client) begin(ctx context.Context) (err error) {
	var welcome [welcomeSize + 1]byte
	n, err := c.conn.Recv(ctx, welcome[:])
	if err != nil {
		return err
	}
	if c.table, c.places, err = parseWelcome(welcome[:n]); err != nil {
		return err
	}
	c.buckets = int(c.table.Len / bucketSize)
	if c.buffers, err = c.conn.Register(make([]byte, Flight*bucketSize)); err != nil {
		return err
	}
	if c.entries, err = c.conn.Register(make([]byte, requests*slotSize)); err != nil {
		return err
	}
	for i := range Flight {
		c.reads <- i
	}
	for i := range requests {
		c.puts <- i
		c.replies[i] = make(chan uint32, 1)
	}
	return nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// receive hands the replies to the PUTs that wait for them.
func (c *Client) receive() {
	defer close(c.ended)
	for {
		m, err := c.conn.RecvMsg(context.Background(), nil)
		if err == nil && (!m.WithImm || m.Imm&0xffff >= requests) {
			err = fmt.Errorf("kv: reply with immediate data %#x", m.Imm)
			_ = c.conn.Abort()
		}
		if err != nil {
			c.err = err
			return
		}
		select {
		case c.replies[m.Imm&0xffff] <- m.Imm >> 16:
		default: // a reply that nobody waits for
		}
	}
}

// Put stores a value. If ctx ends before the reply has come, the PUT may have been executed.
func (c *Client) Put(ctx context.Context, key, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	var place int
	select {
	case place = <-c.puts:
	case <-c.ended:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
	local := c.entries.Slice(place*slotSize, slotSize)
	slot(local.Bytes()).set(key, value)
	if err := c.conn.WriteImm(ctx, local, c.places.Slice(place*slotSize, slotSize),
		uint32(place)); err != nil {
		if wasWithdrawn(err) {
			c.puts <- place
		} else {
			go c.reclaim(place)
		}
		return err
	}
	select {
	case status := <-c.replies[place]:
		c.puts <- place
		return outcome(status)
	case <-c.ended:
		return c.err
	case <-ctx.Done():
		go c.reclaim(place)
		return ctx.Err()
	}
}

// reclaim frees the place of a PUT whose caller is gone, when the reply has come.
func (c *Client) reclaim(place int) {
	select {
	case <-c.replies[place]:
		c.puts <- place
	case <-c.ended:
	}
}

// wasWithdrawn reports whether an operation that failed never began, so that its memory is free.
func wasWithdrawn(err error) bool {
	failure, is := errors.AsType[*goroce.OpError](err)
	return is && failure.Withdrawn
}

func outcome(status uint32) error {
	switch status {
	case stored:
		return nil
	case full:
		return ErrFull
	}
	return fmt.Errorf("kv: the server refused a PUT, status %d", status)
}

// maxRereads is how often a GET repeats a READ that saw half of a PUT.
const maxRereads = 1000

var errTorn = fmt.Errorf("kv: %d READs in a row saw half of a PUT", maxRereads)

// Get returns a copy of a key's value, or ErrNotFound.
func (c *Client) Get(ctx context.Context, key []byte) ([]byte, error) {
	if err := check(key, nil); err != nil {
		return nil, err
	}
	var buffer int
	select {
	case buffer = <-c.reads:
	case <-c.ended:
		return nil, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	local := c.buffers.Slice(buffer*bucketSize, bucketSize)
	at, rereads := bucketOf(key, c.buckets), 0
	for probe := 0; probe < min(maxProbes, c.buckets); {
		err := c.conn.Read(ctx, local, c.bucket(at+probe))
		if err != nil {
			if wasWithdrawn(err) {
				c.reads <- buffer
			} else {
				go c.reclaimRead(buffer)
			}
			return nil, err
		}
		switch value, where := find(local.Bytes(), key); where {
		case here:
			value = bytes.Clone(value)
			c.reads <- buffer
			return value, nil
		case elsewhere:
			probe++
		case nowhere:
			probe = maxProbes
		case torn:
			if rereads++; rereads > maxRereads {
				c.reads <- buffer
				return nil, errTorn
			}
			runtime.Gosched()
		}
	}
	c.reads <- buffer
	return nil, ErrNotFound
}

// reclaimRead frees the buffer of a READ whose caller is gone, when the READ has ended.
func (c *Client) reclaimRead(buffer int) {
	if c.conn.Flush(context.Background()) == nil {
		c.reads <- buffer
	}
}

func (c *Client) bucket(i int) goroce.Remote {
	return c.table.Slice(i%c.buckets*bucketSize, bucketSize)
}

// Batch gets many keys with up to Flight READs in flight. It belongs to one goroutine.
type Batch struct {
	c       *Client
	done    *goroce.Completions
	local   *goroce.Memory
	gets    [Flight]get
	free    []int
	results [Flight]goroce.Completion
}

// get is a GET in flight.
type get struct {
	key            []byte
	tag            int
	probe, rereads int
}

// NewBatch returns a Batch of the client's.
func (c *Client) NewBatch() (*Batch, error) {
	done, err := goroce.NewCompletions(Flight)
	if err != nil {
		return nil, err
	}
	b := &Batch{c: c, done: done}
	for i := range Flight {
		b.free = append(b.free, i)
	}
	b.local, err = c.conn.Register(make([]byte, Flight*bucketSize))
	return b, err
}

// Get begins to get a key, unless Flight others are in flight; then it returns false. The tag comes
// back with the value. The key must not change until then.
func (b *Batch) Get(key []byte, tag int) (begun bool, err error) {
	if err := check(key, nil); err != nil {
		return false, err
	}
	if len(b.free) == 0 {
		return false, nil
	}
	i := b.free[len(b.free)-1]
	b.gets[i] = get{key: key, tag: tag}
	if err := b.post(i); err != nil {
		return false, err
	}
	b.free = b.free[:len(b.free)-1]
	return true, nil
}

// post posts the READ of a GET's next bucket.
func (b *Batch) post(i int) error {
	g := &b.gets[i]
	return b.c.conn.Post(b.done, goroce.Request{Op: transport.OpRead, ID: uint64(i),
		Local:  b.local.Slice(i*bucketSize, bucketSize),
		Remote: b.c.bucket(bucketOf(g.key, b.c.buckets) + g.probe)})
}

// InFlight returns how many GETs have begun and not ended.
func (b *Batch) InFlight() int { return Flight - len(b.free) }

// Poll calls each for the GETs that have ended, with their tags, and does not wait. A value is
// valid until each returns.
func (b *Batch) Poll(each func(tag int, value []byte, err error)) {
	n := b.done.Poll(b.results[:])
	for i := range n {
		b.end(&b.results[i], each)
	}
}

// Wait is Poll after waiting for one of the GETs to end.
func (b *Batch) Wait(ctx context.Context, each func(tag int, value []byte, err error)) error {
	done, err := b.done.Next(ctx)
	if err != nil {
		return err
	}
	b.end(&done, each)
	b.Poll(each)
	return nil
}

// end handles the end of a READ.
func (b *Batch) end(done *goroce.Completion, each func(tag int, value []byte, err error)) {
	i := int(done.ID)
	g := &b.gets[i]
	value, err := []byte(nil), done.Err
	if err == nil {
		var where found
		value, where = find(b.local.Bytes()[i*bucketSize:][:bucketSize], g.key)
		switch where {
		case elsewhere:
			g.probe++
		case torn:
			g.rereads++
		}
		switch {
		case where == here:
		case where == nowhere || g.probe == min(maxProbes, b.c.buckets):
			err = ErrNotFound
		case g.rereads > maxRereads:
			err = errTorn
		default:
			if err = b.post(i); err == nil {
				return
			}
		}
	}
	each(g.tag, value, err)
	b.free = append(b.free, i)
}
