package differ

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
)

// Theirs is rxe in a guest, in which guest/responder.c creates the queue pairs. Behind each packet
// goes a READ to a queue pair of its own, the fence: the guest has one processor and handles queue
// pairs in turn, so when the fence's response has arrived, so have all responses to the packet.
// Requests that rxe defers, READs, are deferred in order, so the fence is a READ.
type Theirs struct {
	port  *os.File
	in    io.Writer
	lines *bufio.Reader

	to, fence target
	fencePSN  wire.PSN
	fenceCase Case
	frames    int // of cases, sent so far
}

// The fence's requester, and timeout and number of tries for its response.
const (
	fenceQPN      wire.QPN = 0x111111
	fencePatience          = 2 * time.Second
	fenceTries             = 5
	frameRoom              = 9000
)

// ErrGone is returned when the guest no longer responds: it may have crashed.
var ErrGone = errors.New("the guest does not respond")

// Meet opens the packet socket at an interface of the guest's switch, and takes over the responder
// program's input and output.
func Meet(iface string, in io.Writer, out io.Reader) (*Theirs, error) {
	t := &Theirs{in: in, lines: bufio.NewReader(out)}
	_, err := t.reply()
	if err != nil {
		return nil, err
	}
	if t.port, err = openSocket(iface); err != nil {
		return nil, err
	}
	t.fenceCase = Case{Type: transport.RC, MTU: 256, Access: regionAccess[regionAll], Reads: 4}
	t.fence.qpn, err = t.open(0, &t.fenceCase, fenceQPN)
	if err != nil {
		return nil, errors.Join(err, t.port.Close())
	}
	return t, nil
}

// Leave closes the packet socket.
func (t *Theirs) Leave() error { return t.port.Close() }

// command sends the responder program a line and returns its output before "ok", and behind it.
func (t *Theirs) command(format string, args ...any) ([]string, error) {
	if _, err := fmt.Fprintf(t.in, format+"\n", args...); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return t.reply()
}

func (t *Theirs) reply() ([]string, error) {
	var said []string
	for {
		line, err := t.lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrGone, err)
		}
		line = strings.TrimSpace(line)
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "ok":
			if rest != "" {
				said = append(said, rest)
			}
			return said, nil
		case "error":
			return nil, fmt.Errorf("responder: %s", rest)
		}
		said = append(said, line)
	}
}

