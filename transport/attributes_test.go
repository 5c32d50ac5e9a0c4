package transport

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

func TestQuery(t *testing.T) {
	p := newPair(t)
	a, b := p.connected(defaults())
	got := a.qp.Query()
	assert.Equal(t, ReadyToSend, got.State)
	assert.Equal(t, b.qp.Num, got.DestQPN)
	assert.Equal(t, defaults().mtu, got.PathMTU)
	assert.Equal(t, RemoteWrite|RemoteRead|RemoteAtomic, got.Access)
	assert.EqualValues(t, 0xffff, got.PKey)
	assert.Equal(t, defaults().psn, got.SendPSN)
}

// One more than what Query reports is refused.
func TestQueryLimits(t *testing.T) {
	p := newPair(t)
	limits := p.a.Query()
	assert.Equal(t, 4*units.KiB, limits.PathMTU)
	assert.Equal(t, "a", limits.Port.Name)
	pd := p.a.AllocPD()
	cq, err := p.a.CreateCQ(1)
	require.NoError(t, err)
	_, err = p.a.CreateCQ(limits.MaxCQE + 1)
	require.ErrorIs(t, err, ErrInvalid)
	largest := QPInit{PD: pd, SendCQ: cq, RecvCQ: cq, MaxSendWR: limits.MaxQPWR,
		MaxRecvWR: limits.MaxQPWR}
	for name, change := range map[string]func(*QPInit){
		"":        func(*QPInit) {},
		"sends":   func(q *QPInit) { q.MaxSendWR++ },
		"recvs":   func(q *QPInit) { q.MaxRecvWR++ },
		"SGEs":    func(q *QPInit) { q.MaxSendSGE = limits.MaxSGE + 1 },
		"inline":  func(q *QPInit) { q.MaxInline = limits.MaxInline + 1 },
		"recvSGE": func(q *QPInit) { q.MaxRecvSGE = limits.MaxSGE + 1 },
	} {
		init := largest
		change(&init)
		_, err := p.a.CreateQP(init)
		if name == "" {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ErrInvalid, name)
		}
	}
}

func TestModify(t *testing.T) {
	p := newPair(t)
	a := defaults().make(t, p.a)
	require.ErrorIs(t, a.qp.Modify(Errored+1, QPAttr{}), ErrInvalid)
	require.NoError(t, a.qp.Modify(Errored, QPAttr{}))
	require.Equal(t, Reset, a.qp.State(), "from RESET it has no effect")
	require.NoError(t, a.qp.Modify(Init, QPAttr{Access: RemoteRead}))
	require.NoError(t, a.qp.Modify(Init, QPAttr{Access: RemoteWrite,
		Algorithm: &cc.Fixed{Window: 5000}, Gate: &plainGate{}}))
	require.Equal(t, RemoteWrite, a.qp.Query().Access)
	require.EqualValues(t, 5000, a.qp.Stats().Congestion.Window)
	require.True(t, a.qp.Stats().Admission.Active)
	require.NoError(t, a.qp.Modify(Reset, QPAttr{}))
	require.False(t, a.qp.Stats().Admission.Active)
	require.ErrorIs(t, a.qp.Modify(SQDrained, QPAttr{}), ErrState)
	a.qp.Destroy()
	for to := Reset; to <= Errored; to++ {
		require.ErrorIs(t, a.qp.Modify(to, QPAttr{}), ErrState, "%v", to)
	}
}

// A Modify to INIT that is refused leaves the queue pair as it was.
func TestRefusedModifyChangesNothing(t *testing.T) {
	p := newPair(t)
	for name, attr := range map[string]QPAttr{
		"no granter of credits":    {ConsumeOnPost: true},
		"a gate, no such granter":  {Gate: &plainGate{}, ConsumeOnPost: true},
		"two granters of one kind": {Granters: []cc.Granter{&plainGranter{}, &plainGranter{}}},
		"credits of bad lines": {Granters: []cc.Granter{
			&plainCreditGranter{terms: cc.CreditTerms{Line: 63}}}},
	} {
		a := defaults().make(t, p.a)
		before := a.qp.Stats()
		attr.Access, attr.Algorithm = RemoteWrite, &cc.Fixed{Window: 5000}
		require.ErrorIs(t, a.qp.Modify(Init, attr), ErrInvalid, name)
		assert.Equal(t, Reset, a.qp.State(), name)
		assert.Equal(t, before, a.qp.Stats(), name)
		assert.Zero(t, a.qp.Query().Access, name)
	}
}
