package goroce

// cycles reads the time stamp counter.
func cycles() uint64

// relax tells the processor that this is a polling loop (PAUSE, n times).
func relax(n uint32)
