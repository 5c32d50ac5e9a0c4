package engine

import (
	"fmt"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/verbs/protocol"
)

// add gives an object a handle.
func (s *Session) add(object any) (uint32, error) {
	if len(s.objects) >= maxObjects {
		return 0, fmt.Errorf("%d objects in the session: %w", maxObjects, transport.ErrLimit)
	}
	for {
		s.next++
		if _, taken := s.objects[s.next]; s.next != 0 && !taken {
			s.objects[s.next] = object
			return s.next, nil
		}
	}
}

// find returns the object of a handle, which must be a T.
func find[T any](s *Session, handle uint32) (T, error) {
	object, ok := s.objects[handle].(T)
	if !ok {
		return object, fmt.Errorf("handle %d names no %T of the session: %w", handle, object,
			transport.ErrInvalid)
	}
	return object, nil
}

// memoryRegion is a region, whose memory of another process is foreign.
type memoryRegion struct {
	*transport.MemoryRegion
	foreign *foreignRange
}

type addressHandle struct{ *transport.AddressHandle }

type protectionDomain struct{ *transport.ProtectionDomain }

func (s *Session) allocPD(ep *transport.Endpoint, _ *struct{}) (answer, error) {
	h, err := s.add(protectionDomain{ep.AllocPD()})
	return answer{body: &protocol.Handle{Handle: h}}, err
}

func (s *Session) deallocPD(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	pd, err := find[protectionDomain](s, r.Handle)
	if err == nil {
		err = pd.Dealloc()
	}
	if err == nil {
		delete(s.objects, r.Handle)
	}
	return answer{}, err
}

// Bits of enum ibv_access_flags.
const (
	accessLocalWrite = 1 << iota
	accessRemoteWrite
	accessRemoteRead
	accessRemoteAtomic
	_ // memory windows
	accessZeroBased
	accessOnDemand
	accessHuge // the program's statement about its pages
)

// access translates access flags. On-demand paging and windows are not supported.
func access(flags uint32) (transport.Access, error) {
	const known = accessLocalWrite | accessRemoteWrite | accessRemoteRead | accessRemoteAtomic |
		accessHuge
	if flags&^known != 0 {
		return 0, fmt.Errorf("access flags %#x, want some of %#x: %w", flags, known,
			transport.ErrInvalid)
	}
	var a transport.Access
	for _, p := range []struct {
		flag uint32
		a    transport.Access
	}{{accessLocalWrite, transport.LocalWrite}, {accessRemoteWrite, transport.RemoteWrite},
		{accessRemoteRead, transport.RemoteRead}, {accessRemoteAtomic, transport.RemoteAtomic}} {
		if flags&p.flag != 0 {
			a |= p.a
		}
	}
	return a, nil
}

// resolve maps the memory of a new region, outside the polling core: it may take long.
func (s *Session) resolve(body []byte) error {
	r, err := protocol.Decode[protocol.RegMR](body)
	if err != nil {
		return err
	}
	return s.mapMemory(&r)
}

// resolveAgain is resolve for a region whose memory may change.
func (s *Session) resolveAgain(body []byte) error {
	r, err := protocol.Decode[protocol.RegMR](body)
	if err != nil || transport.Rereg(r.Flags)&transport.ReregTranslation == 0 {
		s.mapped = mapping{}
		return err
	}
	return s.mapMemory(&r)
}

func (s *Session) mapMemory(r *protocol.RegMR) (err error) {
	if s.memory == nil {
		return fmt.Errorf("the program has not shared its memory: %w", transport.ErrInvalid)
	}
	s.mapped, err = s.memory.Map(r.Addr, r.Length, r.Access&accessLocalWrite != 0)
	return err
}

