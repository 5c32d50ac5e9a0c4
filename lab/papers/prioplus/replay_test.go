package prioplus

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReplay(t *testing.T) {
	rows, err := replayRows()
	require.NoError(t, err)
	assert.Equal(t, 6, rows)
}
