package transport

import "github.com/goroce/goroce/transport/wire"

// incomplete says whether packets are missing that the peer is known to have sent.
func (qp *QueuePair) incomplete() bool { return qp.adm.seen.After(qp.resp.ePSN) }

// missingRanges answers which, as far as a TOKEN can tell.
func (qp *QueuePair) missingRanges() []wire.Range { return nil }

// loseListed takes what a TOKEN says is missing as lost.
func (qp *QueuePair) loseListed(t wire.TokenField) {}
