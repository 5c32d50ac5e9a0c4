package dialect

import (
	"math"
	"strings"
)

// Huawei CloudEngine, VRP 8: ECN in bytes, PFC in kilobytes; nothing holds before commit
// (EDOC1100155250 and the pages of its commands). The models differ in PFC: those of the CE6866
// kind have no headroom to set.
var _ = register(&Dialect{
	Name: "huawei", Title: "Huawei CloudEngine VRP 8", render: renderHuawei,
	parse: lineParser(
		`^drop-profile (?P<name>\S+)$`,
		`^ (?:ecn|color green) buffer-size low-limit (?P<kmin_b>\d+) high-limit (?P<kmax_b>\d+) discard-percentage (?P<pmax>\d+)$`,
		`^ priority (?P<priority>\d)$`,
		`^interface (?P<interface>\S+)$`,
		`^ qos queue (?P<queue>\d) wred`,
		`^ dcb pfc buffer \d hdrm (?P<headroom_k>\d+) kbytes$`,
		`^ dcb pfc buffer \d guaranteed (?P<guaranteed_b>\d+) bytes$`,
		`^ dcb pfc buffer \d xoff static (?P<xoff_k>\d+) kbytes xon offset (?P<xon_k>\d+) kbytes$`,
		`^ dcb pfc buffer \d xon static (?P<resume_k>\d+) kbytes xoff static (?P<xoff_k>\d+) kbytes$`,
	),
})

func renderHuawei(s *sheet) {
	p := s.profile()
	kmin, kmax := s.bytes("Kmin", &s.got.Kmin), s.bytes("Kmax", &s.got.Kmax)
	form := "ecn" // static ECN of the AI Fabric
	if strings.HasPrefix(s.Model, "CE6863") && s.Model != "CE6863E" {
		form = "color green"
	}
	san := strings.HasPrefix(s.Model, "CE6866") || strings.HasPrefix(s.Model, "CE8850") ||
		strings.HasPrefix(s.Model, "CE8851") || strings.HasPrefix(s.Model, "CE6860")
	if san && s.Queue > 5 {
		s.refuse("queue %d: a %s has PFC on 0 to 5", s.Queue, s.Model)
	}
	s.line("drop-profile %s", p)
	s.line(" %s buffer-size low-limit %d high-limit %d discard-percentage %d", form, kmin, kmax,
		s.Pmax)
	s.line("dcb pfc %s", p)
	s.line(" priority %d", s.Priority)
	for _, i := range s.Interfaces {
		s.line("interface %s", i)
		s.line(" qos queue %d wred %s", s.Queue, p)
		s.line(" qos queue %d ecn", s.Queue)
		s.line(" dcb pfc enable %s mode manual", p)
		s.line(" trust dscp")
		s.undone("interface %s", i)
		s.undone(" undo qos queue %d wred", s.Queue)
		s.undone(" undo qos queue %d ecn", s.Queue)
		s.undone(" undo dcb pfc enable mode manual")
		s.pfcOfHuawei(san)
	}
	if s.XOFF == 0 {
		s.drop("xon_offset", s.XONOffset)
		s.omit("alpha", "Huawei's indices 1 to 12 stand for values of α that are not documented")
	}
	if san {
		s.omit("headroom", "a "+s.Model+" has none to set")
		s.drop("guaranteed", s.Guaranteed)
	}
	s.line("commit")
	s.undone("undo dcb pfc %s", p)
	s.undone("undo drop-profile %s", p)
	s.undone("commit")
}

// pfcOfHuawei are the buffer's lines of one interface. Ranges are those of the CE6885 kind, and of
// XOFF of the CE6866 kind.
func (s *sheet) pfcOfHuawei(san bool) {
	q := s.Queue
	if s.Guaranteed > 0 && !san {
		s.line(" dcb pfc buffer %d guaranteed %d bytes", q, s.in("guaranteed", &s.got.Guaranteed, 1,
			640, 25_600))
		s.undone(" undo dcb pfc buffer %d guaranteed", q)
	}
	if s.XOFF > 0 {
		most, offset := int64(30_720), int64(6) // the default
		if san {
			most = 6144
		}
		xoff := s.in("XOFF", &s.got.XOFF, kilobyte, 1, most)
		if s.XONOffset > 0 {
			offset = s.in("xon_offset", &s.got.XONOffset, kilobyte, 1, math.MaxInt32)
		} else {
			s.got.XONOffset = 6 * kilobyte
		}
		if san {
			s.line(" dcb pfc buffer %d xon static %d kbytes xoff static %d kbytes", q,
				max(1, xoff-offset), xoff)
		} else {
			s.line(" dcb pfc buffer %d xoff static %d kbytes xon offset %d kbytes", q, xoff, offset)
		}
		s.undone(" undo dcb pfc buffer %d xoff", q)
	}
	if !san {
		s.line(" dcb pfc buffer %d hdrm %d kbytes", q, s.in("headroom", &s.got.Headroom, kilobyte,
			16, 30_720))
		s.undone(" undo dcb pfc buffer %d hdrm", q)
	}
}