// ibverbs' numbers.
var (
	ibvType  = map[transport.QPType]int{transport.RC: 2, transport.UC: 3, transport.UD: 4}
	ibvMTU   = map[int]int{256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
	ibvState = []transport.State{
		transport.Reset,
		transport.Init,
		transport.ReadyToReceive,
		transport.ReadyToSend,
		transport.SQDrained,
		transport.SQErrored,
		transport.Errored,
	}
)

// open creates a queue pair in one of the program's slots.
func (t *Theirs) open(slot int, c *Case, from wire.QPN) (qpn wire.QPN, err error) {
	source := 1
	if c.V6 {
		source = 2
	}
	said, err := t.command(
		"open %d %d %d %d %d %d %d %d %d %d %s %d %d",
		slot,
		ibvType[c.Type],
		ibvMTU[c.MTU],
		c.Access,
		c.Recvs,
		c.RecvLen,
		c.Reads,
		c.Timer,
		c.PSN,
		c.QKey,
		gid(requester[c.V6]),
		source,
		from,
	)
	if err != nil {
		return 0, err
	}
	for r, line := range said[:len(said)-1] {
		region := &t.to.regions[r]
		if _, err := fmt.Sscanf(line, "region %x %x", &region.addr, &region.key); err != nil {
			return 0, fmt.Errorf("open: unexpected output %q of the responder: %w", line, err)
		}
	}
	_, err = fmt.Sscan(said[len(said)-1], &qpn)
	return qpn, err
}

func gid(a netip.Addr) string {
	if a.Is4() {
		return "::ffff:" + a.String()
	}
	return a.String()
}

// Open implements Responder.
func (t *Theirs) Open(c *Case) (err error) {
	t.to.qpn, err = t.open(1, c, requesterQPN)
	return err
}

// Send implements Responder.
func (t *Theirs) Send(c *Case, packets []Packet) ([]Response, error) {
	for i := range packets {
		t.frames++
		if _, err := t.port.Write(c.frame(&packets[i], &t.to)); err != nil {
			return nil, err
		}
	}
	var responses []Response
	question := Packet{Op: wire.RCReadRequest, PSN: int32(t.fencePSN)}
	t.fencePSN = t.fencePSN.Add(1)
	for range fenceTries {
		if _, err := t.port.Write(t.fenceCase.frame(&question, &t.fence)); err != nil {
			return nil, err
		}
		closed, err := t.until(c, wire.PSN(question.PSN), &responses)
		if err != nil || closed {
			return responses, err
		}
	}
	return nil, ErrGone
}

// until receives responses up to the fence's.
func (t *Theirs) until(c *Case, fence wire.PSN, responses *[]Response) (closed bool, err error) {
	if err := t.port.SetReadDeadline(time.Now().Add(fencePatience)); err != nil {
		return false, err
	}
	frame := make([]byte, frameRoom)
	for {
		n, err := t.port.Read(frame)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if n < wire.EthernetLen || [6]byte(frame[:6]) != requesterMAC {
			continue
		}
		var p wire.Packet
		if err := p.Parse(frame[:n]); errors.Is(err, wire.ErrNotRoCE) {
			continue
		} else if err == nil && p.DestQP == fenceQPN {
			if p.PSN == fence {
				return true, nil
			}
			continue
		}
		*responses = append(*responses, c.parseResponse(frame[:n]))
	}
}

// Close implements Responder.
func (t *Theirs) Close() error {
	_, err := t.command("close 1")
	return err
}

// Look implements Responder.
func (t *Theirs) Look(c *Case) (*Effect, error) {
	said, err := t.command("look 1")
	if err != nil {
		return nil, err
	}
	e, r := &Effect{}, 0
	for _, line := range said {
		word, _, _ := strings.Cut(line, " ")
		var err error
		switch word {
		case "state":
			var state int
			var psn wire.PSN
			_, err = fmt.Sscanf(line, "state %d %d", &state, &psn)
			e.State = ibvState[state]
			e.expects(c, psn)
		case "memory":
			_, err = fmt.Sscanf(line, "memory %x", &e.Memory[r])
			r++
		default:
			var w Completion
			w, err = completion(line)
			e.Completions = append(e.Completions, w.normal())
		}
		if err != nil {
			return nil, fmt.Errorf("look: unexpected output %q of the responder: %w", line, err)
		}
	}
	return e, nil
}

// completion parses responder.c's line for a completion.
func completion(line string) (w Completion, err error) {
	const opRecv, opRecvImm, flagGRH, flagImm, flagInv = 128, 129, 1, 2, 8
	var status, op, flags int
	_, err = fmt.Sscanf(
		line,
		"done %d %d %d %d %x %d %d",
		&w.ID,
		&status,
		&op,
		&w.Len,
		&w.Imm,
		&flags,
		&w.SrcQP,
	)
	w.Status, w.Op = transport.Status(status), transport.OpRecv
	if op == opRecvImm {
		w.Op = transport.OpRecvWriteImm
	}
	known := map[int]completionFlags{
		flagGRH: withGRH, flagImm: withImm, flagInv: withInv,
	}
	for theirs, ours := range known {
		if flags&theirs != 0 {
			w.Flags |= ours
		}
	}
	return w, err
}

// Dump implements Responder.
func (t *Theirs) Dump(region int) ([]byte, error) {
	said, err := t.command("dump %d", region)
	if err != nil || len(said) != 1 {
		return nil, errors.Join(fmt.Errorf("dump: %d lines", len(said)), err)
	}
	return hex.DecodeString(strings.TrimPrefix(said[0], "bytes "))
}
