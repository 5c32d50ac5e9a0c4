package transport_test

import (
	"fmt"
	"log"
	"net/netip"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// end is an endpoint with a queue pair.
type end struct {
	*transport.Endpoint
	qp *transport.QueuePair
	cq *transport.CompletionQueue
	mr *transport.MemoryRegion
}

// newEnd opens an endpoint on a port and creates what a queue pair needs.
func newEnd(port packet.Port, addr string, access transport.Access) *end {
	var e end
	var err error
	e.Endpoint, err = transport.New(transport.Config{Port: port,
		Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}}, 0)
	check(err)
	pd := e.AllocPD()
	e.cq, err = e.CreateCQ(16)
	check(err)
	e.mr, err = e.RegisterMemory(pd, make([]byte, 4096), transport.LocalWrite|access)
	check(err)
	e.qp, err = e.CreateQP(transport.QPInit{Type: transport.RC, PD: pd, SendCQ: e.cq, RecvCQ: e.cq,
		MaxSendWR: 16, MaxRecvWR: 16})
	check(err)
	return &e
}

// connect moves the queue pair to RTS. Numbers and addresses come from the peer, out of band.
func (e *end) connect(peer netip.Addr, qp *transport.QueuePair) {
	check(e.qp.Connect(transport.QPAttr{Path: transport.AddressVector{IP: peer}, PathMTU: 4096,
		DestQPN: qp.Num, Access: transport.RemoteWrite, Timeout: 14, RetryCount: 7, RNRRetry: 7}))
}

// A WRITE from one endpoint to another. A program polls its endpoint in a loop; here both ends are
// polled in turns, with a clock of one's own.
func Example() {
	a, b := packet.Pipe(packet.PipeOptions{})
	client := newEnd(a, "10.0.0.1/24", 0)
	server := newEnd(b, "10.0.0.2/24", transport.RemoteWrite)
	client.connect(netip.MustParseAddr("10.0.0.2"), server.qp)
	server.connect(netip.MustParseAddr("10.0.0.1"), client.qp)

	n := copy(client.mr.Bytes(), "written")
	check(client.qp.PostSend(&transport.WorkRequest{ID: 1, Op: transport.OpWrite, Signaled: true,
		SGList:     []transport.SGE{client.mr.SGE(0, n)},
		RemoteAddr: server.mr.Addr, RKey: server.mr.RKey}))

	var wc [1]transport.WorkCompletion
	for now := units.Time(0); client.cq.Poll(wc[:]) == 0; now = now.Add(units.Microsecond) {
		client.Poll(now)
		server.Poll(now)
	}
	fmt.Println(wc[0].Op, wc[0].Status)
	fmt.Println(string(server.mr.Bytes()[:n]))
	// Output:
	// RDMA_WRITE success
	// written
}
