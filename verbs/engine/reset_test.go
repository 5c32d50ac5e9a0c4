package engine

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/verbs/protocol"
)

// A queue pair that is reset leaves no completions for the program to poll.
func TestResetRemovesCompletions(t *testing.T) {
	a, b := connectedProcesses(t)
	w := protocol.WQE{RemoteAddr: b.addr(0), RKey: b.keys.RKey, Flags: sendSignaled, Elements: 1}
	a.qp.put(a.qp.Send, w, a.sge(0, 8))
	ring := (&shared{bytes: a.cq.memory}).cqes(int(a.cq.Entries))
	require.Eventually(t, func() bool {
		written := false
		require.NoError(t, a.engine.do(func(*transport.Endpoint) {
			for cq := range a.engine.cqs {
				written = written || a.engine.cqs[cq].tail > 0
			}
		}))
		return written
	}, 10*time.Second, time.Millisecond)
	require.NotEqualValues(t, protocol.Void, ring[0].Opcode)
	a.must(protocol.OpModifyQP, &protocol.QPAttr{Handle: a.qp.Handle, Mask: attrState}, nil)
	require.EqualValues(t, protocol.Void, ring[0].Opcode)
}

// A datagram that cannot be sent ends the send queue alone.
func TestRefusedDatagram(t *testing.T) {
	const typeUD = 4
	o := dialProcess(t, daemonEngine(t)).endpoint(typeUD, 0)
	for _, step := range []struct {
		state transport.State
		mask  uint32
	}{{transport.Init, initPort | attrQKey}, {transport.ReadyToReceive, 0},
		{transport.ReadyToSend, attrSQPSN}} {
		o.must(protocol.OpModifyQP, &protocol.QPAttr{Handle: o.qp.Handle, PortNum: 1,
			State: uint32(step.state), Mask: step.mask | attrState}, nil)
	}
	o.qp.put(o.qp.Send, protocol.WQE{WRID: 7, Opcode: 200, Flags: sendSignaled})
	got := o.cq.poll(t)
	require.EqualValues(t, 7, got.WRID)
	require.EqualValues(t, statusLocQPOpErr, got.Status)
	var attr protocol.QPAttr
	o.must(protocol.OpQueryQP, &protocol.Handle{Handle: o.qp.Handle}, &attr)
	require.EqualValues(t, transport.SQErrored, attr.State)
}

// lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestWatch(t *testing.T) {
	a, _ := connectedProcesses(t)
	var out lockedBuffer
	stop := a.engine.Watch(&out, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		return strings.Contains(out.String(), "2 programs, 2 queue pairs") &&
			strings.Contains(out.String(), "RTS")
	}, 10*time.Second, 10*time.Millisecond)
	stop()
}
