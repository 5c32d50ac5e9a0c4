package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
)

// The flood campaigns share this setup. The attacked host is in a process of its own, at one end of
// a memif, so that its memory can be measured. At the other end, in the campaign's process, is the
// flood link: a goroutine in the place of a switch, to which the legitimate client's host is
// connected by a loop port, and which sends the flood.

const (
	// floodBurst limits the attempts that are made up for after a delay.
	floodBurst = 256
	// connectLimit is the time in which the legitimate client must connect, without the time that
	// the processes did not have.
	connectLimit = 2 * time.Second
	// connectEvery is the interval between its connections.
	connectEvery = 100 * time.Millisecond
	// memoryLimit is the tolerated growth of the peak resident memory of the attacked host's
	// process.
	memoryLimit = 128 << 20
)

// Addresses on the link. Spoofed addresses differ in the second byte.
var (
	attacked4 = netip.MustParsePrefix("10.0.0.1/8")
	attacked6 = netip.MustParsePrefix("fd00::1/64")
)

// clientAddr returns the client's address, which differs in each round.
func clientAddr(round int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(1 + round/250%250),
		byte(1 + round%250)}), attacked4.Bits())
}

// attack is what a flood does. All functions run on the flood link's goroutine.
type attack struct {
	// init receives the MAC address and the TCP address of the attacked host.
	init func(mac packet.MAC, tcp netip.AddrPort) error
	// frame writes the i-th frame; nil if the flood does not consist of frames.
	frame func(i int, room []byte) (length int)
	// attempt makes the i-th attempt; nil if frame is set.
	attempt func(i int) error
	// release releases what the attempts hold; nil if they hold nothing.
	release func()
}

// connectFunc connects to the attacked host, sends a message and closes. It returns the number of
// tries.
type connectFunc func(ctx context.Context, h *goroce.Host, tcp netip.AddrPort) (tries int,
	err error)

// runFlood runs a flood campaign: a round is a legitimate connection.
func runFlood(r *run, a attack, connect connectFunc) error {
	stalls := startStallMonitor()
	url := "memif:" + filepath.Join(r.dir, "s")
	target, err := r.startPeer(url)
	if err != nil {
		return err
	}
	answer, err := target.call("open")
	if err != nil {
		return err
	}
	mac, text, _ := strings.Cut(answer, " ")
	hardware, err := net.ParseMAC(mac)
	if err != nil {
		return err
	}
	tcp, err := netip.ParseAddrPort(text)
	if err != nil {
		return err
	}
	if err := a.init(packet.MAC(hardware), tcp); err != nil {
		return err
	}
	link, err := openFloodLink(url+",client", a)
	if err != nil {
		return err
	}
	r.quiesce = link.pause
	f := floodRun{stalls: stalls, target: target, link: link, connect: connect, tcp: tcp}
	if f.before, err = f.measure(); err == nil {
		link.flood(true)
		err = r.forEachRound(f.round)
	}
	link.pause()
	after, lookErr := f.measure()
	err = errors.Join(err, lookErr, link.close())
	r.note = fmt.Sprintf("%d attempts, %s a second, %d reached the host; slowest connection %v "+
		"(including time that the processes did not have: %s), %d tries for %d, %d rounds not "+
		"judged by their time because others had the cores; the host's "+
		"resident memory %d MiB, at most %d MiB; %s",
		link.attempts, link.rate(), after.reached, f.slowestOwn.Round(time.Millisecond),
		f.slowestDetail, f.tries, r.rounds, f.untimed,
		f.before.resident>>20, after.peak>>20, r.note)
	switch {
	case err != nil:
		return err
	case after.peak > f.before.peak+memoryLimit:
		return fmt.Errorf("the attacked host's memory grew by more than %d MiB: %s",
			memoryLimit>>20, r.note)
	case after.reached < uint64(link.attempts)/2: // otherwise the test is void
		return fmt.Errorf("most of the flood did not reach the host: %s", r.note)
	}
	return nil
}

