package impair

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// captured returns the frames of a capture of Linux soft-RoCE: a file header of 24 bytes, then 16
// bytes before each frame, whose third word is the frame's length.
func captured(t testing.TB, name string) (frames [][]byte) {
	data, err := os.ReadFile("../transport/wire/testdata/" + name + ".pcap")
	require.NoError(t, err)
	for data = data[24:]; len(data) > 0; {
		n := 16 + binary.LittleEndian.Uint32(data[8:])
		frames = append(frames, data[16:n:n])
		data = data[n:]
	}
	return frames
}

func rules(t testing.TB, text string) *Rules {
	r, err := Parse("test", []byte(text))
	require.NoError(t, err)
	return r
}

// run passes n packets with PSNs from 0 through a box, one each microsecond, and returns what
// arrives at the other end, and the box.
func run(t testing.TB, text string, n int) (arrived [][]byte, x *Box) {
	near, a := packet.Pipe(packet.PipeOptions{})
	far, b := packet.Pipe(packet.PipeOptions{})
	x = New(rules(t, text), a, b)
	frame := captured(t, "rc-dscp26-ect0")[0]
	now := units.Time(0)
	step := func() {
		x.Poll(now)
		var bufs [packet.Burst]packet.Buf
		for k := far.Recv(bufs[:]); k > 0; k = far.Recv(bufs[:]) {
			for i := range k {
				arrived = append(arrived, bytes.Clone(bufs[i].Data()))
			}
			far.Free(bufs[:k])
		}
	}
	for i := range n {
		now = now.Add(units.Microsecond)
		send(t, near, numbered(t, frame, i))
		step()
	}
	for range 100 {
		now = now.Add(units.Millisecond)
		step()
	}
	_, next := x.Poll(now)
	require.Zero(t, next, "nothing is held")
	require.Zero(t, a.Outstanding()+b.Outstanding()+near.Outstanding()+far.Outstanding())
	return arrived, x
}

func send(t testing.TB, p packet.Port, frame []byte) {
	var one [1]packet.Buf
	require.Equal(t, 1, p.Alloc(one[:]))
	one[0].SetLen(copy(one[0].Room(), frame))
	require.Equal(t, 1, p.Send(packet.ClassData, one[:]))
}

// numbered returns a packet with another PSN.
func numbered(t testing.TB, frame []byte, psn int) []byte {
	frame = bytes.Clone(frame)
	var p wire.Packet
	require.NoError(t, p.Parse(frame))
	p.BTH().PSN.Set(uint32(psn))
	p.SetICRC()
	return frame
}

// psns returns the PSNs of valid packets.
func psns(t testing.TB, frames [][]byte) (all []int) {
	for _, f := range frames {
		var p wire.Packet
		require.NoError(t, p.Parse(f))
		if p.ICRC() {
			all = append(all, int(p.PSN))
		}
	}
	return all
}

func TestNoRules(t *testing.T) {
	arrived, x := run(t, "", 1000)
	for i, psn := range psns(t, arrived) {
		require.Equal(t, i, psn)
	}
	require.Equal(t, Counts{Frames: 1000, RoCE: 1000, Sent: 1000}, x.Report().A)
}

// TestSelection checks which packets a rule applies to.
func TestSelection(t *testing.T) {
	for match, want := range map[string]int{
		"every: 10": 10, "nth: [3, 7-9]": 4, "psn: 20-29": 10, "psn: [5, 0x10]": 2, "op: ack": 0,
		"op: [send, write]": 100, "op: RC_SEND_ONLY_IMM": 0, "qp: 0xffffff": 0,
		"probability: 1": 100, "probability: 0": 0, "from: a": 100, "from: b": 0,
		"after: 50us": 50, "for: 10us": 10, "{after: 90us, for: 5us}": 5,
	} {
		match = strings.Trim(match, "{}")
		arrived, x := run(t, fmt.Sprintf("rules: [{lose: true, %s}]", match), 100)
		require.Len(t, arrived, 100-want, match)
		require.EqualValues(t, want, x.Report().Rules[0].Applied, match)
		require.EqualValues(t, want, x.Report().A.Lost, match)
	}
	_, x := run(t, "seed: 3\nrules: [{lose: true, probability: 10%}]", 10000)
	require.InDelta(t, 1000, x.Report().A.Lost, 120) // 4 sigma
}

