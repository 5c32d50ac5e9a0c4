package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

func init() {
	register(campaign{
		name:   "flood-cm",
		about:  "clients connect by the CM during a flood of requests from spoofed addresses",
		rounds: 120,
		full:   700,
		run: func(r *run) error {
			f := new(spoofedREQs)
			return runFlood(r, attack{init: f.begin, frame: f.frame}, connectCM)
		},
		peer: floodPeer,
	})
}

// cmPort is the port on which the attacked host listens.
const cmPort = 7174

// spoofedREQs sends REQs, each from another source.
type spoofedREQs struct{ mac packet.MAC }

func (f *spoofedREQs) begin(mac packet.MAC, _ netip.AddrPort) error {
	f.mac = mac
	return nil
}

func (f *spoofedREQs) frame(i int, room []byte) int {
	mac, ip := spoofed(i)
	r := rdmacm.REQ{LocalID: rdmacm.CommID(i + 1), Service: rdmacm.TCPService(cmPort),
		LocalQPN: wire.QPN(2 + i&0xffff), MTU: 3, PKey: 0xffff,
		LocalResponseTimeout: 31, MaxCMRetries: 15, Primary: rdmacm.Path{LocalGID: ip,
			RemoteGID: attacked4.Addr(), LocalACKTimeout: 31}}
	rdmacm.IPHeader{Source: ip, Destination: attacked4.Addr()}.Put(r.Private[:])
	return management(room, mac, f.mac, ip, &r)
}

// spoofed returns the i-th of some 13 million source addresses, none of which is the client's.
func spoofed(i int) (packet.MAC, netip.Addr) {
	n := i % (200 << 16)
	ip := [4]byte{10, byte(1 + n>>16), byte(n >> 8), byte(n)}
	if ip[3] == 0 || ip[3] == 255 {
		ip[3] = 7
	}
	return packet.MAC{2, 0x66, ip[0], ip[1], ip[2], ip[3]}, netip.AddrFrom4(ip)
}

// management writes the frame of a message to queue pair 1 of the attacked host and returns its
// length.
func management(room []byte, from, to packet.MAC, ip netip.Addr, m rdmacm.Message) int {
	var t wire.Template
	if err := t.Set(wire.Address{SrcMAC: from, DstMAC: to, Src: ip, Dst: attacked4.Addr(),
		SrcPort: 0xc000, DestQP: rdmacm.QPN}); err != nil {
		panic(err) // the addresses are constants of this program
	}
	ext, total := t.Build(room, wire.Fields{Op: wire.UDSendOnly}, rdmacm.MADLen)
	wire.View[wire.DETH](room[ext:]).Set(rdmacm.QKey, rdmacm.QPN)
	copy(room[ext+wire.DETHLen:], rdmacm.Append(nil, 1, m))
	t.Seal(room[:total])
	return total
}

// cmEndpoint creates queue pairs that can receive a message.
type cmEndpoint struct {
	host *goroce.Host
	pd   *transport.ProtectionDomain
	cq   *transport.CompletionQueue
	mr   *transport.MemoryRegion

	completed chan transport.WorkCompletion
}

// cmDepth is the maximum number of pending completions.
const cmDepth = 64

func newCMEndpoint(h *goroce.Host) (*cmEndpoint, error) {
	e := &cmEndpoint{host: h, completed: make(chan transport.WorkCompletion, cmDepth)}
	return e, e.do(func(ep *transport.Endpoint) (err error) {
		e.pd = ep.AllocPD()
		if e.cq, err = ep.CreateCQ(cmDepth); err != nil {
			return err
		}
		e.cq.OnEvent(e.complete)
		e.cq.RequestNotify(false)
		e.mr, err = ep.RegisterMemory(e.pd, make([]byte, 1000), transport.LocalWrite)
		return err
	})
}

func (e *cmEndpoint) complete(cq *transport.CompletionQueue) {
	var wcs [8]transport.WorkCompletion
	for n := cq.Poll(wcs[:]); n > 0; n = cq.Poll(wcs[:]) {
		for _, wc := range wcs[:n] {
			select {
			case e.completed <- wc:
			default: // completions of receives are not needed
			}
		}
	}
	cq.RequestNotify(false)
}

