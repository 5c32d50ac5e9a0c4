package endpoint

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

func TestPathMTUFor(t *testing.T) {
	for _, c := range []struct{ mtu, want units.Bytes }{
		{0, 0}, {256 + Overhead - 1, 0}, {256 + Overhead, 256}, {1500, 1024},
		{4096 + Overhead - 1, 2048}, {4096 + Overhead, 4096}, {9000, 4096},
	} {
		assert.Equal(t, c.want, PathMTUFor(c.mtu), "MTU %d", int64(c.mtu))
	}
}

func TestIsPathMTU(t *testing.T) {
	for _, m := range []units.Bytes{256, 512, 1024, 2048, 4096} {
		assert.True(t, IsPathMTU(m), "%d", int64(m))
	}
	for _, m := range []units.Bytes{-256, 0, 128, 255, 1000, 8192} {
		assert.False(t, IsPathMTU(m), "%d", int64(m))
	}
}
