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

// What the flood campaigns have in common. The attacked host is in a process of its own, at one end
// of a memif, so that its memory is its own, too. At the other end, in the campaign's process, is a
// cable: a goroutine that stands for a switch, to which the legitimate client's host is connected
// by a loop, and from which the flood comes.

const (
	// floodRate is how many attempts a second a flood makes, if the machine can.
	floodRate = 10000
	// floodBurst is the most that are made up for at a time after a delay.
	floodBurst = 256
	// connectLimit is how long the legitimate client may take, less the time that the processes did
	// not have.
	connectLimit = 2 * time.Second
	// connectEvery is how often it connects.
	connectEvery = 100 * time.Millisecond
	// memoryLimit is by how much the flood may raise the highest resident memory of the attacked
	// host's process.
	memoryLimit = 128 << 20
)

// The addresses on the cable. Spoofed ones have other second bytes.
var (
	attacked4 = netip.MustParsePrefix("10.0.0.1/8")
	attacked6 = netip.MustParsePrefix("fd00::1/64")
)

// clientAddr is the client's in a round, another one in each.
func clientAddr(round int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(1 + round/250%250),
		byte(1 + round%250)}), attacked4.Bits())
}

// attack is what a flood does. All of it is called by the cable's goroutine.
type attack struct {
	// begin is told the MAC address and the TCP address of the attacked host.
	begin func(mac packet.MAC, tcp netip.AddrPort) error
	// frame writes the i-th frame; nil where the flood is not one of frames.
	frame func(i int, room []byte) (length int)
	// step makes the i-th attempt; nil where frames are all.
	step func(i int) error
	// calm gives back what the attempts hold; nil where they hold nothing.
	calm func()
}

// connectFunc connects to the attacked host, sends a message and closes. It returns how many tries
// that took.
type connectFunc func(ctx context.Context, h *goroce.Host, tcp netip.AddrPort) (tries int,
	err error)

// runFlood runs a campaign of floods: a round is a legitimate connection.
func runFlood(r *run, a attack, connect connectFunc) error {
	stalls := watchStalls()
	url := "memif:" + filepath.Join(r.dir, "s")
	target, err := r.startPeer(url)
	if err != nil {
		return err
	}
	answer, err := target.do("open")
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
	if err := a.begin(packet.MAC(hardware), tcp); err != nil {
		return err
	}
	w, err := openCable(url+",client", a)
	if err != nil {
		return err
	}
	r.still = w.calm
	f := flooded{stalls: stalls, target: target, cable: w, connect: connect, tcp: tcp}
	if f.before, err = f.look(); err == nil {
		w.flood(true)
		err = r.each(f.round)
	}
	w.calm()
	after, lookErr := f.look()
	err = errors.Join(err, lookErr, w.close())
	r.note = fmt.Sprintf("%d attempts, %s a second, %d reached the host; slowest connection %v "+
		"(with the time that the processes did not have %s), %d tries for %d; the host's "+
		"resident memory %d MiB, at most %d MiB; %s",
		w.attempts, w.rate(), after.reached, f.slowest.Round(time.Millisecond), f.without, f.tries,
		r.rounds, f.before.resident>>20, after.peak>>20, r.note)
	switch {
	case err != nil:
		return err
	case after.peak > f.before.peak+memoryLimit:
		return fmt.Errorf("the attacked host's memory has grown by more than %d MiB: %s",
			memoryLimit>>20, r.note)
	case after.reached < uint64(w.attempts)/2: // else it shows nothing
		return fmt.Errorf("most of the flood did not reach the host: %s", r.note)
	}
	return nil
}

// flooded is a flood at work.
type flooded struct {
	stalls  *stallWatch
	target  *peer
	cable   *cable
	connect connectFunc
	tcp     netip.AddrPort

	before  vitals
	slowest time.Duration // connection, less the time that the processes did not have
	longest time.Duration // with it
	without string        // the same in words
	tries   int
}

// vitals is what the attacked host's process says of itself.
type vitals struct {
	stalled, used  time.Duration // both processes' stalls and CPU time
	machine        time.Duration // CPU time of all processes
	resident, peak uint64        // bytes in RAM: now, and the most ever
	reached        uint64        // what of floods has come to the host
}

