package process

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/nicoffload"
)

// A child whose parent has died before the child's first check ends, too.
func TestOrphanFromTheBeginning(t *testing.T) {
	m, err := NewMemory(nicoffload.ProcessLinkBytes)
	require.NoError(t, err)
	_, err = nicoffload.InitProcessLink(m.Bytes, false)
	require.NoError(t, err)
	text, err := json.Marshal(role{NIC: &nicoffload.Config{}, Parent: os.Getpid() + 1})
	require.NoError(t, err)
	child := &Child{memory: m, role: text}
	require.NoError(t, child.Restart())
	require.NoError(t, child.cmd.Wait(), "the child ends by itself")
}