// TestReproducible checks that the seed alone decides, and that a further rule does not change what
// another one does.
func TestReproducible(t *testing.T) {
	const loss = "rules: [{lose: true, probability: 10%}"
	one, _ := run(t, "seed: 1\n"+loss+"]", 500)
	same, _ := run(t, "seed: 1\n"+loss+"]", 500)
	more, _ := run(t, "seed: 1\n"+loss+", {delay: 3us, probability: 50%}]", 500)
	other, _ := run(t, "seed: 2\n"+loss+"]", 500)
	require.Equal(t, one, same)
	require.NotEqual(t, one, other)
	require.ElementsMatch(t, one, more)
}

func TestDuplicateAndReorder(t *testing.T) {
	arrived, x := run(t, "rules: [{duplicate: 2, nth: 5}, {reorder: 3, nth: 8}]", 20)
	require.Equal(t, []int{0, 1, 2, 3, 4, 4, 4, 5, 6, 8, 9, 10, 7, 11, 12, 13, 14, 15, 16, 17, 18,
		19}, psns(t, arrived))
	require.EqualValues(t, 2, x.Report().A.Duplicated)
	arrived, _ = run(t, "rules: [{reorder: 3, nth: 20}]", 20)
	require.Len(t, arrived, 20, "the last packet leaves after a while")
}

// TestCorrupt checks that one bit of the UDP payload changes, and nothing else.
func TestCorrupt(t *testing.T) {
	frame := captured(t, "rc-dscp26-ect0")[0]
	arrived, _ := run(t, "rules: [{corrupt: 1}]", 100)
	require.Len(t, arrived, 100)
	for i, got := range arrived {
		was, flipped := numbered(t, frame, i), 0
		for k := range was {
			flipped += bits.OnesCount8(was[k] ^ got[k])
			require.True(t, k >= 42 || was[k] == got[k])
		}
		require.Equal(t, 1, flipped)
	}
}

func TestDelayAndRate(t *testing.T) {
	frame := captured(t, "rc-dscp26-ect0")[0]
	const fit = 3
	r := rules(t, fmt.Sprintf("rules: [{delay: 10us}, {rate: 1Gb/s, queue: %d}]", fit*len(frame)))
	d := newDirection(r, "a", 0)
	d.other = d
	for i := range 10 {
		d.pass(numbered(t, frame, i), 1)
	}
	require.EqualValues(t, 10-fit, d.counts.QueueFull)
	took := units.Gbps.Duration(units.Bytes(len(frame)))
	for i := range fit {
		at := units.Time(1).Add(10*units.Microsecond + units.Duration(i+1)*took)
		require.Equal(t, at, d.held.deadline())
		_, early := d.held.next(at - 1)
		require.False(t, early)
		_, due := d.held.next(at)
		require.True(t, due)
		d.held.remove()
	}
	r = rules(t, "rules: [{delay: 1us, jitter: 9us}]")
	d = newDirection(r, "a", 0)
	d.pass(frame, 1)
	require.GreaterOrEqual(t, d.held.deadline(), units.Time(units.Microsecond))
	require.Less(t, d.held.deadline(), units.Time(11*units.Microsecond))
}