func (f *flooded) look() (v vitals, err error) {
	answer, err := f.target.do("look")
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

// round has the client connect. Time that the two processes did not have is subtracted, since a
// machine that has other things to do is not the host's failure: that in which they were stopped,
// and the share of the cores that other processes had. Where both are the same time it is
// subtracted twice, which is lenient on a busy machine, and nothing on an idle one. Nothing is
// subtracted for a host that is slow because of the flood: then its own process has the cores. The
// stalls of both processes are added up, since one may be stopped after the other.
func (f *flooded) round(i int) error {
	next := time.Now().Add(connectEvery)
	h, err := goroce.Open(f.cable.client, goroce.Options{Addrs: []netip.Prefix{clientAddr(i)}})
	if err != nil {
		return err
	}
	start, err := f.look()
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
	end, lookErr := f.look()
	if err = errors.Join(err, lookErr); err != nil {
		return err
	}
	stalled := end.stalled - start.stalled
	others := share(end.machine - start.machine - (end.used - start.used))
	own := max(0, took-stalled-others)
	f.slowest = max(f.slowest, own)
	if took > f.longest {
		f.longest, f.without = took, fmt.Sprintf("%v, of which %v stopped, %v others'",
			took.Round(time.Millisecond), stalled.Round(time.Millisecond),
			others.Round(time.Millisecond))
	}
	if own > connectLimit {
		return fmt.Errorf("the client took %v for a connection; the processes were stopped for "+
			"%v of it, and others had the cores for %v; %d tries",
			took, stalled, others, tries)
	}
	time.Sleep(time.Until(next))
	select {
	case <-f.cable.ended:
		return errors.New("the flood has ended") // close says why
	default:
		return nil
	}
}

// callByTCP is the legitimate client of a Listener.
func callByTCP(ctx context.Context, h *goroce.Host, tcp netip.AddrPort) (tries int, err error) {
	c, err := h.Dial(ctx, tcp.String()) // tries again itself
	if err != nil {
		return 1, err
	}
	if err := c.Send(ctx, message(1)); err != nil {
		return 1, errors.Join(err, c.Abort())
	}
	return 1, c.Close() // when the message is acknowledged
}

// floodPeer is the attacked host: it accepts connections by TCP and by the CM, and receives what
// they carry.
func floodPeer(in *orders, args []string) error {
	stalls := watchStalls()
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
	in.answer(fmt.Sprint(packet.MAC(h.Info(0).MAC), " ", l.Addr()))
	for order, more := in.next(); more; order, more = in.next() {
		if order != "look" {
			return fmt.Errorf("unexpected order %q", order)
		}
		resident, peak := residentMemory()
		reached, err := reachedBy(h, l)
		if err != nil {
			return err
		}
		in.answer(fmt.Sprint(int64(stalls.total()), " ", int64(cpuTime()), " ", resident, " ", peak,
			" ", reached))
	}
	err = errors.Join(l.Close(), cm.Close(), h.Close())
	serving.Wait()
	return err
}

// reachedBy returns how many handshakes, datagrams for the CM, ARP requests and solicitations have
// come that got no connection, and some that did.
func reachedBy(h *goroce.Host, l *goroce.Listener) (n uint64, err error) {
	err = h.Do(0, func(ep *transport.Endpoint) {
		c := ep.Neighbors().Counters()
		n = l.Counters().Failed + ep.Counters().ManagementReceived + c.ARPRequestsIn +
			c.SolicitationsIn
	})
	return n, err
}

// serveTCP receives from each client, one after another, until it closes.
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
		_ = c.Close() // the client says whether its message came
	}
}

// residentMemory returns what this process has in RAM, and the most that it has had.
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

// cable carries frames between the attacked host and the client's, and makes the flood.
type cable struct {
	attack attack
	client string // the URL of the client's port

	far, near *dpdk.Device // the attacked host's side, and the client's
	orders    chan cableOrder
	ended     chan struct{}
	err       error

	attempts int
	flooding time.Duration
}

