package capture

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/trace/analysis"
)

// recorded are captures of Linux soft-RoCE.
const recorded = "../../transport/wire/testdata/"

func load(t testing.TB, name string) []byte {
	data, err := os.ReadFile(recorded + name + ".pcap")
	require.NoError(t, err)
	return data
}

func analyse(t testing.TB, data []byte) *analysis.Report {
	r := analysis.New("test", analysis.Capture)
	require.NoError(t, Read(bytes.NewReader(data), r, func(int64) {}))
	r.Sort()
	return r
}

// TestSoftRoCE checks what the live captures show: what each was made for.
func TestSoftRoCE(t *testing.T) {
	type counts struct{ Retransmitted, NAKs, RNRs, Fatal, Responses, Marks uint64 }
	for name, want := range map[string]counts{
		"rc-send-multi":  {},
		"v6-send-multi":  {},
		"rc-write-multi": {},
		"rc-read-multi":  {Responses: 5},
		"rc-fetch-add":   {Responses: 1},
		"rc-rnr-nak":     {Retransmitted: 8, RNRs: 8},
		"rc-nak-access":  {Fatal: 1},
		"rc-nak-invalid": {Fatal: 1},
		"rc-ecn-ce":      {Marks: 4},
	} {
		if _, err := os.Stat(recorded + name + ".pcap"); err != nil {
			t.Errorf("no capture %s", name)
			continue
		}
		r := analyse(t, load(t, name))
		require.NotEmpty(t, r.Flows, name)
		f := r.Flows[0]
		require.Equal(t, want, counts{f.Retransmitted, f.NAKs, f.RNRs, f.FatalNAKs, f.Responses,
			f.Marks}, name)
		if want == (counts{}) {
			require.Positive(t, f.Delivered, name)
			require.Equal(t, f.Payload, f.Delivered, name)
			require.Positive(t, f.RTTAt(50), name)
		}
	}
}

// TestAllCaptures checks that every capture is read to its end, and that all packets are accounted
// for.
func TestAllCaptures(t *testing.T) {
	names, err := filepath.Glob(recorded + "*.pcap")
	require.NoError(t, err)
	require.Greater(t, len(names), 20)
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		r := analyse(t, data)
		require.Positive(t, r.Items, name)
		for _, f := range r.Flows {
			for _, s := range f.Shares() {
				require.Positive(t, s.Part, name)
			}
			require.LessOrEqual(t, f.RTTAt(50)*99/100, r.Span(), name) // two digits
		}
		var text strings.Builder
		require.NoError(t, r.WriteText(&text))
		require.Contains(t, text.String(), "limited by")
	}
}

// TestReceiverNotReady checks what limited a sender to a receiver without receives.
func TestReceiverNotReady(t *testing.T) {
	f := analyse(t, load(t, "rc-rnr-multi")).Flows[0]
	require.Equal(t, receiver, f.Shares()[0].Reason)
	require.Greater(t, f.Shares()[0].Part, 0.9)
}

// packets returns the packets of a pcap file.
func packets(t testing.TB, data []byte) (all [][]byte, infos []gopacket.CaptureInfo) {
	r, err := pcapgo.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	for {
		p, info, err := r.ReadPacketData()
		if err != nil {
			return all, infos
		}
		all, infos = append(all, p), append(infos, info)
	}
}

