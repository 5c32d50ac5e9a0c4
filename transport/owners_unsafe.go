package transport

import "unsafe"

// The parts of a queue pair are fields of QueuePair and exist nowhere else, so each finds its queue
// pair by its own address. Pointers would take half of one of the three cache lines that a packet
// touches (layout_test.go).

// conn returns the queue pair that the sender is a part of.
func (snd *sender) conn() *QueuePair {
	return (*QueuePair)(unsafe.Add(unsafe.Pointer(snd), -int(unsafe.Offsetof(QueuePair{}.snd))))
}

// conn returns the queue pair that the loss recovery is a part of.
func (loss *lossRecovery) conn() *QueuePair {
	return (*QueuePair)(unsafe.Add(unsafe.Pointer(loss), -int(unsafe.Offsetof(QueuePair{}.loss))))
}

// conn returns the queue pair that the congestion binding is a part of.
func (cong *congestion) conn() *QueuePair {
	return (*QueuePair)(unsafe.Add(unsafe.Pointer(cong), -int(unsafe.Offsetof(QueuePair{}.cong))))
}

// conn returns the queue pair that the receiver is a part of.
func (rcv *receiver) conn() *QueuePair {
	return (*QueuePair)(unsafe.Add(unsafe.Pointer(rcv), -int(unsafe.Offsetof(QueuePair{}.rcv))))
}

func (snd *sender) cold() *senderCold          { return &snd.conn().cold.snd }
func (loss *lossRecovery) cold() *lossCold     { return &loss.conn().cold.loss }
func (cong *congestion) cold() *congestionCold { return &cong.conn().cold.cong }
