package rdmacm

import (
	"flag"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

var seedFlag = flag.Uint64("seed", 0, "replay a randomized test with this seed")

// life records the events of one end of a connection: a letter for each EventKind.
type life struct {
	conn  *Conn
	offer Offer
	story string
}

// Valid sequences of events. The passive side gets no Disconnected if its own program ended the
// connection before the RTU.
var (
	activeStory  = regexp.MustCompile(`^(R|U|P(R|U|DT)?)?$`)
	passiveStory = regexp.MustCompile(`^Q([RU]?T?|E?DT)$`)
)

// TestAgreement checks that, over a network that loses, duplicates and reorders, either both ends
// are connected with matching attributes, or neither is. The one unavoidable exception is an end
// whose peer's last messages are all lost (the REJ of a server that waited for the RTU, the DREQs
// of either): it stays connected until its queue pair, or its own DREQ, gets no reply.
func TestAgreement(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	runs := 200
	if race.Short() {
		runs = 20
	}
	var halfOpen, agreed int
	for range runs {
		h, a := agreement(t, seed)
		halfOpen, agreed = halfOpen+h, agreed+a
		if t.Failed() {
			t.Fatalf("-seed=%d", seed)
		}
		seed++
	}
	require.NotZero(t, agreed, "-seed=%d: no connection ever stood", seed)
	t.Logf("%d connections stood at the end, %d half open", agreed, halfOpen)
}

func agreement(t *testing.T, seed uint64) (halfOpen, agreed int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	// Tries of 6.3 ms, a packet lifetime of 1 ms.
	n := newNetwork(t, Config{ResponseTimeout: 10, PacketLifetime: 8, ACKDelay: 5,
		ServiceTimeout: 13, MaxTimeout: 13, MaxRetries: uint8(1 + rng.IntN(6))})
	loss, twice := rng.Float64()*0.5, rng.Float64()*0.3
	n.delays = func(int, Message) (all []units.Duration) {
		for copies := 1; copies > 0; copies-- {
			if rng.Float64() >= loss {
				all = append(all, 1+units.Duration(rng.Int64N(int64(units.Millisecond))))
			}
			if rng.Float64() < twice {
				copies++
			}
		}
		return all
	}
	lives := [2]map[CommID]*life{{}, {}} // by our own ID
	var all [2][]*life
	begin := func(end int, c *Conn, o Offer) *life {
		l := &life{conn: c, offer: o}
		lives[end][c.id] = l
		all[end] = append(all[end], l)
		return l
	}
	newOffer := func(end int) Offer {
		o := clientOffer
		o.QPN += wire.QPN(len(all[end]))
		o.PSN = wire.PSN(rng.Uint32() & wire.PSNMask)
		o.ResponderResources, o.InitiatorDepth = uint8(rng.IntN(17)), uint8(rng.IntN(17))
		return o
	}
	for i, e := range n.ends {
		e.other = func(ev Event) {
			l := lives[i][ev.Conn.id]
			if ev.Kind == ConnectRequest {
				l = begin(i, ev.Conn, newOffer(i))
			}
			l.story += string("QPERUDT"[ev.Kind])
			if ev.Kind > ConnectResponse {
				return
			}
			switch dice := rng.IntN(10); {
			case dice == 0:
				_ = ev.Conn.Reject(ConsumerReject, nil)
			case dice == 1: // does not decide
			case ev.Kind == ConnectRequest:
				_ = ev.Conn.Accept(l.offer, n.now)
			default:
				_ = ev.Conn.Confirm()
			}
		}
	}
	for range 12 {
		d := clientDial()
		d.Offer = newOffer(0)
		c, err := n.ends[0].Connect(d, n.now)
		require.NoError(t, err)
		begin(0, c, d.Offer)
		n.later(units.Duration(rng.Int64N(int64(20 * units.Millisecond))))
		if end := rng.IntN(2); len(all[end]) > 0 && rng.IntN(4) == 0 {
			all[end][rng.IntN(len(all[end]))].conn.Disconnect(n.now)
		}
	}
	n.later(units.Second) // all timers of all tries
	for _, e := range n.ends {
		require.Empty(t, e.deadlines, "-seed=%d: still waits", seed)
	}
	for _, server := range all[1] {
		if server.conn.state != established {
			continue
		}
		client := lives[0][server.conn.remote]
		require.NotNil(t, client, "-seed=%d", seed)
		if strings.HasSuffix(client.story, "DT") { // its DREQs were all lost
			halfOpen++
			continue
		}
		require.Equal(t, established, client.conn.state, "-seed=%d: the server is alone", seed)
		require.Equal(t, server.conn.id, client.conn.remote, "-seed=%d", seed)
		a, b := client.conn.QPAttr(client.offer), server.conn.QPAttr(server.offer)
		require.Equal(t, []any{a.DestQPN, a.RecvPSN, a.SendPSN, a.MaxRdAtomic, a.MaxDestRdAtomic,
			a.IP, a.Source, a.PathMTU, a.PKey},
			[]any{server.offer.QPN, b.SendPSN, b.RecvPSN, b.MaxDestRdAtomic, b.MaxRdAtomic,
				b.Source, b.IP, b.PathMTU, b.PKey}, "-seed=%d", seed)
		require.Equal(t, client.offer.QPN, b.DestQPN, "-seed=%d", seed)
		agreed++
	}
	for _, client := range all[0] {
		if client.conn.state == established {
			if server := lives[1][client.conn.remote]; server == nil ||
				server.conn.state != established {
				halfOpen++
			}
			client.conn.Disconnect(n.now)
		}
	}
	n.later(units.Second)
	for _, server := range all[1] {
		server.conn.Disconnect(n.now) // those whom no DREQ reached
	}
	n.later(units.Second)
	for i, story := range []*regexp.Regexp{activeStory, passiveStory} {
		for _, l := range all[i] {
			require.Equal(t, closed, l.conn.state, "-seed=%d", seed)
			require.Regexp(t, story, l.story, "-seed=%d", seed)
		}
		empty(t, n.ends[i].Machine)
	}
	return halfOpen, agreed
}