// cableOrder begins or ends the flood, or all.
type cableOrder struct {
	flood, end bool
	done       chan struct{}
}

func openCable(url string, a attack) (*cable, error) {
	x := &cable{attack: a, client: "loop:client", orders: make(chan cableOrder),
		ended: make(chan struct{})}
	var err error
	if x.far, err = dpdk.Open(url, dpdk.Options{}); err != nil {
		return nil, err
	}
	if x.near, err = dpdk.Open(x.client, dpdk.Options{}); err == nil {
		err = awaitLink(x.far, true)
	}
	if err != nil {
		return nil, err // the process ends
	}
	go x.run()
	return x, nil
}

func (x *cable) tell(o cableOrder) {
	o.done = make(chan struct{})
	select {
	case x.orders <- o:
		<-o.done
	case <-x.ended:
	}
}

func (x *cable) flood(on bool) { x.tell(cableOrder{flood: on}) }

// calm ends the flood until the function that it returns is called. What the client's last port
// left in the loop has arrived by then, and the pool that it was of, which the next port to open
// frees, is gone.
func (x *cable) calm() (resume func()) {
	const drained = 50 * time.Millisecond
	x.flood(false)
	time.Sleep(drained)
	if d, err := dpdk.Open("null:", dpdk.Options{}); err == nil {
		_ = d.Close()
	}
	return func() { x.flood(true) }
}

func (x *cable) close() error {
	x.tell(cableOrder{end: true})
	<-x.ended
	return errors.Join(x.err, x.near.Close(), x.far.Close())
}

// rate says how many attempts there were, each second.
func (x *cable) rate() string {
	return fmt.Sprintf("%.0f", float64(x.attempts)/max(x.flooding.Seconds(), 1e-9))
}

// run is the cable's goroutine.
func (x *cable) run() {
	defer close(x.ended)
	unregister, err := dpdk.Register(dpdk.AnyCPU)
	if err != nil {
		x.err = err
		return
	}
	defer unregister()
	const nap = 50 * time.Microsecond
	far, near := x.far.Queue(0), x.near.Queue(0)
	var there, back carrier
	on, last, due := false, time.Now(), 0.0
	for {
		select {
		case o := <-x.orders:
			if on && !o.flood && x.attack.calm != nil {
				x.attack.calm()
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
		busy := there.carry(near, far)
		busy = back.carry(far, near) || busy
		if on {
			now := time.Now()
			x.flooding += now.Sub(last)
			due = min(due+now.Sub(last).Seconds()*floodRate, floodBurst)
			last = now
			n, err := x.attempt(far, min(int(due), packet.Burst))
			if err != nil {
				x.err = err
				return
			}
			due -= float64(n)
		}
		if !busy {
			time.Sleep(nap)
		}
	}
}

// attempt makes up to n attempts, and returns how many.
func (x *cable) attempt(q *dpdk.Queue, n int) (int, error) {
	if x.attack.step != nil {
		for range n {
			if err := x.attack.step(x.attempts); err != nil {
				return 0, err
			}
			x.attempts++
		}
		return n, nil
	}
	var bufs [packet.Burst]packet.Buf
	n = q.Alloc(bufs[:n])
	for i := range bufs[:n] {
		bufs[i].SetLen(x.attack.frame(x.attempts+i, bufs[i].Room()))
	}
	sent := q.Send(packet.ClassData, bufs[:n])
	q.Free(bufs[sent:n])
	x.attempts += sent
	return sent, nil
}

// carrier carries the frames of one direction. It loses none: a queue that is full of the flood is
// not what this is about.
type carrier struct {
	bufs       [packet.Burst]packet.Buf
	next, have int
}

// carry moves frames from one port to another, and reports whether there were any. It copies them,
// since a port may want memory of its own.
func (c *carrier) carry(from, to *dpdk.Queue) (busy bool) {
	if c.next == c.have {
		c.next, c.have = 0, from.Recv(c.bufs[:])
	}
	var out [packet.Burst]packet.Buf
	waiting := c.bufs[c.next:c.have]
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

func (c *carrier) drop(from *dpdk.Queue) { from.Free(c.bufs[c.next:c.have]) }
