package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/units"
)

// SONiC's CONFIG_DB as JSON, for `config load`; sizes are bytes (SONiC's configuration reference;
// syntax of 202012 and later). Its xoff is headroom, not the level at which PFC pauses: that is
// dynamic_th, α = 2^n, or static_th.
var _ = register(&Dialect{Name: "sonic", Title: "SONiC CONFIG_DB", render: renderSONiC,
	parse: parseSONiC})

// configDB is its tables: key, field, value.
type configDB map[string]map[string]map[string]string

// The tables and fields that hold watermarks.
const (
	wredTable    = "WRED_PROFILE"
	queueTable   = "QUEUE"
	profileTable = "BUFFER_PROFILE"
	groupTable   = "BUFFER_PG"
	poolTable    = "BUFFER_POOL"
	qosTable     = "PORT_QOS_MAP"
	losslessPool = "ingress_lossless_pool"
)

func renderSONiC(s *sheet) {
	kmin := strconv.FormatInt(s.bytes("Kmin", &s.got.Kmin), 10)
	kmax := strconv.FormatInt(s.bytes("Kmax", &s.got.Kmax), 10)
	pmax := strconv.Itoa(int(s.Pmax))
	wred := map[string]string{"ecn": "ecn_all"}
	for _, colour := range []string{"green", "yellow", "red"} {
		wred["wred_"+colour+"_enable"] = "true"
		wred[colour+"_min_threshold"] = kmin
		wred[colour+"_max_threshold"] = kmax
		wred[colour+"_drop_probability"] = pmax
	}
	buffer := map[string]string{
		"pool": losslessPool,
		"size": strconv.FormatInt(s.bytes("guaranteed", &s.got.Guaranteed), 10),
		"xon":  "0", // the pause ends at XOFF less xon_offset
		"xoff": strconv.FormatInt(s.bytes("headroom", &s.got.Headroom), 10),
	}
	if s.XONOffset > 0 {
		buffer["xon_offset"] = strconv.FormatInt(s.bytes("xon_offset", &s.got.XONOffset), 10)
	}
	if s.XOFF > 0 {
		buffer["static_th"] = strconv.FormatInt(s.bytes("XOFF", &s.got.XOFF), 10)
	} else {
		buffer["dynamic_th"] = strconv.Itoa(int(s.Alpha))
	}
	name := s.profile()
	db := configDB{
		wredTable: {name: wred}, profileTable: {name: buffer},
		queueTable: {}, groupTable: {}, qosTable: {},
	}
	for _, port := range s.Interfaces {
		db[queueTable][fmt.Sprintf("%s|%d", port,
			s.Queue)] = map[string]string{"wred_profile": name}
		db[groupTable][fmt.Sprintf("%s|%d", port, s.Priority)] = map[string]string{"profile": name}
		db[qosTable][port] = map[string]string{"pfc_enable": strconv.Itoa(s.Priority)}
	}
	text, err := json.MarshalIndent(db, "", "  ")
	if err != nil {
		s.refuse("%w", err)
		return
	}
	s.lines = append(s.lines, string(text))
	s.warn("pfc_enable is a list of all lossless priorities: add others of the port, and save " +
		"the tables before: SONiC has no undo")
}

// parseSONiC answers an intent for each profile of ECN and of buffer that ports use together. A
// queue goes with the priority group of its number, or with the port's only one.
func parseSONiC(text []byte, chip intent.Chip) ([]*intent.Intent, error) {
	raw := map[string]map[string]map[string]any{}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for _, name := range []string{wredTable, queueTable, profileTable, groupTable, poolTable} {
		if table, ok := all[name]; ok {
			d := json.NewDecoder(bytes.NewReader(table))
			d.UseNumber()
			t := map[string]map[string]any{}
			if err := d.Decode(&t); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			raw[name] = t
		}
	}
	p := sonicParser{raw: raw, chip: chip, found: map[sonicKey]*intent.Intent{}}
	return p.intents()
}

type sonicParser struct {
	raw   map[string]map[string]map[string]any
	chip  intent.Chip
	found map[sonicKey]*intent.Intent
}

// sonicKey is what ports have in common.
type sonicKey struct {
	wred, buffer    string
	queue, priority int
}