// floodRun is a flood in progress.
type floodRun struct {
	stalls  *stallMonitor
	target  *peer
	link    *floodLink
	connect connectFunc
	tcp     netip.AddrPort

	before targetUsage
	// longest connection without the time that the processes did not have
	slowestOwn    time.Duration
	slowestWall   time.Duration // longest connection including that time
	slowestDetail string        // description of the latter
	untimed       int           // rounds slower than connectLimit, in which others had the cores
	tries         int
}

// targetUsage is what the attacked host's process reports.
type targetUsage struct {
	stalled, used  time.Duration // stalls and CPU time of both processes
	machine        time.Duration // CPU time of all processes
	resident, peak uint64        // bytes in RAM: now, and peak
	reached        uint64        // packets and handshakes of the flood that reached the host
}

func (f *floodRun) measure() (v targetUsage, err error) {
	answer, err := f.target.call("usage")
	if err != nil {
		return v, err
	}
	_, err = fmt.Sscan(answer, (*int64)(&v.stalled), (*int64)(&v.used), &v.resident, &v.peak,
		&v.reached)
	v.stalled += f.stalls.total()
	v.used += cpuTime()
	v.machine = machineTime()
	return v, err
}

// round connects the client once. Time that the two processes did not have is subtracted, since a
// busy machine is not the host's failure: the time in which they were stopped, and the share of the
// cores that other processes had. Where both overlap, time is subtracted twice, which is lenient on
// a busy machine and has no effect on an idle one. Nothing is subtracted for a host that is slow
// because of the flood, since its own process has the cores then. The stalls of both processes are
// added up, since one may be stopped after the other. A round in which others had most of the cores
// has to connect within roundLimit only: a try succeeds if the client, the flood link and the host
// run in time one after the other, and how often they do is not in proportion to their share.
func (f *floodRun) round(i int) error {
	next := time.Now().Add(connectEvery)
	h, err := goroce.Open(f.link.client, goroce.Options{Addrs: []netip.Prefix{clientAddr(i)}})
	if err != nil {
		return err
	}
	start, err := f.measure()
	if err != nil {
		return errors.Join(err, h.Close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), roundLimit)
	defer cancel()
	began := time.Now()
	tries, err := f.connect(ctx, h, f.tcp)
	took := time.Since(began)
	f.tries += tries
	err = errors.Join(err, h.Close())
	end, lookErr := f.measure()
	if err = errors.Join(err, lookErr); err != nil {
		return err
	}
	stalled := end.stalled - start.stalled
	others := perCoreShare(end.machine - start.machine - (end.used - start.used))
	own := max(0, took-stalled-others)
	f.slowestOwn = max(f.slowestOwn, own)
	if took > f.slowestWall {
		f.slowestWall, f.slowestDetail = took, fmt.Sprintf("%v, of which %v stopped, %v others'",
			took.Round(time.Millisecond), stalled.Round(time.Millisecond),
			others.Round(time.Millisecond))
	}
	switch {
	case own <= connectLimit:
	case others > took/2:
		f.untimed++
	default:
		return fmt.Errorf("the client took %v to connect; the processes were stopped for "+
			"%v of it, and others had the cores for %v; %d tries",
			took, stalled, others, tries)
	}
	time.Sleep(time.Until(next))
	select {
	case <-f.link.ended:
		return errors.New("the flood has ended") // close returns the cause
	default:
		return nil
	}
}

// connectTCP is the legitimate client of a Listener.
func connectTCP(ctx context.Context, h *goroce.Host, tcp netip.AddrPort) (tries int, err error) {
	c, err := h.Dial(ctx, tcp.String()) // Dial retries by itself
	if err != nil {
		return 1, err
	}
	if err := c.Send(ctx, message(1)); err != nil {
		return 1, errors.Join(err, c.Abort())
	}
	return 1, c.Close() // returns when the message is acknowledged
}

