package engine

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/verbs/protocol"
)

// hostile is a program of a daemon that does what a list of bytes says.
type hostile struct {
	*endpoint
	data []byte
	null int // a descriptor of a file
}

func (h *hostile) byte() (b byte) {
	if len(h.data) > 0 {
		b, h.data = h.data[0], h.data[1:]
	}
	return b
}

// word returns a small number, or an extreme one.
func (h *hostile) word() uint32 {
	switch b := h.byte(); b {
	case 255:
		return 1<<32 - 1
	case 254:
		return 1 << 31
	case 253:
		return h.keys.LKey
	case 252:
		return h.qp.Number
	default:
		return uint32(b)
	}
}

// bodies are the sizes of requests. Those of the connection manager are in cmBodies.
var bodies = map[protocol.Op]any{protocol.OpHello: protocol.Hello{}, protocol.OpQueryPort: nil,
	protocol.OpAllocPD: nil, protocol.OpRegMR: protocol.RegMR{},
	protocol.OpReregMR:       protocol.RegMR{},
	protocol.OpCreateChannel: nil, protocol.OpCreateCQ: protocol.CreateCQ{},
	protocol.OpResizeCQ: protocol.CreateCQ{}, protocol.OpCreateSRQ: protocol.CreateSRQ{},
	protocol.OpModifySRQ: protocol.ModifySRQ{}, protocol.OpCreateQP: protocol.CreateQP{},
	protocol.OpModifyQP: protocol.QPAttr{}, protocol.OpCreateAH: protocol.CreateAH{},
	protocol.OpShareMemory: nil, protocol.OpCMCreateChannel: nil,
	protocol.OpCMCreateID: protocol.CMCreateID{}, protocol.OpCMBind: protocol.CMResolve{},
	protocol.OpCMResolveAddr: protocol.CMResolve{}, protocol.OpCMConnect: protocol.CMConnect{},
	protocol.OpCMAccept: protocol.CMConnect{}, protocol.OpCMReject: protocol.CMConnect{},
	protocol.OpCMSetOption: protocol.CMOption{}}

// request sends a request of the right size, whose body is made of words.
func (h *hostile) request() {
	op := protocol.Op(h.byte())
	if op > protocol.OpShareMemory {
		op = protocol.FirstCM + op%20
	}
	size := binary.Size(protocol.Handle{})
	if body, ok := bodies[op]; ok && body == nil {
		size = 0
	} else if ok {
		size = binary.Size(body)
	}
	m, err := protocol.Append(nil, protocol.Header{Op: op}, nil)
	require.NoError(h.t, err)
	for range size / 4 {
		m = binary.NativeEndian.AppendUint32(m, h.word())
	}
	for range size % 4 {
		m = append(m, h.byte())
	}
	if op == protocol.OpRegMR && h.byte()%4 > 0 { // of memory that exists
		binary.NativeEndian.PutUint64(m[protocol.HeaderSize:], h.addr(0))
	}
	_, _, fds := h.raw(m, []int{h.null, h.null, h.null}[:h.byte()%4]...)
	closeAll(fds)
}

// step does one thing that a program may do.
func (h *hostile) step() {
	write := func(mem []byte) {
		at := (int(h.byte())<<8 | int(h.byte())) % len(mem)
		n := min(int(h.byte())%64, len(mem)-at, len(h.data))
		copy(mem[at:], h.data[:n])
		h.data = h.data[n:]
	}
	switch h.byte() % 8 {
	case 0, 1:
		h.request()
	case 2:
		write(h.session)
	case 3:
		write(h.qp.memory)
	case 4:
		write(h.cq.memory)
	case 5:
		queue := h.qp.Send.Queue
		if h.byte()%2 == 1 {
			queue = h.qp.Recv.Queue
		}
		(&shared{bytes: h.session}).word(protocol.TailsOffset + 4*int(queue)).Store(h.word())
	case 6: // a valid request, if its parts are
		w := protocol.WQE{Opcode: h.byte(), Flags: h.byte(), Elements: uint16(h.byte()),
			RemoteAddr: h.addr(int(h.byte())), RKey: h.word(), Length: h.word()}
		h.qp.put(h.qp.Send, w, h.sge(int(h.byte()), int(h.byte())))
		h.qp.put(h.qp.Recv, protocol.RQE{Elements: h.word()}, h.sge(0, int(h.byte())))
	case 7: // its memory goes, or comes back
		how := unix.PROT_NONE
		if h.byte()%2 == 1 {
			how = unix.PROT_READ | unix.PROT_WRITE
		}
		require.NoError(h.t, unix.Mprotect(h.buffer[4096:], how))
	}
}

// Whatever a program does to its socket and to the memory that it shares, the programs beside it
// are served.
func FuzzHostileProgram(f *testing.F) {
	for op := range byte(40) {
		f.Add([]byte{0, op, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 5, 0, 9, 6, 0, 2, 1, 0, 253, 8, 9, 9, 1})
	}
	f.Add([]byte{5, 0, 255, 5, 1, 254, 3, 0, 0, 32, 255, 255, 255, 4, 0, 0, 16, 1, 2, 3, 4, 5, 6})
	f.Add([]byte{6, 2, 2, 1, 0, 253, 20, 0, 20, 1, 20, 6, 0, 2, 1, 0, 253, 20, 0, 20, 1, 20, 7, 0})
	f.Add([]byte{2, 0, 0, 16, 255, 255, 255, 255, 1, 0, 0, 0, 2, 1, 0, 8, 1, 1, 1, 1, 1, 1, 1, 1})
	e := daemonEngine(f)
	a, b := dialProcess(f, e).endpoint(typeRC, 0), dialProcess(f, e).endpoint(typeRC, 0)
	a.connect(b)
	b.connect(a)
	null, err := os.Open(os.DevNull)
	require.NoError(f, err)
	f.Cleanup(func() { _ = null.Close() })
	round := byte(0)
	f.Fuzz(func(t *testing.T, data []byte) {
		c := dialProcess(t, e)
		h := &hostile{endpoint: c.endpoint(typeRC, 0), data: data, null: int(null.Fd())}
		h.connect(h.endpoint)
		for len(h.data) > 0 {
			h.step()
		}
		require.NoError(t, e.do(func(*transport.Endpoint) {}))
		round++
		a.t, b.t = t, t
		a.buffer[0] = round
		b.qp.put(b.qp.Recv, protocol.RQE{Elements: 1}, b.sge(0, 8))
		a.qp.put(a.qp.Send, protocol.WQE{Elements: 1, Opcode: 2, Flags: sendSignaled}, a.sge(0, 8))
		require.Zero(t, a.cq.poll(t).Status)
		require.Zero(t, b.cq.poll(t).Status)
		require.Equal(t, round, b.buffer[0])
		c.close()
		require.NoError(t, unix.Munmap(h.buffer))
	})
}
