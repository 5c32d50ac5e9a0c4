package transport

// Holdings counts what an endpoint keeps because of what its peers sent, or did not send.
type Holdings struct {
	Buffers    int // of the port, with packets behind gaps: at most Config.MaxHeld
	Gaps       int // queue pairs with such packets
	Recoveries int // queue pairs that recover from lost packets
	Neighbors  int // addresses in the neighbour table, its own included
}

// Holdings returns what the endpoint keeps now.
func (e *Endpoint) Holdings() Holdings {
	return Holdings{Buffers: e.held, Gaps: e.reorderBuffers.lent, Recoveries: e.recoveries.lent,
		Neighbors: e.neighbors.Len()}
}