// TestPcapng checks that the same packets have the same result as pcapng, over other links and cut
// off behind their headers.
func TestPcapng(t *testing.T) {
	for _, name := range []string{"rc-send-multi", "v6-send-multi", "rc-read-multi"} {
		data := load(t, name)
		want := analyse(t, data).Flows[0]
		all, infos := packets(t, data)
		for link, change := range map[layers.LinkType]func([]byte) []byte{
			layers.LinkTypeEthernet: func(b []byte) []byte {
				tagged := append(bytes.Clone(b[:12]), 0x81, 0, 0, 7)
				return append(tagged, b[12:]...)
			},
			layers.LinkTypeRaw: func(b []byte) []byte { return b[14:] },
			layers.LinkTypeLinuxSLL: func(b []byte) []byte {
				return append(append(make([]byte, 14), b[12:14]...), b[14:]...)
			},
			layers.LinkTypeLinuxSLL2: func(b []byte) []byte {
				return append(append(bytes.Clone(b[12:14]), make([]byte, 18)...), b[14:]...)
			},
		} {
			var file bytes.Buffer
			w, err := pcapgo.NewNgWriter(&file, link)
			require.NoError(t, err)
			for i, p := range all {
				frame, info := change(p), infos[i]
				info.Length = len(frame)
				frame = frame[:min(len(frame), 100)]
				info.CaptureLength, info.InterfaceIndex = len(frame), 0
				require.NoError(t, w.WritePacket(info, frame))
			}
			require.NoError(t, w.Flush())
			got := analyse(t, file.Bytes()).Flows[0]
			require.Equal(t, want.Name, got.Name, link)
			require.Equal(t, want.Delivered, got.Delivered, link)
			require.Equal(t, want.RTTAt(50), got.RTTAt(50), link)
			require.Equal(t, want.Span(), got.Span(), link)
		}
	}
}

func TestErrors(t *testing.T) {
	data := load(t, "rc-send-multi")
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":       {nil, "byte 0, after 0 packets: not a capture"},
		"text":        {[]byte("hello, world"), "byte 0, after 0 packets: not a capture"},
		"header":      {data[:10], "pcap: "},
		"cut":         {data[:len(data)-1], "the packet is cut off"},
		"cut header":  {data[:24+7], "byte 24, after 0 packets: the packet is cut off"},
		"huge packet": {append(bytes.Clone(data[:24+8]), 255, 255, 255, 127, 0, 0, 0, 0), "exceed"},
	} {
		r := analysis.New(name, analysis.Capture)
		err := Read(bytes.NewReader(c.data), r, func(int64) {})
		require.ErrorContains(t, err, c.want, name)
		require.ErrorAs(t, err, new(*Error))
	}
	require.False(t, Is([]byte{1}))
	rule := errors.New("x")
	require.ErrorIs(t, &Error{Rule: rule}, rule)
}

// TestTwoConnections checks that acknowledgements are attributed to the right one of two flows
// between the same hosts.
func TestTwoConnections(t *testing.T) {
	r := analyse(t, load(t, "rc-send-two"))
	for _, f := range r.Flows {
		require.Equal(t, f.Payload, f.Delivered, f.Name)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"rc-send-multi", "v6-send-multi", "rc-read-multi", "rc-rnr-nak"} {
		f.Add(load(f, name))
	}
	var file bytes.Buffer
	w, err := pcapgo.NewNgWriter(&file, layers.LinkTypeEthernet)
	require.NoError(f, err)
	require.NoError(f, w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(1, 0),
		CaptureLength: 60, Length: 60}, make([]byte, 60)))
	require.NoError(f, w.Flush())
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := analysis.New("fuzz", analysis.Capture)
		_ = Read(bytes.NewReader(data), r, func(int64) {})
		var text strings.Builder
		require.NoError(t, r.WriteText(&text))
	})
}

// FuzzFrame checks the headers of a frame alone, which the fuzzer reaches faster.
func FuzzFrame(f *testing.F) {
	for _, name := range []string{"rc-send-multi", "v6-send-multi", "rc-read-multi"} {
		all, _ := packets(f, load(f, name))
		for _, p := range all {
			f.Add(p)
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var p packet
		if p.parse(layers.LinkTypeEthernet, frame) {
			a := newAnalyzer(analysis.New("fuzz", analysis.Capture))
			a.packet(&p)
			p.psn = p.psn.Add(1)
			a.packet(&p)
			require.GreaterOrEqual(t, int64(p.payload), int64(0))
		}
	})
}
