package packet

// FaultCounts counts the frames of one direction and the faults injected into them.
type FaultCounts struct {
	Frames     uint64 // all frames
	Lost       uint64
	Duplicated uint64
	Delayed    uint64
	Corrupted  uint64
	NoCopy     uint64 // not duplicated, for lack of a buffer or of room in the queue
}

// Faults is a Port that injects faults into the frames of the port it wraps: loss, duplication,
// reordering and bit errors. Each direction has its own probabilities and rules. The same seed and
// the same calls produce the same faults.
//
// Faults passes on, frees or holds every buffer it accepts. Held returns how many it holds and
// Flush releases them. A delayed frame waits for the following frames of its class and direction,
// so the last frame of a conversation may wait until Flush.
type Faults struct {
	port      Port
	info      Info
	reorderBy int
	plans     [directions]*faultPlan
	counts    [directions]FaultCounts

	refused   [Classes]refusal   // fate of a frame that the port has refused
	sending   [Classes][]delayed // delayed frames being sent
	receiving []delayed          // delayed frames being received
	ready     []Buf              // received frames that did not fit the caller's burst

	duplicate [1]Buf // a duplicate being made; a local array would escape to the heap
	next      [1]Buf // a delayed frame being sent
}

type delayed struct {
	buf       Buf
	remaining int // frames that still have to pass first
}

type refusal struct {
	handle uintptr
	fate   fate
	valid  bool
}

// NewFaults wraps a port.
func NewFaults(port Port, o FaultOptions) (*Faults, error) {
	f := &Faults{port: port, info: port.Info(), reorderBy: orDefault(o.ReorderBy, 3)}
	for d, rates := range [directions]FaultRates{o.Send, o.Recv} {
		plan, err := newFaultPlan(o, Direction(d), rates)
		if err != nil {
			return nil, err
		}
		f.plans[d] = plan
	}
	if f.plans[DirectionSend].mayDrop() {
		f.info.Reliable = false
	}
	return f, nil
}

// Counts returns the counts of one direction so far.
func (f *Faults) Counts(d Direction) FaultCounts { return f.counts[d] }

// Held returns how many buffers are held.
func (f *Faults) Held() int {
	n := len(f.receiving) + len(f.ready)
	for _, held := range f.sending {
		n += len(held)
	}
	return n
}

// Flush releases every delayed frame. Frames being sent are sent as far as the port accepts them;
// frames being received are returned by the next Recv. Flush returns how many frames still wait to
// be sent.
func (f *Faults) Flush() int {
	left := 0
	for class := range f.sending {
		for i := range f.sending[class] {
			f.sending[class][i].remaining = 0
		}
		f.releaseSend(Class(class))
		left += len(f.sending[class])
	}
	for i := range f.receiving {
		f.receiving[i].remaining = 0
	}
	f.releaseRecv()
	return left
}

// Info implements Port. A port that may drop frames it accepted is not Reliable.
func (f *Faults) Info() Info { return f.info }

// Alloc implements Port.
func (f *Faults) Alloc(bufs []Buf) int { return f.port.Alloc(bufs) }

// Free implements Port.
func (f *Faults) Free(bufs []Buf) { f.port.Free(bufs) }

// Send implements Port.
func (f *Faults) Send(class Class, bufs []Buf) int {
	class = min(class, Classes-1)
	f.releaseSend(class)
	for i := range bufs {
		if !f.sendOne(class, bufs[i:i+1]) {
			return i
		}
		f.counts[DirectionSend].Frames++
		f.releaseSend(class)
	}
	return len(bufs)
}

