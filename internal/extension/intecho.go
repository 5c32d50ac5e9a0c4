package extension

import "encoding/binary"

// intEchoHead is the length of an INTEcho before its records.
const intEchoHead = 8

// INTEcho is the TLV of an XACK that returns the records in the newest INT to the sender.
type INTEcho []byte

// INTEchoLen returns the length of an INTEcho of n records.
func INTEchoLen(n int) int { return intEchoHead + n*intRecordLen }

// Set writes the whole TLV, INTEchoLen(n) bytes, with the n records in t and the PSN of the packet
// that had them.
func (e INTEcho) Set(t INT, psn uint32) {
	n := t.Filled()
	binary.BigEndian.PutUint32(e, uint32(TLVINTEcho)<<24|uint32(INTEchoLen(n)/4)<<16|uint32(n)<<8)
	binary.BigEndian.PutUint32(e[4:], psn<<8)
	copy(e[intEchoHead:], t[intHeaderLen:][:n*intRecordLen])
}

// Records returns the number of records.
func (e INTEcho) Records() int { return int(e[2]) }

// PSN returns the PSN of the packet that had the records.
func (e INTEcho) PSN() uint32 { return binary.BigEndian.Uint32(e[4:]) >> 8 }

// Record returns record i.
func (e INTEcho) Record(i int) INTRecord {
	return intRecord(e[intEchoHead+i*intRecordLen:][:intRecordLen])
}

func (e INTEcho) valid() bool {
	return len(e) >= intEchoHead && e.Records() <= MaxINTRecords &&
		len(e) == INTEchoLen(e.Records())
}
