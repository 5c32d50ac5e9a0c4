package wire

import (
	"bytes"
	"testing"

	"github.com/goroce/goroce/internal/extension"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A frame that is cut anywhere behind its BTH says what it was, and how much is gone.
func TestParseTrimmed(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		xdata := anXDATA(t, v6, RCWriteMiddle, 2, 1024)
		for _, c := range []struct {
			name    string
			frame   []byte
			payload int
		}{
			{"SEND", build(t, aTemplate(t, v6), RCSendMiddle, 1024), 1024},
			{"WRITE with RETH", build(t, aTemplate(t, v6), RCWriteFirst, 1024), 1024},
			{"with pad", build(t, aTemplate(t, v6), RCWriteLast, 1021), 1021},
			{"READ response", build(t, aTemplate(t, v6), RCReadResponseOnly, 500), 500},
			{"XDATA", xdata, 1024 + extension.INTLen(2)},
		} {
			var whole, p Packet
			require.NoError(t, whole.Parse(c.frame))
			first := int(whole.BTHOff) + BTHLen
			if whole.Op == XDATA {
				first += XCHLen
			}
			for n := range len(c.frame) {
				require.ErrorIs(t, p.Parse(c.frame[:n]), ErrTruncated)
				payload, err := p.ParseTrimmed(c.frame[:n])
				if n < first {
					require.Error(t, err, "%s cut to %d bytes", c.name, n)
					continue
				}
				require.NoError(t, err, "%s cut to %d bytes", c.name, n)
				require.Equal(t, c.payload, payload)
				assert.Equal(t, [...]any{whole.Op, whole.DestQP, whole.PSN, whole.PKey,
					whole.AckReq, whole.Solicited, whole.DSCP, whole.ECN, whole.V6, whole.SrcPort},
					[...]any{p.Op, p.DestQP, p.PSN, p.PKey, p.AckReq, p.Solicited, p.DSCP, p.ECN,
						p.V6, p.SrcPort})
				require.Equal(t, whole.SrcIP(), p.SrcIP())
				require.Equal(t, whole.DstIP(), p.DstIP())
				require.Len(t, p.Frame, n)
				require.Empty(t, p.Payload())
				if p.Op == XDATA {
					require.Equal(t, whole.XCH(), p.XCH())
				}
			}
			_, err := p.ParseTrimmed(c.frame)
			require.ErrorIs(t, err, ErrLength, "it is whole")
			_, err = p.ParseTrimmed(append(bytes.Clone(c.frame), 0, 0))
			require.ErrorIs(t, err, ErrLength, "and what follows is Ethernet's")
		}
	}
}

func TestParseTrimmedErrors(t *testing.T) {
	const ip, udp4, bth4 = 14, 34, 42
	frame := build(t, aTemplate(t, false), RCSendOnly, 1024)
	for _, c := range []struct {
		name  string
		spoil func(f []byte) []byte
		want  error
	}{
		{"nothing", cut(0), ErrTruncated},
		{"a BTH that is cut, too", cut(bth4 + 11), ErrTruncated},
		{"ARP", put(12, 0x08, 0x06), ErrNotRoCE},
		{"another port", put(udp4+2, 0, 53), ErrNotRoCE},
		{"IPv4 checksum", put(ip+8, 63), ErrIPHeader},
		{"UDP length is not IP's", put(udp4+4, 0, 100), ErrUDPLength},
		{"BTH version", put(bth4+1, 1), ErrBTH},
		{"reserved opcode", put(bth4, 0x15), ErrOpcode},
		{"less than its headers", chain(put(ip+2, 0, 62), put(udp4+4, 0, 42),
			put(bth4, uint8(RCFetchAdd)), checksum), ErrLength},
	} {
		var p Packet
		f := c.spoil(bytes.Clone(frame))
		if len(f) == len(frame) {
			f = f[:60]
		}
		_, err := p.ParseTrimmed(f)
		assert.Equal(t, c.want, err, c.name)
	}
}

// FuzzParseTrimmed: any bytes are an error or a packet whose every view is within its frame, and
// never both trimmed and whole.
func FuzzParseTrimmed(f *testing.F) {
	for _, frame := range seeds(f) {
		f.Add(frame)
		f.Add(frame[:min(len(frame), 60)])
	}
	for _, v6 := range []bool{false, true} {
		f.Add(anXDATA(f, v6, RCWriteOnlyImm, 3, 50)[:80])
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var p, whole Packet
		payload, err := p.ParseTrimmed(frame)
		if err != nil {
			require.True(t, aParseError(err), err)
			return
		}
		require.Error(t, whole.Parse(frame))
		require.GreaterOrEqual(t, payload, 0)
		require.Less(t, payload, 1<<16)
		require.Equal(t, p.PSN, PSN(p.BTH().PSN.Get()))
		require.Equal(t, p.DestQP, QPN(p.BTH().DestQP.Get()))
		require.Equal(t, uint16(UDPPort), p.UDP().DstPort.Get())
		require.True(t, p.SrcIP().IsValid() && p.DstIP().IsValid())
		require.Empty(t, p.Payload())
		if p.Op == XDATA {
			require.EqualValues(t, ExtensionVersion, p.XCH().Version>>4)
		}
	})
}