// TestMark checks that only the mark changes, in ECN-capable packets only, over IPv4 and IPv6.
func TestMark(t *testing.T) {
	for _, c := range []struct {
		capture string
		want    uint8
	}{{"rc-dscp26-ect0", wire.ECNCE}, {"rc-send-multi", wire.ECNNotECT},
		{"v6-send-multi", wire.ECNNotECT}} {
		d := newDirection(rules(t, "rules: [{mark: true}]"), "a", 0)
		frame := bytes.Clone(captured(t, c.capture)[0])
		d.pass(frame, 1)
		var p wire.Packet
		require.NoError(t, p.Parse(frame), "the checksum is right")
		require.True(t, p.ICRC())
		require.Equal(t, c.want, p.ECN)
	}
	frame := bytes.Clone(captured(t, "v6-send-multi")[0])
	frame[15] |= wire.ECNECT0 << 4
	d := newDirection(rules(t, "rules: [{mark: true}]"), "a", 0)
	d.pass(frame, 1)
	var p wire.Packet
	require.NoError(t, p.Parse(frame))
	require.EqualValues(t, wire.ECNCE, p.ECN)
	require.EqualValues(t, 1, d.counts.Marked)
}

// TestCNP checks a CNP beside an acknowledgement, once after marks.
func TestCNP(t *testing.T) {
	text := "rules: [{mark: true, from: a}, {cnp: true, from: b, op: ack, after_mark: true}]"
	for _, capture := range []string{"rc-dscp26-ect0", "v6-send-multi"} {
		x := New(rules(t, text), nil, nil)
		there, back := x.directions[0], x.directions[1]
		for _, f := range captured(t, capture) {
			f = bytes.Clone(f)
			var p wire.Packet
			require.NoError(t, p.Parse(f))
			if p.Op == wire.RCAck {
				back.pass(f, 1)
				back.pass(f, 1) // finds no new mark
				continue
			}
			if p.V6 {
				f[15] |= wire.ECNECT0 << 4
			}
			there.pass(f, 1)
		}
		require.Positive(t, back.counts.CNPs, capture)
		var cnp wire.Packet
		found := 0
		for _, f := range back.held.frames {
			require.NoError(t, cnp.Parse(f.data))
			require.True(t, cnp.ICRC())
			if cnp.Op == wire.CNP {
				found++
				require.NotZero(t, cnp.BTH().Congestion&wire.BTHBECN)
				there.pass(f.data, 1) // as if its sender had sent it
			}
		}
		require.EqualValues(t, back.counts.CNPs, found)
		require.EqualValues(t, found, there.counts.SentCNPs)
		require.Zero(t, there.counts.BECNs)
		data := bytes.Clone(captured(t, capture)[0])
		require.NoError(t, cnp.Parse(data))
		cnp.BTH().Congestion |= wire.BTHBECN
		there.pass(data, 1)
		require.EqualValues(t, 1, there.counts.BECNs)
	}
}

// TestPause checks the PFC frame to the sender.
func TestPause(t *testing.T) {
	near, a := packet.Pipe(packet.PipeOptions{})
	_, b := packet.Pipe(packet.PipeOptions{})
	x := New(rules(t, "rules: [{pause: 500, priority: 3, nth: 1}]"), a, b)
	send(t, near, captured(t, "rc-dscp26-ect0")[0])
	x.Poll(1)
	var one [1]packet.Buf
	require.Equal(t, 1, near.Recv(one[:]))
	f := one[0].Data()
	require.Len(t, f, 60)
	require.Equal(t, []byte{1, 0x80, 0xc2, 0, 0, 1}, f[:6])
	require.Equal(t, []byte{0x88, 8, 1, 1, 0, 8}, f[12:18])
	require.EqualValues(t, 500, binary.BigEndian.Uint16(f[24:]))
}

// TestOthersPass checks that frames that are not RoCEv2 pass whatever the rules are.
func TestOthersPass(t *testing.T) {
	near, a := packet.Pipe(packet.PipeOptions{})
	far, b := packet.Pipe(packet.PipeOptions{})
	x := New(rules(t, "rules: [{lose: true}]"), a, b)
	arp := make([]byte, 60)
	arp[12], arp[13] = 8, 6
	send(t, near, arp)
	x.Poll(1)
	var one [1]packet.Buf
	require.Equal(t, 1, far.Recv(one[:]))
	require.Equal(t, arp, one[0].Data())
	require.Equal(t, Counts{Frames: 1, Sent: 1}, x.Report().A)
}

