package transport

// Requests of a send queue that send no packet. They take no PSN: each is executed, and completes,
// when all requests before it have completed, and those behind it begin later. For OpLocalInv that
// is the Local Invalidate Fence of the InfiniBand spec (10.6.5.1), which is always set here, as in
// Linux's soft-RoCE: without it a peer's RDMA that an earlier request caused could find the key
// invalid.

// localArgs are the arguments of such a request.
type localArgs struct {
	key uint32 // to invalidate
}

// putLocal copies the arguments of a request into its slot.
func (snd *sender) putLocal(slot uint32, wr *WorkRequest) {
	if snd.q.locals == nil {
		snd.q.locals = make([]localArgs, len(snd.q.wqes))
	}
	snd.q.locals[slot] = localArgs{key: wr.InvalidateKey}
}

// executeLocals executes the requests at next that send no packet, if all before them have
// completed. Unlike others they do not wait for a neighbour.
func (snd *sender) executeLocals() {
	for snd.hasNext() && !snd.isDraining() && snd.at(snd.next).op.isLocal() {
		if snd.executeLocal(snd.at(snd.next)) != sendDone {
			return
		}
	}
}

// isDraining reports whether the request at next must not begin.
func (snd *sender) isDraining() bool {
	return snd.conn().state != ReadyToSend && snd.next == snd.begun
}

// executeLocal executes the request w at next, which sends no packet, if all before it have
// completed. The completion of the last one of these schedules the queue pair again.
func (snd *sender) executeLocal(w *sendWQE) sendStatus {
	qp := snd.conn()
	if snd.done != snd.next {
		return sendBlocked
	}
	args := &snd.q.locals[snd.slot(snd.next)]
	if !qp.pd.invalidate(args.key) {
		qp.failAt(snd.next, StatusMWBindErr, AsyncQPFatal)
		return sendBlocked
	}
	snd.markBegun()
	snd.next++
	snd.finishOldest(StatusSuccess)
	return sendDone
}

// invalidate ends the key of a region of the domain. It returns false if the key is not one.
func (pd *ProtectionDomain) invalidate(key uint32) bool {
	mr := pd.region(key)
	if mr != nil {
		mr.Deregister()
	}
	return mr != nil
}
