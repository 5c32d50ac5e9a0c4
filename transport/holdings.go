package transport

// Holdings is what an endpoint keeps because of what others sent it, or did not send.
type Holdings struct {
	QueuePairs int
	Buffers    int // of the port, with packets behind gaps: Config.MaxHeld at most
	Gaps       int // queue pairs with such packets
	Recoveries int // queue pairs that know of lost packets
	Neighbors  int // addresses in the neighbour table, the own ones included
}

// Holdings returns what the endpoint keeps now.
func (e *Endpoint) Holdings() Holdings {
	return Holdings{QueuePairs: e.qps.count, Buffers: e.held, Gaps: e.reorderBuffers.lent,
		Recoveries: e.recoveries.lent,
		Neighbors:  e.neighbors.Len()}
}
