package rdmacm_test

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/internal/rdmacm"
	"github.com/goroce/goroce/units"
)

// Two hosts connect two queue pairs. Here the datagrams go from one machine straight to the other,
// and time stands still.
func Example() {
	client, _ := rdmacm.New(rdmacm.Config{GUID: 1, Seed: 1})
	server, _ := rdmacm.New(rdmacm.Config{GUID: 2, Seed: 2})
	_ = server.Listen(rdmacm.TCPService(7174), 16)

	var now units.Time
	ours := rdmacm.Offer{QPN: 0x11, PSN: 100, ResponderResources: 16, InitiatorDepth: 16,
		RetryCount: 7, RNRRetry: 7}
	_, _ = client.Connect(rdmacm.Dial{
		Offer: ours, Local: netip.MustParseAddr("10.0.0.1"), Peer: netip.MustParseAddr("10.0.0.2"),
		Service: rdmacm.TCPService(7174), MTU: 4096,
	}, now)
	theirs := rdmacm.Offer{QPN: 0x22, PSN: 200, ResponderResources: 8, InitiatorDepth: 8,
		RNRRetry: 7}

	carry := func(from, to *rdmacm.Machine) {
		for d, ok := from.Emit(); ok; d, ok = from.Emit() {
			to.Receive(d.Peer, d.Local, d.MAD[:], now)
		}
	}
	for range 2 {
		carry(client, server)
		for e, ok := server.Event(); ok; e, ok = server.Event() {
			fmt.Println("server:", e.Kind)
			if e.Kind == rdmacm.ConnectRequest {
				a := e.Conn.QPAttr(theirs) // to RTR and RTS
				fmt.Printf("  to QP %#x, from PSN %d on\n", uint32(a.DestQPN), uint32(a.SendPSN))
				_ = e.Conn.Accept(theirs, now)
			}
		}
		carry(server, client)
		for e, ok := client.Event(); ok; e, ok = client.Event() {
			fmt.Println("client:", e.Kind)
			a := e.Conn.QPAttr(ours) // to RTR and RTS
			fmt.Printf("  to QP %#x, from PSN %d on, %d READs at a time\n", uint32(a.DestQPN),
				uint32(a.SendPSN), a.MaxRdAtomic)
			_ = e.Conn.Confirm()
		}
	}
	// Output:
	// server: CONNECT_REQUEST
	//   to QP 0x11, from PSN 100 on
	// client: CONNECT_RESPONSE
	//   to QP 0x22, from PSN 200 on, 8 READs at a time
	// server: ESTABLISHED
}
