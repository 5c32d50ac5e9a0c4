package differ

import (
	"fmt"
	"hash/fnv"
	"net/netip"

	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Ours is goroce as a responder: an endpoint on a port in memory, in virtual time. Each case has a
// new endpoint.
type Ours struct {
	now      units.Time
	ep       *transport.Endpoint
	far      *packet.PipeEnd // the requester's end
	neighbor *neigh.Table    // responds for the requester's addresses
	qp       *transport.QueuePair
	cq       *transport.CompletionQueue
	memory   [regions][]byte
	to       target
}

// buffers suffice for all packets sent together and the responses to them.
const buffers = 256

// depth exceeds the number of receives of any case.
const depth = 64

// Open implements Responder.
func (o *Ours) Open(c *Case) error {
	near, far := packet.Pipe(packet.PipeOptions{Buffers: buffers})
	o.far = far
	var err error
	o.neighbor, err = neigh.New(
		neigh.Config{
			MAC: requesterMAC,
			Addrs: []netip.Prefix{
				netip.PrefixFrom(requester[false], 24),
				netip.PrefixFrom(requester[true], 64),
			},
		},
	)
	if err != nil {
		return err
	}
	o.ep, err = transport.New(
		transport.Config{Port: near, MAC: responderMAC, Seed: c.Seed, Repeatable: true,
			Addrs: []netip.Prefix{
				netip.PrefixFrom(responder[false], 24),
				netip.PrefixFrom(responder[true], 64),
			}},
		o.now,
	)
	if err != nil {
		return err
	}
	pd, other := o.ep.AllocPD(), o.ep.AllocPD()
	for r := range regions {
		o.memory[r] = make([]byte, regionSize)
		fill(r, o.memory[r])
		domain := pd
		if r == regionOther {
			domain = other
		}
		mr, err := o.ep.RegisterMemory(domain, o.memory[r], regionAccess[r])
		if err != nil {
			return err
		}
		o.to.regions[r].addr, o.to.regions[r].key = mr.Addr, mr.RKey
	}
	return o.connect(c, pd)
}

// connect connects the queue pair.
func (o *Ours) connect(c *Case, pd *transport.ProtectionDomain) error {
	var err error
	if o.cq, err = o.ep.CreateCQ(4 * depth); err != nil {
		return err
	}
	o.qp, err = o.ep.CreateQP(
		transport.QPInit{
			Type:      c.Type,
			PD:        pd,
			SendCQ:    o.cq,
			RecvCQ:    o.cq,
			MaxSendWR: 1,
			MaxRecvWR: depth,
		},
	)
	if err != nil {
		return err
	}
	o.to.qpn = o.qp.Num
	init := transport.QPAttr{Access: c.Access, QKey: c.QKey}
	if err := o.qp.Modify(transport.Init, init); err != nil {
		return err
	}
	local := o.to.regions[regionLocal]
	for i := range c.Recvs {
		sge := transport.SGE{
			Addr:   local.addr + uint64(i*c.RecvLen),
			Length: uint32(c.RecvLen),
			LKey:   local.key,
		}
		request := transport.RecvRequest{ID: uint64(i), SGList: []transport.SGE{sge}}
		if err := o.qp.PostRecv(&request); err != nil {
			return err
		}
	}
	err = o.qp.Modify(
		transport.ReadyToReceive,
		transport.QPAttr{
			Path:            transport.AddressVector{IP: requester[c.V6], Source: responder[c.V6]},
			PathMTU:         units.Bytes(c.MTU),
			DestQPN:         requesterQPN,
			RecvPSN:         c.PSN,
			MaxDestRdAtomic: c.Reads,
			MinRNRTimer:     c.Timer,
		},
	)
	if err != nil {
		return err
	}
	rts := transport.QPAttr{SendPSN: 1, Timeout: 16, RetryCount: 7, RNRRetry: 7, MaxRdAtomic: 1}
	if err := o.qp.Modify(transport.ReadyToSend, rts); err != nil {
		return err
	}
	_, err = o.Send(c, nil) // resolves the neighbours
	return err
}

// Send implements Responder.
func (o *Ours) Send(c *Case, packets []Packet) ([]Response, error) {
	for i := range packets {
		if err := o.deliver(c.frame(&packets[i], &o.to)); err != nil {
			return nil, err
		}
	}
	var responses []Response
	for quiet := 0; quiet < 3; quiet++ {
		o.now = o.now.Add(10 * units.Microsecond)
		o.ep.Poll(o.now)
		var bufs [packet.Burst]packet.Buf
		n := o.far.Recv(bufs[:])
		for i := range n {
			quiet = 0
			if frame := bufs[i].Data(); !o.neighbor.Receive(frame, o.now) {
				responses = append(responses, c.parseResponse(frame))
			}
		}
		o.far.Free(bufs[:n])
		room := make([]byte, 256)
		for k := o.neighbor.Emit(room); k > 0; k = o.neighbor.Emit(room) {
			quiet = 0
			if err := o.deliver(room[:k]); err != nil {
				return nil, err
			}
		}
	}
	return responses, nil
}

// deliver sends a frame to the endpoint's port.
func (o *Ours) deliver(frame []byte) error {
	var bufs [1]packet.Buf
	if o.far.Alloc(bufs[:]) == 0 || len(frame) > len(bufs[0].Room()) {
		return fmt.Errorf("no buffer for a frame of %d bytes", len(frame))
	}
	bufs[0].SetLen(copy(bufs[0].Room(), frame))
	if o.far.Send(packet.ClassData, bufs[:]) == 0 {
		return fmt.Errorf("no room for a frame")
	}
	return nil
}

// Look implements Responder.
func (o *Ours) Look(c *Case) (*Effect, error) {
	e := &Effect{State: o.qp.State()}
	e.expects(c, o.qp.Query().RecvPSN)
	var wcs [4 * depth]transport.WorkCompletion
	for _, w := range wcs[:o.cq.Poll(wcs[:])] {
		e.Completions = append(
			e.Completions,
			Completion{
				ID:     w.ID,
				Status: w.Status,
				Op:     w.Op,
				Flags:  flagsOf(&w),
				Len:    w.ByteLen,
				Imm:    w.Imm,
				SrcQP:  w.SrcQP,
			}.normal(),
		)
	}
	for r := range regions {
		h := fnv.New64a()
		_, _ = h.Write(o.memory[r])
		e.Memory[r] = h.Sum64()
	}
	return e, nil
}

// Close implements Responder.
func (o *Ours) Close() error {
	o.qp.Destroy()
	o.ep.Close()
	return nil
}

// Dump implements Responder.
func (o *Ours) Dump(region int) ([]byte, error) { return o.memory[region], nil }
