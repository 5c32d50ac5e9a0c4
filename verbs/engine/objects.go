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

// memoryRegion is a region and the memory behind it.
type memoryRegion struct {
	*transport.MemoryRegion
	mem []byte
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
	if err == nil {
		s.mapped, err = s.memory.Map(r.Addr, r.Length, r.Access&accessLocalWrite != 0)
	}
	return err
}

// resolveAgain is resolve for a region whose memory may change.
func (s *Session) resolveAgain(body []byte) error {
	r, err := protocol.Decode[protocol.RegMR](body)
	s.mapped = nil
	if err == nil && transport.Rereg(r.Flags)&transport.ReregTranslation != 0 {
		write := r.Access&accessLocalWrite != 0
		s.mapped, err = s.memory.Map(r.Addr, r.Length, write)
	}
	return err
}

func (s *Session) regMR(ep *transport.Endpoint, r *protocol.RegMR) (answer, error) {
	mem := s.mapped
	pd, err := find[protectionDomain](s, r.PD)
	var a transport.Access
	if err == nil {
		a, err = access(r.Access)
	}
	var mr *transport.MemoryRegion
	if err == nil {
		mr, err = ep.RegisterMemoryAt(pd.ProtectionDomain, mem, r.IOVA,
			a|transport.RemoteInvalidate)
	}
	if err != nil {
		s.memory.Unmap(mem)
		return answer{}, err
	}
	h, err := s.add(&memoryRegion{mr, mem})
	if err != nil {
		mr.Deregister()
		s.memory.Unmap(mem)
	}
	return answer{body: &protocol.MR{Handle: h, LKey: mr.LKey, RKey: mr.RKey}}, err
}

func (s *Session) reregMR(_ *transport.Endpoint, r *protocol.RegMR) (answer, error) {
	what := transport.Rereg(r.Flags) // the same bits
	change := what&transport.ReregTranslation != 0
	mem := s.mapped
	mr, err := find[*memoryRegion](s, r.Handle)
	pd := protectionDomain{}
	if err == nil && what&transport.ReregPD != 0 {
		pd, err = find[protectionDomain](s, r.PD)
	}
	var a transport.Access
	if err == nil {
		a, err = access(r.Access)
	}
	if err == nil {
		err = mr.Reregister(what, pd.ProtectionDomain, mem, a|transport.RemoteInvalidate)
	}
	if err != nil {
		s.memory.Unmap(mem)
		return answer{}, err
	}
	if change {
		mr.Addr = r.IOVA
		mr.mem, mem = mem, mr.mem
	}
	s.memory.Unmap(mem)
	return answer{body: &protocol.MR{Handle: r.Handle, LKey: mr.LKey, RKey: mr.RKey}}, nil
}

func (s *Session) deregMR(_ *transport.Endpoint, r *protocol.Handle) (answer, error) {
	mr, err := find[*memoryRegion](s, r.Handle)
	if err == nil {
		mr.Deregister()
		s.memory.Unmap(mr.mem)
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
		case *memoryRegion:
			o.Deregister()
			s.memory.Unmap(o.mem)
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
		s.shared.close()
	}
}