func TestRuleErrors(t *testing.T) {
	for text, want := range map[string]string{
		"x: 1":                                     "test:1: field x not found",
		"rules: 7":                                 "test:1: cannot unmarshal",
		"rules: [7]":                               "test:1: a rule must be a mapping",
		"rules:\n- {}":                             "test:2: a rule must do one thing",
		"rules:\n- lose: true\n  delay: 1us":       "this one does 2",
		"rules:\n- lose: true\n  los: 1":           `test:3: "los" is not a key`,
		"rules:\n- lose: true\n  op: SENT":         `test:3: "SENT" is neither an opcode`,
		"rules:\n- lose: true\n  psn: 9-1":         `test:3: "9-1" is neither a number`,
		"rules:\n- lose: true\n  probability: 2":   `test:3: "2" is not a probability`,
		"rules:\n- delay: 5":                       `test:2: "5" is not a duration`,
		"rules:\n- rate: fast":                     `test:2: "fast" is not a rate`,
		"rules:\n- {rate: 1Gb/s, queue: x}":        `"x" is not a size`,
		"rules:\n- {lose: true, queue: 1KiB}":      "queue belongs to rate",
		"rules:\n- {lose: true, priority: 1}":      "priority belongs to pause",
		"rules:\n- {lose: true, after_mark: true}": "after_mark belongs to cnp",
		"rules:\n- {pause: 70000}":                 "1 to 65535 quanta",
		"rules:\n- {pause: 7, priority: 9}":        "0 to 7",
		"rules:\n- {duplicate: -1}":                "copies",
		"rules:\n- {reorder: -1}":                  "packets",
		"rules:\n- {corrupt: -1}":                  "bits",
		"rules:\n- {delay: 100s}":                  "at most",
		"rules:\n- {lose: true, every: -1}":        "at least 1",
		"rules:\n- {lose: true, every: 1, nth: 1}": "at most one of",
		"rules:\n- {lose: true, from: c}":          `from is "c"`,
		"rules:\n- {lose: true, qp: {}}":           "a list of values",
		"rules:\n- {lose: true, qp: [[1]]}":        "not a list",
		"rules:\n- {lose: maybe}":                  "test:2: cannot unmarshal",
		"seed: 1\n---\nseed: 2":                    "more than one YAML document",
		"rules: [":                                 "test:1:",
	} {
		_, err := Parse("test", []byte(text))
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "test:", text)
	}
	_, err := Load("no such file")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("seed: 7\nrules:\n- {lose: true, op: [SEND, ACK], qp: 0x11, psn: 1-9, nth: 3}\n"))
	f.Add([]byte("rules:\n- {rate: 1Gb/s, queue: 2KiB}\n- {delay: 1us, jitter: 2us, every: 3}\n"))
	f.Add([]byte("rules:\n- {cnp: true, after_mark: true}\n- {pause: 7, priority: 3, for: 1s}\n"))
	frames := captured(f, "rc-dscp26-ect0")
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Parse("fuzz", text)
		if err != nil {
			return
		}
		x := New(r, nil, nil)
		for _, frame := range frames {
			x.directions[0].pass(bytes.Clone(frame), 1)
		}
		require.Len(t, x.Report().Rules, len(r.Rules))
	})
}

func FuzzFrames(f *testing.F) {
	for _, name := range []string{"rc-dscp26-ect0", "v6-send-multi"} {
		f.Add(captured(f, name)[0])
	}
	r := rules(f, "rules: [{corrupt: 3}, {mark: true}, {cnp: true}, {pause: 3}, {duplicate: 1}]")
	f.Fuzz(func(t *testing.T, frame []byte) {
		x := New(r, nil, nil)
		was := len(frame)
		x.directions[0].pass(frame, 1)
		require.Len(t, frame, was)
	})
}