func (e *cmEndpoint) do(f func(*transport.Endpoint) error) error {
	var failure error
	err := e.host.Do(0, func(ep *transport.Endpoint) { failure = f(ep) })
	return errors.Join(err, failure)
}

// params creates a queue pair, with a posted receive if receives is set.
func (e *cmEndpoint) params(receives bool) (goroce.CMParams, error) {
	p := goroce.CMParams{MinRNRTimer: 12, RetryCount: 7, RNRRetry: 7}
	return p, e.do(func(ep *transport.Endpoint) (err error) {
		p.QP, err = ep.CreateQP(transport.QPInit{Type: transport.RC, PD: e.pd, SendCQ: e.cq,
			RecvCQ: e.cq, MaxSendWR: 1, MaxRecvWR: 1, SignalAll: true})
		if err == nil {
			err = p.QP.Modify(transport.Init, transport.QPAttr{})
		}
		if err == nil && receives {
			err = p.QP.PostRecv(&transport.RecvRequest{SGList: []transport.SGE{e.mr.SGE(0,
				len(e.mr.Bytes()))}})
		}
		return err
	})
}

func (e *cmEndpoint) destroy(qp *transport.QueuePair) error {
	return e.do(func(*transport.Endpoint) error { qp.Destroy(); return nil })
}

// connectCM is the legitimate client. It retries when its request was displaced by others, which it
// must expect.
func connectCM(ctx context.Context, h *goroce.Host, _ netip.AddrPort) (tries int, err error) {
	e, err := newCMEndpoint(h)
	if err != nil {
		return 0, err
	}
	for tries = 1; ; tries++ {
		err := e.sendMessage(ctx)
		if err == nil || ctx.Err() != nil || !errors.Is(err, errDisplaced) {
			return tries, err
		}
	}
}

// errDisplaced is returned when the host gave up a connection for newer ones.
var errDisplaced = errors.New("displaced")

// sendMessage connects, sends a message and disconnects.
func (e *cmEndpoint) sendMessage(ctx context.Context) (err error) {
	p, err := e.params(false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.destroy(p.QP)) }()
	c, err := e.host.DialCM(ctx, netip.AddrPortFrom(attacked4.Addr(), cmPort), p)
	if err != nil {
		return displaced(err)
	}
	if err := e.do(func(*transport.Endpoint) error {
		return p.QP.PostSend(&transport.WorkRequest{Op: transport.OpSend,
			SGList: []transport.SGE{e.mr.SGE(0, len(e.mr.Bytes()))}})
	}); err != nil {
		if ended := c.Err(); ended != nil {
			err = ended
		}
		return displaced(err)
	}
	select {
	case wc := <-e.completed:
		if wc.Status == transport.StatusSuccess {
			return c.Disconnect(ctx)
		}
		err = fmt.Errorf("send: %v", wc.Status)
	case <-ctx.Done():
		return errors.Join(ctx.Err(), c.Disconnect(ctx))
	}
	select {
	case <-c.Done():
		err = displaced(c.Err())
	case <-ctx.Done():
	}
	return err
}

// displaced returns errDisplaced for a rejection without resources, and err otherwise.
func displaced(err error) error {
	var rejected *goroce.CMReject
	if errors.As(err, &rejected) && rejected.Reason == rdmacm.NoResources {
		return errDisplaced
	}
	return err
}

// cmServers is the number of requests served concurrently: more than may be half open, so that
// spoofed requests do not block the others.
const cmServers = 640

// serveCM accepts all requests until the listener is closed.
func serveCM(h *goroce.Host, serving *sync.WaitGroup) (*goroce.CMListener, error) {
	l, err := h.ListenCM(cmPort)
	if err != nil {
		return nil, err
	}
	for range cmServers {
		e, err := newCMEndpoint(h)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		serving.Go(func() {
			for e.serve(l) == nil {
			}
		})
	}
	return l, nil
}

// serve serves one request until its peer disconnects. It returns an error when the listener is
// closed.
func (e *cmEndpoint) serve(l *goroce.CMListener) error {
	r, err := l.Accept(context.Background())
	if err != nil {
		return err
	}
	p, err := e.params(true)
	if err != nil {
		return err
	}
	if c, err := r.Accept(context.Background(), p); err == nil {
		<-c.Done()
	}
	return e.destroy(p.QP)
}
