package wire

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// captures returns the frames of every file in testdata, by its name without ".pcap". The files
// are classic pcap, little endian: 24 bytes of header, then 16 before each frame, of which the
// third word is its length.
func captures(t testing.TB) map[string][][]byte {
	names, err := filepath.Glob("testdata/*.pcap")
	require.NoError(t, err)
	all := map[string][][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, uint32(0xa1b2c3d4), binary.LittleEndian.Uint32(data), name)
		var frames [][]byte
		for data = data[24:]; len(data) > 0; {
			n := 16 + binary.LittleEndian.Uint32(data[8:])
			frames = append(frames, data[16:n:n])
			data = data[n:]
		}
		all[filepath.Base(name[:len(name)-len(".pcap")])] = frames
	}
	return all
}

// sourceOf returns the source address of a template.
func sourceOf(tmpl *Template) netip.Addr {
	if tmpl.v6 {
		return netip.AddrFrom16(View[IPv6](tmpl.headers[tmpl.l3:]).Src)
	}
	return netip.AddrFrom4(View[IPv4](tmpl.headers[tmpl.l3:]).Src)
}

// seeds returns the first frames of every capture, as a corpus for fuzzing.
func seeds(t testing.TB) (frames [][]byte) {
	for _, all := range captures(t) {
		frames = append(frames, all[:min(len(all), 6)]...)
	}
	return frames
}