// floodPeer is the attacked host: it accepts connections by TCP and by the CM, and receives their
// messages.
func floodPeer(in *orders, args []string) error {
	stalls := startStallMonitor()
	in.next()
	h, err := goroce.Open(args[0], goroce.Options{Addrs: []netip.Prefix{attacked4, attacked6}})
	if err != nil {
		return err
	}
	l, err := h.Listen("127.0.0.1:0")
	if err != nil {
		return errors.Join(err, h.Close())
	}
	var serving sync.WaitGroup
	serving.Go(func() { serveTCP(l) })
	cm, err := serveCM(h, &serving)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	in.reply(fmt.Sprint(packet.MAC(h.Info(0).MAC), " ", l.Addr()))
	for order, more := in.next(); more; order, more = in.next() {
		if order != "usage" {
			return fmt.Errorf("unexpected order %q", order)
		}
		resident, peak := residentMemory()
		reached, err := reachedBy(h, l)
		if err != nil {
			return err
		}
		in.reply(fmt.Sprint(int64(stalls.total()), " ", int64(cpuTime()), " ", resident, " ", peak,
			" ", reached))
	}
	err = errors.Join(l.Close(), cm.Close(), h.Close())
	serving.Wait()
	return err
}

// reachedBy returns the number of failed handshakes and of received CM datagrams, ARP requests and
// neighbour solicitations, some of which belong to legitimate connections.
func reachedBy(h *goroce.Host, l *goroce.Listener) (n uint64, err error) {
	err = h.Do(0, func(ep *transport.Endpoint) {
		c := ep.Setup().Neighbors().Counters()
		n = l.Counters().Failed + ep.Stats().ManagementReceived + c.ARPRequestsIn +
			c.SolicitationsIn
	})
	return n, err
}

// serveTCP receives from each client, one after another, until the client closes.
func serveTCP(l *goroce.Listener) {
	buf := make([]byte, goroce.MaxMessage)
	for {
		c, err := l.Accept(context.Background())
		if err != nil {
			return
		}
		for err == nil {
			_, err = c.Recv(context.Background(), buf)
		}
		_ = c.Close() // the client checks that its message arrived
	}
}

// residentMemory returns the current and the peak resident memory of this process.
func residentMemory() (now, peak uint64) {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		for name, to := range map[string]*uint64{"VmRSS:": &now, "VmHWM:": &peak} {
			if text, ok := strings.CutPrefix(lines.Text(), name); ok {
				fmt.Sscan(text, to)
				*to <<= 10
			}
		}
	}
	return now, peak
}

// floodLink forwards frames between the attacked host and the client's, and sends the flood.
type floodLink struct {
	attack attack
	client string // the URL of the client's port

	targetPort, clientPort *dpdk.Device // toward the attacked host, and toward the client
	orders                 chan linkOrder
	ended                  chan struct{}
	err                    error

	attempts int
	flooding time.Duration
}

// linkOrder starts or stops the flood, or ends the link.
type linkOrder struct {
	flood, end bool
	done       chan struct{}
}

func openFloodLink(url string, a attack) (*floodLink, error) {
	l := &floodLink{attack: a, client: "loop:client", orders: make(chan linkOrder),
		ended: make(chan struct{})}
	var err error
	if l.targetPort, err = dpdk.Open(url, dpdk.Options{}); err != nil {
		return nil, err
	}
	if l.clientPort, err = dpdk.Open(l.client, dpdk.Options{}); err == nil {
		err = awaitLink(l.targetPort, true)
	}
	if err != nil {
		return nil, err // the process exits
	}
	go l.run()
	return l, nil
}

func (l *floodLink) send(o linkOrder) {
	o.done = make(chan struct{})
	select {
	case l.orders <- o:
		<-o.done
	case <-l.ended:
	}
}

