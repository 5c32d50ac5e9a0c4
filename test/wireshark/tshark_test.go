package wireshark

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/packet/pcap"
	"github.com/goroce/goroce/units"
)

// dissected holds the values of each field that tshark found in a frame.
type dissected map[string][]string

// Fields that every test requests, and severities of expert information.
const (
	protocols  = "frame.protocols"
	severity   = "_ws.expert.severity"
	remark     = "_ws.expert.message"
	vendorData = "infiniband.vendor" // bytes unknown to Wireshark

	// Of epan/proto.h.
	severityNote    = 0x00400000
	severityWarning = 0x00600000
	severityError   = 0x00800000
)

// tshark dissects a recording and returns the fields of each frame. The test fails without tshark,
// which scripts/setup installs.
func tshark(t *testing.T, file string, fields []string, options ...string) (frames []dissected) {
	t.Helper()
	binary, err := exec.LookPath("tshark")
	require.NoError(t, err, "scripts/setup build installs it")
	fields = append([]string{protocols, severity, remark, vendorData}, fields...)
	args := append([]string{"-n", "-r", file, "-T", "fields", "-E", "separator=/t", "-E",
		"occurrence=a", "-E", "aggregator=;",
		"-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
		// A17.3.1.3 lets the UDP checksum be 0 over IPv6 too, as RFC 6935 does for tunnels.
		"-o", "udp.ignore_ipv6_zero_checksum:TRUE",
		// Its heuristics match payloads with similar first bytes.
		"--disable-protocol", "rpcordma"}, options...)
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "LC_ALL=C") // default preferences
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), errs.String())
	require.NotContains(t, errs.String(), "Lua")
	for line := range strings.Lines(out.String()) {
		frame := dissected{}
		for i, value := range strings.Split(strings.TrimSuffix(line, "\n"), "\t") {
			if value != "" {
				frame[fields[i]] = strings.Split(value, ";")
			}
		}
		require.NotContains(t, strings.Join(frame[remark], " "), "Lua")
		frames = append(frames, frame)
	}
	return frames
}

// number returns the only value of a field as a number, and false without the field.
func (d dissected) number(t *testing.T, field string) (n uint64, there bool) {
	t.Helper()
	if len(d[field]) == 0 {
		return 0, false
	}
	require.Len(t, d[field], 1, field)
	switch v := d[field][0]; v {
	case "True":
		return 1, true
	case "False":
		return 0, true
	default:
		n, err := strconv.ParseUint(v, 0, 64)
		require.NoError(t, err, field)
		return n, true
	}
}

// complaints returns Wireshark's remarks on a frame except chats, and bytes it does not know.
func (d dissected) complaints(t *testing.T) (all []string) {
	t.Helper()
	for i, s := range d[severity] {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		if n > severityNote {
			all = append(all, d[remark][min(i, len(d[remark])-1)])
		}
	}
	if strings.Contains(d[protocols][0], "malformed") {
		all = append(all, d[protocols][0])
	}
	return append(all, d[vendorData]...)
}

// clean checks that there are no complaints.
func (d dissected) clean(t *testing.T, about string) {
	t.Helper()
	require.Empty(t, d.complaints(t), about)
}

// recording is a pcap file being written in virtual time.
type recording struct {
	*pcap.File
	path string
}

func record(t *testing.T, now func() units.Time, options ...pcap.Option) recording {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frames.pcap")
	file, err := os.Create(path)
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	sink, err := pcap.New(file, now, options...)
	require.NoError(t, err)
	return recording{sink, path}
}

// frames reads the recording with gopacket.
func (r recording) frames(t *testing.T) (all [][]byte) {
	t.Helper()
	require.NoError(t, r.Err())
	file, err := os.Open(r.path)
	require.NoError(t, err)
	defer file.Close()
	reader, err := pcapgo.NewReader(file)
	require.NoError(t, err)
	for {
		frame, _, err := reader.ReadPacketData()
		if err != nil {
			return all
		}
		all = append(all, bytes.Clone(frame))
	}
}

// recordFrames returns a recording of given frames.
func recordFrames(t *testing.T, frames ...[]byte) recording {
	t.Helper()
	return recordStarts(t, 0, frames...)
}

// recordStarts returns a recording of the first bytes of given frames.
func recordStarts(t *testing.T, bytes int, frames ...[]byte) recording {
	t.Helper()
	r := record(t, func() units.Time { return 0 }, pcap.SnapLen(bytes))
	end, _ := packet.Pipe(packet.PipeOptions{Depth: len(frames), Buffers: len(frames)})
	port := r.Wrap(end)
	for _, f := range frames {
		inject(t, port, f)
	}
	return r
}

// inject sends a frame that no endpoint built.
func inject(t *testing.T, port packet.Port, frame []byte) {
	t.Helper()
	var one [1]packet.Buf
	require.Equal(t, 1, port.Alloc(one[:]))
	one[0].SetLen(copy(one[0].Room()[:len(frame)], frame))
	require.Equal(t, 1, port.Send(packet.ClassData, one[:]))
}