// sendOne injects the fault chosen for one frame, if any, and reports whether the frame was
// accepted. The fate of a frame that the port refuses is kept until the frame is offered again.
// Otherwise a full queue would make faults that the port cannot refuse, such as loss, more likely.
func (f *Faults) sendOne(class Class, one []Buf) bool {
	b, r := &one[0], &f.refused[class]
	if !r.valid || r.handle != b.Handle {
		*r = refusal{handle: b.Handle, fate: f.plans[DirectionSend].decide(b.Data()), valid: true}
	}
	counts := &f.counts[DirectionSend]
	taken := true
	switch fate := r.fate; fate.fault {
	case FaultLose:
		f.port.Free(one)
		counts.Lost++
	case FaultDelay:
		f.tick(f.sending[class])
		f.sending[class] = append(f.sending[class], delayed{*b, f.reorderBy})
		counts.Delayed++
		r.valid = false
		return true
	case FaultDuplicate:
		taken = f.sendTwice(class, one)
	case FaultCorrupt:
		flip(b.Data(), fate.bit)
		if taken = f.port.Send(class, one) == 1; taken {
			counts.Corrupted++
		} else {
			flip(b.Data(), fate.bit) // the caller still owns it
		}
	default:
		taken = f.port.Send(class, one) == 1
	}
	if taken {
		r.valid = false
		f.tick(f.sending[class])
	}
	return taken
}

func (f *Faults) sendTwice(class Class, one []Buf) bool {
	ok := f.copyOf(&one[0]) // before Send, after which the port owns the frame
	if f.port.Send(class, one) == 0 {
		if ok {
			f.port.Free(f.duplicate[:])
		}
		return false
	}
	switch {
	case !ok:
		f.counts[DirectionSend].NoCopy++
	case f.port.Send(class, f.duplicate[:]) == 0:
		f.port.Free(f.duplicate[:])
		f.counts[DirectionSend].NoCopy++
	default:
		f.counts[DirectionSend].Duplicated++
	}
	return true
}

// Recv implements Port.
func (f *Faults) Recv(bufs []Buf) int {
	for class := range f.sending {
		f.releaseSend(Class(class)) // frames that a full queue held back
	}
	if room := len(bufs) - len(f.ready); room > 0 {
		n := f.port.Recv(bufs[:room])
		for i := range n {
			f.recvOne(bufs[i : i+1])
			f.counts[DirectionRecv].Frames++
			f.releaseRecv()
		}
	}
	n := copy(bufs, f.ready)
	f.ready = f.ready[:copy(f.ready, f.ready[n:])]
	return n
}

func (f *Faults) recvOne(one []Buf) {
	b, counts := one[0], &f.counts[DirectionRecv]
	fate := f.plans[DirectionRecv].decide(b.Data())
	f.tick(f.receiving)
	switch fate.fault {
	case FaultLose:
		f.port.Free(one)
		counts.Lost++
		return
	case FaultDelay:
		f.receiving = append(f.receiving, delayed{b, f.reorderBy})
		counts.Delayed++
		return
	case FaultDuplicate:
		if f.copyOf(&b) {
			f.ready = append(f.ready, f.duplicate[0])
			counts.Duplicated++
		} else {
			counts.NoCopy++
		}
	case FaultCorrupt:
		flip(b.Data(), fate.bit)
		counts.Corrupted++
	}
	f.ready = append(f.ready, b)
}

// copyOf copies b to f.duplicate. It reports whether a large enough buffer was available.
func (f *Faults) copyOf(b *Buf) bool {
	if f.port.Alloc(f.duplicate[:]) == 0 {
		return false
	}
	duplicate := &f.duplicate[0]
	if len(duplicate.Room()) < b.Len() {
		f.port.Free(f.duplicate[:])
		return false
	}
	duplicate.SetLen(copy(duplicate.Room(), b.Data()))
	duplicate.Time = b.Time
	return true
}

// tick counts a passing frame for each of the delayed frames.
func (f *Faults) tick(held []delayed) {
	for i := range held {
		held[i].remaining--
	}
}

// releaseSend sends the delayed frames that are due, as far as the port accepts them.
func (f *Faults) releaseSend(class Class) {
	held := f.sending[class]
	for len(held) > 0 && held[0].remaining <= 0 {
		f.next[0] = held[0].buf
		if f.port.Send(class, f.next[:]) == 0 {
			break
		}
		held = held[:copy(held, held[1:])]
	}
	f.sending[class] = held
}

func (f *Faults) releaseRecv() {
	for len(f.receiving) > 0 && f.receiving[0].remaining <= 0 {
		f.ready = append(f.ready, f.receiving[0].buf)
		f.receiving = f.receiving[:copy(f.receiving, f.receiving[1:])]
	}
}

func flip(frame []byte, bit int) { frame[bit/8] ^= 1 << (bit % 8) }
