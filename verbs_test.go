package goroce

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// writer is a program on a polling core: it posts WRITEs until all are complete.
type writer struct {
	qp         *transport.QueuePair
	cq         *transport.CompletionQueue
	wr         transport.WorkRequest
	left, open int
	failed     transport.Status
}

func (w *writer) Step(*transport.Endpoint, units.Time) (busy, done bool) {
	var wcs [16]transport.WorkCompletion // as many as may be outstanding
	n := w.cq.Poll(wcs[:])
	for i := range n {
		if wcs[i].Status != transport.StatusSuccess {
			w.failed = wcs[i].Status
			return true, true
		}
	}
	w.open -= n
	for w.left > 0 && w.qp.SendRoom() > 0 {
		if w.qp.PostSend(&w.wr) != nil {
			break
		}
		w.left--
		w.open++
		n++
	}
	return n > 0, w.left == 0 && w.open == 0
}

// Verbs on the polling cores, with an endpoint on each of two queues and a recording.
func TestVerbsOnTwoQueues(t *testing.T) {
	record := filepath.Join(t.TempDir(), "all.pcap")
	faulty := 0
	var hosts [2]*Host
	for i := range hosts {
		o := Options{Queues: 2}
		if i == 0 {
			o.Pcap = record
			o.Wrap = func(queue int, p packet.Port) packet.Port {
				faulty++
				f, err := packet.NewFaults(p, packet.FaultOptions{Seed: uint64(queue) + 1,
					Send: packet.FaultRates{Lose: 0.01}})
				require.NoError(t, err)
				return f
			}
		}
		h, err := Open("loop:"+t.Name(), o)
		require.NoError(t, err)
		defer h.Close()
		require.Equal(t, 2, h.Endpoints())
		hosts[i] = h
	}
	require.Equal(t, 2, faulty)
	type end struct {
		qp *transport.QueuePair
		cq *transport.CompletionQueue
		mr *transport.MemoryRegion
	}
	for queue := range 2 {
		var ends [2]end
		for i, h := range hosts {
			require.NoError(t, h.Do(queue, func(ep *transport.Endpoint) {
				pd := ep.AllocPD()
				var err error
				ends[i].cq, err = ep.CreateCQ(64)
				require.NoError(t, err)
				ends[i].mr, err = ep.RegisterMemory(pd, make([]byte, 10000),
					transport.LocalWrite|transport.RemoteWrite)
				require.NoError(t, err)
				ends[i].qp, err = ep.CreateQP(transport.QPInit{PD: pd, SendCQ: ends[i].cq,
					RecvCQ: ends[i].cq, MaxSendWR: 16, MaxRecvWR: 1, SignalAll: true})
				require.NoError(t, err)
			}))
		}
		for i, h := range hosts {
			require.NoError(t, h.Do(queue, func(*transport.Endpoint) {
				require.NoError(t,
					ends[i].qp.Connect(transport.QPAttr{Access: transport.RemoteWrite,
						Path:    transport.AddressVector{IP: hosts[1-i].Addrs()[0].Addr()},
						PathMTU: 4 * units.KiB, DestQPN: ends[1-i].qp.Num, Timeout: 14,
						RetryCount: 7}))
			}))
		}
		copy(ends[0].mr.Bytes(), "queue "+string(rune('0'+queue)))
		w := &writer{qp: ends[0].qp, cq: ends[0].cq, left: 500,
			wr: transport.WorkRequest{Op: transport.OpWrite,
				SGList: []transport.SGE{ends[0].mr.SGE(0, 10000)}, RemoteAddr: ends[1].mr.Addr,
				RKey: ends[1].mr.RKey}}
		done, err := hosts[0].Run(queue, w)
		require.NoError(t, err)
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("the program did not end")
		}
		require.Equal(t, transport.StatusSuccess, w.failed)
		require.NoError(t, hosts[1].Do(queue, func(*transport.Endpoint) {
			require.Equal(t, ends[0].mr.Bytes(), ends[1].mr.Bytes())
		}))
		require.NoError(t, hosts[0].Do(queue, func(ep *transport.Endpoint) {
			require.NotZero(t, ep.Stats().Retransmitted, "what was lost was sent again")
		}))
	}
	require.NoError(t, hosts[0].Close())

	file, err := os.Open(record)
	require.NoError(t, err)
	defer file.Close()
	r, err := pcapgo.NewReader(file)
	require.NoError(t, err)
	frames, ops := 0, map[wire.Opcode]int{}
	for {
		data, info, err := r.ReadPacketData()
		if err != nil {
			break
		}
		require.WithinDuration(t, time.Now(), info.Timestamp, time.Minute)
		frames++
		var p wire.Packet
		if p.Parse(data) == nil {
			require.True(t, p.ICRC())
			ops[p.Op]++
		}
	}
	require.GreaterOrEqual(t, ops[wire.RCWriteFirst], 1000)
	require.NotZero(t, ops[wire.RCAck])
	require.Greater(t, frames, 3000)
}

func TestIdlePolicies(t *testing.T) {
	for _, name := range []string{"spin", "pause", "sleep"} {
		var i Idle
		require.NoError(t, i.Set(name))
		require.Equal(t, name, i.String())
		h, err := Open("loop:idle-"+name, Options{Idle: i})
		require.NoError(t, err)
		t0 := h.Now()
		time.Sleep(5 * time.Millisecond)
		require.InDelta(t, 5, h.Now().Sub(t0).Seconds()*1000, 50)
		require.NoError(t, h.Close())
	}
	var i Idle
	require.ErrorContains(t, i.Set("doze"), `"doze", want spin, pause or sleep`)
}
