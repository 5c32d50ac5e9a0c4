package dialect

import (
	"math"
	"strings"
)

// Huawei CloudEngine, VRP 8, counts ECN in bytes and PFC in kilobytes; configuration takes effect
// at commit (EDOC1100155250 and its command pages). PFC differs by model: the CE6866 family has no
// configurable headroom.
var _ = register(&Dialect{
	Name: "huawei", Title: "Huawei CloudEngine VRP 8", render: renderHuawei,
	parse: lineParser(
		`^drop-profile (?P<name>\S+)$`,
		`^ (?:ecn|color green) buffer-size low-limit (?P<kmin_b>\d+) `+
			`high-limit (?P<kmax_b>\d+) discard-percentage (?P<pmax>\d+)$`,
		`^ priority (?P<priority>\d)$`,
		`^interface (?P<interface>\S+)$`,
		`^ qos queue (?P<queue>\d) wred`,
		`^ dcb pfc buffer \d hdrm (?P<headroom_k>\d+) kbytes$`,
		`^ dcb pfc buffer \d guaranteed (?P<guaranteed_b>\d+) bytes$`,
		`^ dcb pfc buffer \d xoff static (?P<xoff_k>\d+) kbytes xon offset (?P<xon_k>\d+) kbytes$`,
		`^ dcb pfc buffer \d xon static (?P<resume_k>\d+) kbytes `+
			`xoff static (?P<xoff_k>\d+) kbytes$`,
	),
})

func renderHuawei(s *builder) {
	p := s.profileName()
	kmin, kmax := s.inCells("Kmin", &s.effective.Kmin), s.inCells("Kmax", &s.effective.Kmax)
	form := "ecn" // static ECN of the AI Fabric
	if strings.HasPrefix(s.Model, "CE6863") && s.Model != "CE6863E" {
		form = "color green"
	}
	san := strings.HasPrefix(s.Model, "CE6866") || strings.HasPrefix(s.Model, "CE8850") ||
		strings.HasPrefix(s.Model, "CE8851") || strings.HasPrefix(s.Model, "CE6860")
	if san && s.Queue > 5 {
		s.fail("queue %d: want 0 to 5, the PFC queues of a %s", s.Queue, s.Model)
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
		s.undoLine("interface %s", i)
		s.undoLine(" undo qos queue %d wred", s.Queue)
		s.undoLine(" undo qos queue %d ecn", s.Queue)
		s.undoLine(" undo dcb pfc enable mode manual")
		s.huaweiPFC(san)
	}
	if s.XOFF == 0 {
		s.omitOptional("xon_offset", s.XONOffset)
		s.omit("alpha", "the α values of Huawei's indices 1 to 12 are not documented")
	}
	if san {
		s.omit("headroom", "it is not configurable on a "+s.Model)
		s.omitOptional("guaranteed", s.Guaranteed)
	}
	s.line("commit")
	s.undoLine("undo dcb pfc %s", p)
	s.undoLine("undo drop-profile %s", p)
	s.undoLine("commit")
}

// huaweiPFC adds the buffer lines of one interface. Ranges are those of the CE6885 family; the
// range of XOFF is also known for the CE6866 family.
func (s *builder) huaweiPFC(san bool) {
	q := s.Queue
	if s.Guaranteed > 0 && !san {
		guaranteed := s.inUnits("guaranteed", &s.effective.Guaranteed, 1, 640, 25_600)
		s.line(" dcb pfc buffer %d guaranteed %d bytes", q, guaranteed)
		s.undoLine(" undo dcb pfc buffer %d guaranteed", q)
	}
	if s.XOFF > 0 {
		most, offset := int64(30_720), int64(6) // the default
		if san {
			most = 6144
		}
		xoff := s.inUnits("XOFF", &s.effective.XOFF, kilobyte, 1, most)
		if s.XONOffset > 0 {
			offset = s.inUnits("xon_offset", &s.effective.XONOffset, kilobyte, 1, math.MaxInt32)
		} else {
			s.effective.XONOffset = 6 * kilobyte
		}
		if san {
			s.line(" dcb pfc buffer %d xon static %d kbytes xoff static %d kbytes", q,
				max(1, xoff-offset), xoff)
		} else {
			s.line(" dcb pfc buffer %d xoff static %d kbytes xon offset %d kbytes", q, xoff, offset)
		}
		s.undoLine(" undo dcb pfc buffer %d xoff", q)
	}
	if !san {
		headroom := s.inUnits("headroom", &s.effective.Headroom, kilobyte, 16, 30_720)
		s.line(" dcb pfc buffer %d hdrm %d kbytes", q, headroom)
		s.undoLine(" undo dcb pfc buffer %d hdrm", q)
	}
}
