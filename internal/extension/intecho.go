package extension

import "encoding/binary"

// intEchoHead is what an INTEcho has before its records.
const intEchoHead = 8

// INTEcho is the TLV of an XACK that returns to the sender what switches wrote into the INT of the
// newest packet that had one.
type INTEcho []byte

// INTEchoLen is the length of an INTEcho of n records.
func INTEchoLen(n int) int { return intEchoHead + n*intRecordLen }

// Set writes the whole TLV, INTEchoLen(n) bytes, with the n records that are in t, and the packet
// that brought them.
func (e INTEcho) Set(t INT, psn uint32) {
	n := t.Filled()
	binary.BigEndian.PutUint32(e, uint32(TLVINTEcho)<<24|uint32(INTEchoLen(n)/4)<<16|uint32(n)<<8)
	binary.BigEndian.PutUint32(e[4:], psn<<8)
	copy(e[intEchoHead:], t[intHeaderLen:][:n*intRecordLen])
}

// Records is how many there are.
func (e INTEcho) Records() int { return int(e[2]) }

// PSN is the packet that brought them.
func (e INTEcho) PSN() uint32 { return binary.BigEndian.Uint32(e[4:]) >> 8 }

// Record answers record i.
func (e INTEcho) Record(i int) INTRecord {
	return intRecord(e[intEchoHead+i*intRecordLen:][:intRecordLen])
}

func (e INTEcho) valid() bool {
	return len(e) >= intEchoHead && e.Records() <= MaxINTRecords &&
		len(e) == INTEchoLen(e.Records())
}
