package tocc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// ticking is a granter with a token each microsecond, whatever arrives.
type ticking struct {
	cc.Granter
	due  units.Time
	left int
}

func (g *ticking) Missing(int, units.Bytes, units.Time) {}

func (g *ticking) Next() units.Time {
	if g.left == 0 {
		return 0
	}
	return g.due
}

func (g *ticking) Emit(bool, units.Time) (cc.ControlMessage, bool) {
	g.due = g.due.Add(units.Microsecond)
	g.left--
	return cc.ControlMessage{Kind: cc.TOKEN}, true
}

// asked counts requests for a look.
type asked int

func (*asked) Report(*cc.Event, units.Time) {}
func (a *asked) Reschedule()                { *a++ }

// Tokens that are due one after the other are sent one after the other, though nothing arrives
// meanwhile.
func TestRemoteGranterSendsDueTokens(t *testing.T) {
	const tokens = 5
	net := fabric.Star(fabric.Parts{}, 2,
		fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
	start := units.Time(10 * units.Microsecond)
	r := &remoteGranter{Granter: &ticking{due: start, left: tokens}, net: net, host: net.Host(0),
		distance: 2 * units.Microsecond}
	var came asked
	r.asks = &came
	r.Missing(0, 0, net.Now())
	require.NoError(t, net.Run(start.Add(r.distance+(tokens-1)*units.Microsecond)))
	assert.EqualValues(t, tokens, came)
}