func (s *Session) regMR(ep *transport.Endpoint, r *protocol.RegMR) (answer, error) {
	pd, err := find[protectionDomain](s, r.PD)
	if err != nil {
		return answer{}, err
	}
	a, err := access(r.Access)
	if err != nil {
		return answer{}, err
	}
	a |= transport.RemoteInvalidate
	var mr *transport.MemoryRegion
	if m := &s.mapped; m.foreign != nil {
		mr, err = ep.RegisterForeign(pd.ProtectionDomain, m.foreign, r.IOVA, a)
	} else {
		mr, err = ep.RegisterMemoryAt(pd.ProtectionDomain, m.bytes, r.IOVA, a)
	}
	if err != nil {
		return answer{}, err
	}
	h, err := s.add(memoryRegion{mr, s.mapped.foreign})
	if err != nil {
		mr.Deregister()
	}
	return answer{body: &protocol.MR{Handle: h, LKey: mr.LKey, RKey: mr.RKey}}, err
}

func (s *Session) reregMR(_ *transport.Endpoint, r *protocol.RegMR) (answer, error) {
	what := transport.Rereg(r.Flags) // the same bits
	mr, err := find[memoryRegion](s, r.Handle)
	pd := protectionDomain{}
	if err == nil && what&transport.ReregPD != 0 {
		pd, err = find[protectionDomain](s, r.PD)
	}
	var a transport.Access
	if err == nil {
		a, err = access(r.Access)
	}
	if err != nil {
		return answer{}, err
	}
	old := foreignRange{}
	if mr.foreign != nil && s.mapped.foreign != nil {
		old, *mr.foreign = *mr.foreign, *s.mapped.foreign
	}
	if err := mr.Reregister(what, pd.ProtectionDomain, s.mapped.bytes,
		a|transport.RemoteInvalidate); err != nil {
		if old.process != nil {
			*mr.foreign = old
		}
		return answer{}, err
	}
	if what&transport.ReregTranslation != 0 {
		mr.Addr = r.IOVA
	}
	return answer{body: &protocol.MR{Handle: r.Handle, LKey: mr.LKey, RKey: mr.RKey}}, nil
}

func (s *Session) deregMR(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	mr, err := find[memoryRegion](s, r.Handle)
	if err == nil {
		mr.Deregister()
		delete(s.objects, r.Handle)
	}
	return answer{}, err
}

func (s *Session) createAH(ep *transport.Endpoint, r *protocol.CreateAH) (answer, error) {
	pd, err := find[protectionDomain](s, r.PD)
	if err != nil {
		return answer{}, err
	}
	path, err := s.engine.path(&r.Path)
	if err != nil {
		return answer{}, err
	}
	ah, err := ep.CreateAH(pd.ProtectionDomain, path)
	if err != nil {
		return answer{}, err
	}
	h, err := s.add(addressHandle{ah})
	if err != nil {
		ah.Destroy()
	}
	return answer{body: &protocol.Handle{Handle: h}}, err
}

func (s *Session) destroyAH(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	ah, err := find[addressHandle](s, r.Handle)
	if err == nil {
		ah.Destroy()
		delete(s.objects, r.Handle)
	}
	return answer{}, err
}

// destroyAll destroys what the session has, in the order of dependence.
func (s *Session) destroyAll(ep *transport.Endpoint) {
	for _, o := range s.objects {
		if c, ok := o.(*cmChannel); ok {
			s.removeCMChannel(ep, c)
		}
	}
	for _, o := range s.objects {
		if qp, ok := o.(*queuePair); ok {
			s.removeQP(qp)
		}
	}
	for _, o := range s.objects {
		switch o := o.(type) {
		case *sharedQueue:
			s.removeSRQ(o)
		case *completionQueue:
			s.removeCQ(o)
		case memoryRegion:
			o.Deregister()
		case addressHandle:
			o.Destroy()
		}
	}
	for _, o := range s.objects {
		switch o := o.(type) {
		case protectionDomain:
			_ = o.Dealloc()
		case *channel:
			o.close()
		}
	}
	clear(s.objects)
	s.engine.detach(s)
	if s.shared != nil {
		s.release(s.shared)
	}
}