func (p *sonicParser) intents() ([]*intent.Intent, error) {
	type use struct {
		port    string
		n       int
		profile string
	}
	uses := func(table, field string) (all []use, err error) {
		for _, key := range slices.Sorted(maps.Keys(p.raw[table])) {
			ref, _ := p.raw[table][key][field].(string)
			if ref == "" {
				continue
			}
			// "[WRED_PROFILE|x]" before 202012
			ref = strings.TrimSuffix(ref[strings.LastIndex(ref, "|")+1:], "]")
			ports, numbers, _ := strings.Cut(key, "|")
			first, last, isRange := strings.Cut(numbers, "-")
			if !isRange {
				last = first
			}
			from, err := strconv.Atoi(first)
			to, err2 := strconv.Atoi(last)
			if err != nil || err2 != nil || from < 0 || to > 63 || from > to {
				return nil, fmt.Errorf("%s: %q: want port|number or port|from-to", table, key)
			}
			for _, port := range strings.Split(ports, ",") {
				for n := from; n <= to; n++ {
					all = append(all, use{port, n, ref})
				}
			}
		}
		return all, nil
	}
	queues, err := uses(queueTable, "wred_profile")
	if err != nil {
		return nil, err
	}
	groups, err := uses(groupTable, "profile")
	if err != nil {
		return nil, err
	}
	// those with headroom are the lossless ones
	groups = slices.DeleteFunc(groups, func(g use) bool {
		_, lossless := p.raw[profileTable][g.profile]["xoff"]
		return !lossless
	})
	ofPort := map[string][]use{}
	for _, g := range groups {
		ofPort[g.port] = append(ofPort[g.port], g)
	}
	var order []*intent.Intent
	for _, q := range queues {
		of := ofPort[q.port]
		i := slices.IndexFunc(of, func(g use) bool { return g.n == q.n })
		if i < 0 && len(of) == 1 {
			i = 0
		}
		if i < 0 {
			continue // a queue of lossy traffic
		}
		key := sonicKey{q.profile, of[i].profile, q.n, of[i].n}
		if p.found[key] == nil {
			if p.found[key], err = p.intent(key); err != nil {
				return nil, err
			}
			order = append(order, p.found[key])
		}
		p.found[key].Interfaces = append(p.found[key].Interfaces, q.port)
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("no port has a queue with a %s and a priority group with headroom",
			wredTable)
	}
	names := map[string]bool{}
	for _, i := range order {
		if names[i.Name] {
			i.Name += fmt.Sprintf("_%d", i.Queue)
		}
		names[i.Name] = true
	}
	return order, nil
}

func (p *sonicParser) intent(k sonicKey) (*intent.Intent, error) {
	wred, buffer := p.raw[wredTable][k.wred], p.raw[profileTable][k.buffer]
	if wred == nil {
		return nil, fmt.Errorf("%s has no %q, which queue %d uses", wredTable, k.wred, k.queue)
	}
	var err error
	number := func(table map[string]any, name, field string, least, most int64) int64 {
		v := fmt.Sprint(table[field])
		n, e := strconv.ParseInt(v, 10, 64)
		if (e != nil || n < least || n > most) && err == nil {
			err = fmt.Errorf("%s: %s is %v: want a number from %d to %d", name, field, table[field],
				least, most)
		}
		return n
	}
	perhaps := func(field string) units.Bytes {
		if _, there := buffer[field]; !there {
			return 0
		}
		return units.Bytes(number(buffer, k.buffer, field, 0, int64(units.GiB)))
	}
	size := func(table map[string]any, name, field string) units.Bytes {
		return units.Bytes(number(table, name, field, 0, int64(units.GiB)))
	}
	i := &intent.Intent{
		Name: strings.TrimPrefix(k.wred, prefix), Chip: p.chip, Priority: k.priority,
		Queue: k.queue,
		Watermark: bytetuning.Watermark{
			Kmin: size(wred, k.wred, "green_min_threshold"), Kmax: size(wred, k.wred,
				"green_max_threshold"),
			Pmax:     bytetuning.Percent(number(wred, k.wred, "green_drop_probability", 0, 100)),
			Headroom: size(buffer, k.buffer, "xoff"),
		},
		Guaranteed: perhaps("size"), XONOffset: perhaps("xon_offset"),
	}
	if _, static := buffer["static_th"]; static {
		i.XOFF = perhaps("static_th")
	} else {
		i.Alpha = bytetuning.Alpha(number(buffer, k.buffer, "dynamic_th",
			int64(bytetuning.LeastAlpha), int64(bytetuning.MostAlpha)))
	}
	if pool, ok := buffer["pool"].(string); ok && i.Chip.Buffer == 0 {
		pool = strings.TrimSuffix(pool[strings.LastIndex(pool, "|")+1:], "]")
		if _, there := p.raw[poolTable][pool]["size"]; there { // headrooms are not in it
			i.Chip.Buffer = size(p.raw[poolTable][pool], pool, "size")
		}
	}
	return i, err
}
