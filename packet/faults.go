package packet

// FaultCounts is what happened to the frames of one direction.
type FaultCounts struct {
	Frames     uint64 // that came
	Lost       uint64
	Duplicated uint64
	Delayed    uint64
	Corrupted  uint64
	NoCopy     uint64 // not duplicated: no buffer for the copy, or no room in the queue
}

// Faults is a Port that spoils what goes through another: loss, duplication, reordering, wrong
// bits, in each direction with probabilities of its own or by explicit rules. The same seed and
// the same calls do the same.
//
// Every buffer it takes it passes on, frees or holds; what it holds can be seen by Held and is
// released by Flush. A delayed frame waits for those that follow it, in its class and direction:
// the last frame of a conversation may wait until Flush.
type Faults struct {
	port   Port
	info   Info
	by     int
	plans  [directions]*faultPlan
	counts [directions]FaultCounts

	refused [Classes]refusal   // fate of a frame that the port did not take yet
	sending [Classes][]delayed // on the way out
	coming  []delayed          // on the way in
	ready   []Buf              // received, more than the caller had room for

	second [1]Buf // a copy being made; here, so that the call of the port does not make it escape
	next   [1]Buf // a delayed frame being sent
}

type delayed struct {
	buf   Buf
	after int // frames to go first
}

type refusal struct {
	handle uintptr
	fate   fate
	valid  bool
}

// NewFaults wraps a port.
func NewFaults(port Port, o FaultOptions) (*Faults, error) {
	f := &Faults{port: port, info: port.Info(), by: orDefault(o.ReorderBy, 3)}
	for d, rates := range [directions]FaultRates{o.Send, o.Recv} {
		plan, err := newFaultPlan(o, Direction(d), rates)
		if err != nil {
			return nil, err
		}
		f.plans[d] = plan
	}
	if f.plans[DirectionSend].loses() {
		f.info.Reliable = false
	}
	return f, nil
}

// Counts answers what happened so far to the frames of one direction.
func (f *Faults) Counts(d Direction) FaultCounts { return f.counts[d] }

// Held answers how many buffers wait inside.
func (f *Faults) Held() int {
	n := len(f.coming) + len(f.ready)
	for _, held := range f.sending {
		n += len(held)
	}
	return n
}

// Flush lets go of every delayed frame: those on the way out are sent as far as the port takes
// them, those on the way in come with the next Recv. It answers how many still wait to be sent.
func (f *Faults) Flush() int {
	left := 0
	for class := range f.sending {
		for i := range f.sending[class] {
			f.sending[class][i].after = 0
		}
		f.releaseSend(Class(class))
		left += len(f.sending[class])
	}
	for i := range f.coming {
		f.coming[i].after = 0
	}
	f.releaseRecv()
	return left
}

// Info implements Port. A port that may lose what it took is not Reliable.
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

// sendOne does with one frame what is its fate, and says whether it is taken. The fate of a frame
// that the port refuses is kept for when it is offered again: else a full queue would make faults
// that the port cannot refuse, such as loss, more likely.
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
		f.sending[class] = append(f.sending[class], delayed{*b, f.by})
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
			flip(b.Data(), fate.bit) // still the caller's
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
	ok := f.copyOf(&one[0]) // before Send: afterwards the frame is the port's
	if f.port.Send(class, one) == 0 {
		if ok {
			f.port.Free(f.second[:])
		}
		return false
	}
	switch {
	case !ok:
		f.counts[DirectionSend].NoCopy++
	case f.port.Send(class, f.second[:]) == 0:
		f.port.Free(f.second[:])
		f.counts[DirectionSend].NoCopy++
	default:
		f.counts[DirectionSend].Duplicated++
	}
	return true
}

// Recv implements Port.
func (f *Faults) Recv(bufs []Buf) int {
	for class := range f.sending {
		f.releaseSend(Class(class)) // what a full queue held back
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
	f.tick(f.coming)
	switch fate.fault {
	case FaultLose:
		f.port.Free(one)
		counts.Lost++
		return
	case FaultDelay:
		f.coming = append(f.coming, delayed{b, f.by})
		counts.Delayed++
		return
	case FaultDuplicate:
		if f.copyOf(&b) {
			f.ready = append(f.ready, f.second[0])
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

// copyOf makes f.second a frame like b.
func (f *Faults) copyOf(b *Buf) bool {
	if f.port.Alloc(f.second[:]) == 0 {
		return false
	}
	second := &f.second[0]
	if len(second.Room()) < b.Len() {
		f.port.Free(f.second[:])
		return false
	}
	second.SetLen(copy(second.Room(), b.Data()))
	second.Time = b.Time
	return true
}

// tick tells the delayed frames that another one passes.
func (f *Faults) tick(held []delayed) {
	for i := range held {
		held[i].after--
	}
}

// releaseSend sends the delayed frames whose turn it is, as far as the port takes them.
func (f *Faults) releaseSend(class Class) {
	held := f.sending[class]
	for len(held) > 0 && held[0].after <= 0 {
		f.next[0] = held[0].buf
		if f.port.Send(class, f.next[:]) == 0 {
			break
		}
		held = held[:copy(held, held[1:])]
	}
	f.sending[class] = held
}

func (f *Faults) releaseRecv() {
	for len(f.coming) > 0 && f.coming[0].after <= 0 {
		f.ready = append(f.ready, f.coming[0].buf)
		f.coming = f.coming[:copy(f.coming, f.coming[1:])]
	}
}

func flip(frame []byte, bit int) { frame[bit/8] ^= 1 << (bit % 8) }
