package carclab

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/units"
)

// Of messages of 1 KB to a program that is slower than its link lines are returned on
// acknowledgements: CREDITs of their own, but for replies to senders that wait, are one for 64
// messages at most, and the program waits for a round trip at most, the first.
func TestReturnsRideOnAcknowledgements(t *testing.T) {
	race.OneGoroutine(t)
	for _, llc := range []string{"2MiB", "12MiB"} {
		spec, err := carc.Parse("llc=" + llc)
		require.NoError(t, err)
		b := &testbed{senders: 8, rate: 100 * gbps, baseRTT: 12 * us, message: 1024, deep: 2048,
			seed: 1, credits: &spec, v2: always(40 * gbps), until: 5 * ms}
		require.NoError(t, b.run(t.Context()))
		c := b.Nodes[b.senders].Endpoint.Stats()
		messages := uint64(0)
		for _, m := range b.Result().Messages {
			messages += m.Consumed / 1024
		}
		t.Logf("%s: %d messages, %d CREDITs alone, %d of them replies, %d on ACKs", llc, messages,
			c.CreditsSent, c.CreditQuestions, c.CreditsOnAcks)
		assert.LessOrEqual(t, (c.CreditsSent-c.CreditQuestions)*64, messages)
		assert.Less(t, b.idled(), b.baseRTT)
		assert.LessOrEqual(t, b.endpoint.Sensor().Spent(b.Net.Now())[carc.S3], units.Duration(0),
			"never more than the cache")
	}
}