func (l *floodLink) flood(on bool) { l.send(linkOrder{flood: on}) }

// pause stops the flood until the function that it returns is called. By its return, frames that
// the client's last port left in the loop have arrived, and the pool that they belong to, which the
// next port to open frees, is released.
func (l *floodLink) pause() (resume func()) {
	const drained = 50 * time.Millisecond
	l.flood(false)
	time.Sleep(drained)
	if d, err := dpdk.Open("null:", dpdk.Options{}); err == nil {
		_ = d.Close()
	}
	return func() { l.flood(true) }
}

func (l *floodLink) close() error {
	l.send(linkOrder{end: true})
	<-l.ended
	return errors.Join(l.err, l.clientPort.Close(), l.targetPort.Close())
}

// rate returns the number of attempts per second.
func (l *floodLink) rate() string {
	return fmt.Sprintf("%.0f", float64(l.attempts)/max(l.flooding.Seconds(), 1e-9))
}

// run is the link's goroutine.
func (l *floodLink) run() {
	defer close(l.ended)
	unregister, err := dpdk.Register(dpdk.AnyCPU)
	if err != nil {
		l.err = err
		return
	}
	defer unregister()
	const nap = 50 * time.Microsecond
	far, near := l.targetPort.Queue(0), l.clientPort.Queue(0)
	var there, back forwarder
	on, last, due := false, time.Now(), 0.0
	for {
		select {
		case o := <-l.orders:
			if on && !o.flood && l.attack.release != nil {
				l.attack.release()
			}
			on, last, due = o.flood, time.Now(), 0
			close(o.done)
			if o.end {
				there.drop(near)
				back.drop(far)
				return
			}
		default:
		}
		busy := there.forward(near, far)
		busy = back.forward(far, near) || busy
		if on {
			now := time.Now()
			l.flooding += now.Sub(last)
			due = min(due+now.Sub(last).Seconds()*floodRate, floodBurst)
			last = now
			n, err := l.attempt(far, min(int(due), packet.Burst))
			if err != nil {
				l.err = err
				return
			}
			due -= float64(n)
		}
		if !busy {
			time.Sleep(nap)
		}
	}
}

// attempt makes up to n attempts and returns their number.
func (l *floodLink) attempt(q *dpdk.Queue, n int) (int, error) {
	if l.attack.attempt != nil {
		for range n {
			if err := l.attack.attempt(l.attempts); err != nil {
				return 0, err
			}
			l.attempts++
		}
		return n, nil
	}
	var bufs [packet.Burst]packet.Buf
	n = q.Alloc(bufs[:n])
	for i := range bufs[:n] {
		bufs[i].SetLen(l.attack.frame(l.attempts+i, bufs[i].Room()))
	}
	sent := q.Send(packet.ClassData, bufs[:n])
	q.Free(bufs[sent:n])
	l.attempts += sent
	return sent, nil
}

// forwarder forwards the frames of one direction. It drops none, since the campaigns do not test
// queue overflow by the flood.
type forwarder struct {
	bufs        [packet.Burst]packet.Buf
	next, count int
}

// forward moves frames from one port to another and reports whether there were any. It copies them,
// since a port may require its own buffers.
func (c *forwarder) forward(from, to *dpdk.Queue) (busy bool) {
	if c.next == c.count {
		c.next, c.count = 0, from.Recv(c.bufs[:])
	}
	var out [packet.Burst]packet.Buf
	waiting := c.bufs[c.next:c.count]
	n := to.Alloc(out[:len(waiting)])
	for i := range out[:n] {
		out[i].SetLen(copy(out[i].Room(), waiting[i].Data()))
	}
	sent := to.Send(packet.ClassData, out[:n])
	to.Free(out[sent:n])
	from.Free(waiting[:sent])
	c.next += sent
	return sent > 0
}

func (c *forwarder) drop(from *dpdk.Queue) { from.Free(c.bufs[c.next:c.count]) }
