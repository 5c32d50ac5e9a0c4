package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// part is a gate with a scripted behaviour.
type part struct {
	ready  bool
	marks  Marks
	next   units.Time
	says   ControlKind
	wants  MarkSet
	void   error
	calls  []string
	posted units.Bytes
}

func (p *part) Posted(b units.Bytes, _ Backlog, _ units.Time) { p.posted += b }
func (p *part) Ready(*Outgoing, units.Time) bool              { return p.ready }
func (p *part) Sent(*Outgoing, units.Time) Marks {
	p.calls = append(p.calls, "took")
	return p.marks
}
func (p *part) Lost(units.Bytes, Backlog, units.Time) { p.calls = append(p.calls, "lost") }
func (p *part) Receive(n *ControlMessage, _ Backlog, _ units.Time) error {
	p.calls = append(p.calls, n.Kind.String())
	return p.void
}
func (p *part) Emit(Backlog, units.Time) (ControlMessage, bool) {
	p.next = 0
	return ControlMessage{Kind: p.says}, true
}
func (p *part) Next() units.Time { return p.next }
func (p *part) Marks() MarkSet   { return p.wants }

// creditPart is a part that is a CreditGate.
type creditPart struct{ part }

func (*creditPart) Terms() CreditTerms               { return CreditTerms{} }
func (*creditPart) Agree(CreditTerms)                {}
func (*creditPart) Answered(units.Bytes, units.Time) {}

func TestAllOfOneOrNone(t *testing.T) {
	one := &part{}
	assert.Nil(t, AllOf())
	assert.Same(t, one, AllOf(one))
	assert.Equal(t, []Gate{one}, Parts(one))
	assert.Nil(t, Parts(nil))
	assert.Same(t, one, AllOf(nil, one))
	two, three := &part{}, &creditPart{}
	assert.Equal(t, []Gate{one, two, three}, Parts(AllOf(AllOf(one, two), three)),
		"Parts returns each part")
}

func TestAllOf(t *testing.T) {
	tokens := &part{ready: true, marks: Marks{Set: MarkWantsMore | MarkGrant, Grant: 7},
		wants: MarkGrant, says: RTS}
	credits := &creditPart{part{marks: Marks{TrafficClass: 8, Classed: true}, says: CREDIT}}
	all := AllOf(tokens, credits)
	assert.Equal(t, []Gate{tokens, credits}, Parts(all))

	all.Posted(100, Backlog{}, 1)
	assert.EqualValues(t, 200, tokens.posted+credits.posted)
	assert.False(t, all.Ready(&Outgoing{}, 1), "one gate refuses")
	assert.Empty(t, tokens.calls, "no gate has changed its state")
	credits.ready = true
	require.True(t, all.Ready(&Outgoing{}, 1))
	assert.Equal(t, Marks{Set: MarkWantsMore | MarkGrant, Grant: 7, TrafficClass: 8, Classed: true},
		all.Sent(&Outgoing{}, 1))
	all.Lost(100, Backlog{}, 1)
	assert.Equal(t, MarkGrant, all.Marks())

	for _, kind := range []ControlKind{TOKEN, CREDIT} {
		require.NoError(t, all.Receive(&ControlMessage{Kind: kind}, Backlog{}, 1))
	}
	assert.Equal(t, []string{"took", "lost", "TOKEN"}, tokens.calls)
	assert.Equal(t, []string{"took", "lost", "CREDIT"}, credits.calls)
	credits.void = ErrForged
	assert.ErrorIs(t, all.Receive(&ControlMessage{Kind: CREDIT}, Backlog{}, 1), ErrForged)

	assert.Zero(t, all.Next())
	tokens.next, credits.next = 20, 10
	assert.EqualValues(t, 10, all.Next())
	n, some := all.Emit(Backlog{}, 15)
	assert.True(t, some && n.Kind == CREDIT, "the one that is due")
	_, some = all.Emit(Backlog{}, 15)
	assert.False(t, some)
	assert.EqualValues(t, 20, all.Next())
	n, some = all.Emit(Backlog{}, 20)
	assert.True(t, some && n.Kind == RTS)
}
