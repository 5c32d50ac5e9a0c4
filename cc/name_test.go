package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

// unregistered is an Algorithm of a program.
type unregistered struct{ Algorithm }

func TestNameOf(t *testing.T) {
	path := Path{LineRate: 100 * units.Gbps, BaseRTT: 12 * units.Microsecond, Payload: 4096,
		Signals: ^Signals(0)}
	for _, name := range Names() {
		spec, err := Parse(name)
		require.NoError(t, err)
		a, err := spec.New(path)
		require.NoError(t, err, name)
		assert.Equal(t, name, NameOf(a))
	}
	assert.Equal(t, "unregistered", NameOf(unregistered{}))
}
