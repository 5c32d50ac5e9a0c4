package goroce

// cycles reads the time stamp counter.
func cycles() uint64

// relax executes PAUSE n times.
func relax(n uint32)
