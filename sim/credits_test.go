package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Tokens and credits on one queue pair, each of which delays messages: of four hosts' messages to a
// program that is slower than its link, the unconsumed ones fit the lines of its cache, and all
// arrive, although frames are lost.
func TestTokensAndCredits(t *testing.T) {
	const messages, size, cache = 200, 8 * units.KiB, 128 * units.KiB
	for _, lossy := range []bool{false, true} {
		for _, mode := range []string{"oneway", "rr"} {
			tokens, err := tocc.Parse("unsch=0B,k=4KiB")
			require.NoError(t, err)
			credits, err := carc.Parse("llc=128KiB,delta=off,mode=" + mode)
			require.NoError(t, err)
			granters, cacheOf := tokens.Endpoint(), credits.Endpoint()
			net := fabric.New(fabric.Config{Seed: 1, MTU: 4400})
			s := net.AddSwitch("s", fabric.SwitchConfig{})
			for range 5 {
				net.Connect(net.AddHost(fabric.HostConfig{}), s,
					fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
			}
			cl, err := sim.New(sim.Scenario{
				Topology: sim.On(net),
				Hosts: sim.Hosts{PathMTU: 4 * units.KiB, Timeout: 8, Receives: messages,
					SendDepth: messages},
				Scheme: sim.Scheme{Selective: true,
					AnswerClass: 56 << 2,
					Admit: func(_ sim.Pair, path cc.Path) (cc.Gate, cc.Granter, error) {
						return granters.New(path)
					},
					Credits: func(_ sim.Pair, path cc.Path) (cc.CreditGate, cc.CreditGranter,
						error) {
						return cacheOf.New(path)
					},
				},
			})
			require.NoError(t, err)
			require.NoError(t, cl.ResolveAddresses())
			type message struct {
				of    *sim.Conn
				bytes units.Bytes
			}
			var waiting []message
			held, most, done, answered := units.Bytes(0), units.Bytes(0), 0, 0
			var conns []*sim.Conn
			for i := range 4 {
				conn, err := cl.Connect(i, 4)
				require.NoError(t, err)
				conns = append(conns, conn)
				conn.Written = func(status transport.Status, _ units.Time) {
					require.Equal(t, transport.StatusSuccess, status)
				}
				conn.Replied = func(units.Bytes, units.Time) {
					answered++
					conn.QP.Admission().Answered(size)
				}
				conn.Arrived = func(bytes units.Bytes, _ units.Time) {
					waiting = append(waiting, message{conn, bytes})
					held += bytes
					most = max(most, held)
				}
			}
			if lossy {
				for _, p := range s.Ports() {
					require.NoError(t, p.SetFaults(fabric.LinkFaults{Lose: 0.01}))
				}
			}
			net.Every(2*units.Microsecond, func(units.Time) bool { // 33 Gb/s
				if len(waiting) > 0 {
					m := waiting[0]
					waiting = waiting[1:]
					held -= m.bytes
					done++
					m.of.Consumed(m.bytes)
					if mode == "rr" {
						m.of.Reply(32)
					}
				}
				return true
			})
			for _, conn := range conns {
				for range messages {
					require.NoError(t, conn.Send(size))
				}
			}
			require.NoError(t, net.Run(net.Now().Add(60*units.Millisecond)))
			require.Empty(t, cl.Errors)
			assert.Equal(t, 4*messages, done, "lossy %v, %s", lossy, mode)
			assert.LessOrEqual(t, most, cache)
			assert.Greater(t, most, cache/2)
			if mode == "rr" {
				assert.Equal(t, 4*messages, answered)
			}
			c := cl.Nodes[4].Endpoint.Stats()
			assert.NotZero(t, c.TokensSent)
			assert.NotZero(t, c.CreditsOnAcks+c.CreditsSent)
			t.Logf("lossy %v, %s: most %v, %d tokens, %d CREDITs on ACKs, %d alone, %d questions",
				lossy, mode, most, c.TokensSent, c.CreditsOnAcks, c.CreditsSent, c.CreditQuestions)
		}
	}
}
