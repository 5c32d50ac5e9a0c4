package differ

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// altered is goroce with a fault: responses and effects are changed before the comparison.
type altered struct {
	Ours
	responses func(sent []Packet, responses []Response) []Response
	effect    func(*Effect)
}

func (x *altered) Send(c *Case, packets []Packet) ([]Response, error) {
	responses, err := x.Ours.Send(c, packets)
	responses = slices.DeleteFunc(responses, func(a Response) bool { return a.Op == wire.CNP })
	if x.responses != nil {
		responses = x.responses(packets, responses)
	}
	return responses, err
}

func (x *altered) Look(c *Case) (*Effect, error) {
	e, err := x.Ours.Look(c)
	if x.effect != nil {
		x.effect(e)
	}
	return e, err
}

func TestNoDifferenceWithItself(t *testing.T) {
	packets, responses := 0, 0
	for seed := range uint64(300) {
		r, err := Run(&Ours{}, &altered{}, Generate(seed))
		require.NoError(t, err)
		require.Nil(t, r.Unknown, "%v\n%v", r.Case, r.Trace)
		delete(r.Known, SetAside[0].Name)
		require.Empty(t, r.Known, "%v", r.Case)
		packets += r.Packets
		responses += r.Responses
	}
	require.Greater(t, packets, 4000)
	require.Greater(t, responses, 1000)
}

// TestFaultsAreFound runs responders with one fault each. Every fault must be detected and must not
// match a known difference.
func TestFaultsAreFound(t *testing.T) {
	each := func(f func(*Response)) func([]Packet, []Response) []Response {
		return func(_ []Packet, responses []Response) []Response {
			for i := range responses {
				f(&responses[i])
			}
			return responses
		}
	}
	for _, c := range []struct {
		name string
		altered
	}{
		{"silent after READs", altered{responses: func(sent []Packet,
			responses []Response) []Response {
			if sent != nil && sent[0].Op == wire.RCReadRequest {
				return nil
			}
			return responses
		}}},
		{"responds to a wrong ICRC", altered{responses: func(sent []Packet,
			responses []Response) []Response {
			if sent != nil && sent[0].has(SpoilICRC) {
				return []Response{{Op: wire.RCAck, Syndrome: wire.SyndromeAck}}
			}
			return responses
		}}},
		{"another NAK code", altered{responses: each(func(a *Response) {
			if a.Syndrome == wire.NakSyndrome(wire.NakRemoteAccess) {
				a.Syndrome = wire.NakSyndrome(wire.NakInvalidRequest)
			}
		})}},
		{"MSN too high", altered{responses: each(func(a *Response) {
			if a.Op == wire.RCAck {
				a.MSN++
			}
		})}},
		{"PSN ahead", altered{responses: each(func(a *Response) { a.PSN++ })}},
		{"other bytes", altered{responses: each(func(a *Response) { a.Sum++ })}},
		{"wrong ICRC", altered{responses: each(func(a *Response) { a.Fault = "wrong ICRC" })}},
		{"memory", altered{effect: func(e *Effect) { e.Memory[regionAll]++ }}},
		{"no error state", altered{effect: func(e *Effect) { e.State = transport.ReadyToSend }}},
		{"completions lost", altered{effect: func(e *Effect) { e.Completions = nil }}},
		{"PSN expected", altered{effect: func(e *Effect) { e.PSN++ }}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(200) {
				r, err := Run(&Ours{}, &c.altered, Generate(seed))
				require.NoError(t, err)
				if r.Unknown != nil {
					return
				}
			}
			t.Fatal("not found")
		})
	}
}

func TestShrink(t *testing.T) {
	deaf := &altered{responses: func(sent []Packet, responses []Response) []Response {
		if sent != nil && sent[0].Op == wire.RCFetchAdd {
			return nil
		}
		return responses
	}}
	shrunk, packets := 0, 0
	for seed := range uint64(100) {
		r, err := Run(&Ours{}, deaf, Generate(seed))
		require.NoError(t, err)
		if r.Unknown == nil || r.Unknown.At < 5 {
			continue
		}
		small, err := Shrink(&Ours{}, deaf, r)
		require.NoError(t, err)
		require.NotNil(t, small.Unknown)
		packets += len(small.Case.Packets)
		again, err := Decode(small.Case.Encode())
		require.NoError(t, err)
		require.Equal(t, small.Case, again)
		shrunk++
	}
	require.Positive(t, shrunk)
	require.LessOrEqual(t, packets, 2*shrunk, "%d cases", shrunk)
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{
		"", "{", "{}\n{", `{"MTU":1000}`, `{"MTU":256,"Recvs":65}`,
		`{"MTU":256,"Recvs":16,"RecvLen":2048}`, "{\"MTU\":256}\n{\"Region\":5}",
		"{\"MTU\":256}\n{\"Payload\":-1}", "{\"MTU\":256}\n{\"Payload\":100000}",
	} {
		_, err := Decode([]byte(text))
		require.Error(t, err, text)
	}
}

// TestFrames parses frames as a receiver does: packets without errors must be correct.
func TestFrames(t *testing.T) {
	to := &target{qpn: 0x123456}
	to.regions[regionRead].addr, to.regions[regionRead].key = 1<<40, 0xabcdef01
	for seed := range uint64(500) {
		c := Generate(seed)
		for i := range c.Packets {
			p := &c.Packets[i]
			if p.malformed() || p.has(SpoilTVer) || !p.Op.Info().Valid {
				continue
			}
			var q wire.Packet
			require.NoError(t, q.Parse(c.frame(p, to)), "%v", p)
			require.Equal(t, !p.has(SpoilICRC), q.ICRC(), "%v", p)
			require.Equal(t, p.Op, q.Op)
			require.Equal(t, c.PSN.Add(uint32(p.PSN)&wire.PSNMask), q.PSN)
			require.Equal(t, p.payload(), append([]byte{}, q.Payload()...))
			if p.Op.Info().RETH && p.Region == regionRead && !p.has(SpoilKey) {
				require.Equal(t, uint32(0xabcdef01), q.RETH().RKey.Get())
				require.Equal(t, uint64(1<<40+p.Offset), q.RETH().VA.Get())
			}
		}
	}
}

// TestEveryMutationIsDrawn checks that all mutations are drawn, that no packet crashes the peer's
// kernel, and that a seed always gives the same case.
func TestEveryMutationIsDrawn(t *testing.T) {
	drawn := map[string]bool{}
	for seed := range uint64(2000) {
		c := Generate(seed)
		for i := range c.Packets {
			drawn[c.Packets[i].What] = true
			require.False(t, c.Packets[i].crashesRxe(), "seed %d: %v", seed, &c.Packets[i])
		}
		if seed%100 == 0 {
			require.Equal(t, c, Generate(seed))
		}
	}
	for _, m := range mutations {
		require.True(t, drawn[m.name], m.name)
	}
}

// TestDocumentation checks that docs/interop.md has the exact table of known differences.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/interop.md")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, k := range slices.Concat(SetAside, Differences, Leftovers) {
		require.NotEmpty(t, k.Reason, k.Name)
		require.Contains(t, string(text), "| "+k.Name+" | "+k.Reason+" |")
		require.False(
			t,
			names[k.Name],
			"%s: twice, beside %v",
			k.Name,
			slices.Collect(maps.Keys(names)),
		)
		names[k.Name] = true
	}
}
