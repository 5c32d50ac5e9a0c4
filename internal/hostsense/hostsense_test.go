package hostsense

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

const us = units.Microsecond

func at(n int) units.Time { return units.Time(units.Duration(n) * us) }

// machine is one whose files are as said.
func machine(t *testing.T, files map[string]string) *Host {
	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
	}
	return At(root)
}

const (
	intel = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel " +
		"name\t: Intel(R) Xeon(R) Gold 6248\nstepping\t: 7\n\nprocessor\t: 1\nvendor_id\t: " +
		"GenuineIntel\n"
	amd = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel " +
		"name\t: AMD EPYC\n"
	cache = "sys/devices/system/cpu/cpu0/cache/"
)

func TestCaches(t *testing.T) {
	h := machine(t, map[string]string{
		cache + "index0/level": "1\n", cache + "index0/type": "Data\n",
		cache + "index0/size": "32K\n", cache + "index0/coherency_line_size": "64\n",
		cache + "index0/ways_of_associativity": "8\n", cache + "index0/number_of_sets": "64\n",
		cache + "index0/shared_cpu_list": "0,20\n",
		cache + "index1/level":           "3\n", cache + "index1/type": "Unified\n",
		cache + "index1/size": "27M\n", cache + "index1/coherency_line_size": "64\n",
		cache + "index2/level": "4\n", cache + "index2/type": "Instruction\n",
		cache + "index2/size": "1K\n", cache + "index2/coherency_line_size": "64\n",
	})
	all, err := h.Caches()
	require.NoError(t, err)
	assert.Equal(t, Cache{1, "Data", 32 * units.KiB, 64, 8, 64, "0,20"}, all[0])
	llc, err := h.LLC()
	require.NoError(t, err)
	assert.Equal(t, Cache{Level: 3, Type: "Unified", Size: 27 * units.MiB, Line: 64}, llc,
		"what a hypervisor hides is 0")
	_, err = machine(t, nil).LLC()
	assert.True(t, IsAbsent(err))
	_, err = machine(t, map[string]string{cache + "index0/level": "one"}).Caches()
	assert.ErrorContains(t, err, `"one", which is no number`)
	assert.False(t, IsAbsent(err))
}

func TestProcessors(t *testing.T) {
	c, err := machine(t, map[string]string{"proc/cpuinfo": intel}).CPU()
	require.NoError(t, err)
	assert.Equal(t, CPU{"GenuineIntel", "Intel(R) Xeon(R) Gold 6248", 6, 85, 7, 2}, c)
	_, err = machine(t, nil).CPU()
	assert.ErrorContains(t, err, "/proc/cpuinfo does not exist")
	_, err = machine(t, map[string]string{"proc/cpuinfo": "processor: 0\n"}).CPU()
	assert.True(t, IsAbsent(err))
}

func TestBusy(t *testing.T) {
	h := machine(t, map[string]string{"proc/stat": "cpu  100 0 50 800 50 0 0 0 7 7\ncpu0 1\n"})
	s, err := h.Busy()
	require.NoError(t, err)
	write := func(text string) {
		require.NoError(t, os.WriteFile(h.path("proc/stat"), []byte(text), 0o644))
	}
	write("cpu  160 0 60 820 60 0 0 0 9 9\n")
	v, ok := s(at(1))
	assert.Equal(t, [2]any{0.7, true}, [2]any{v, ok}, "70 of 100 ticks")
	v, _ = s(at(2))
	assert.Equal(t, 0.7, v, "no tick, no news")
	write("cpu  160 0 80 900 40 0 0 0 9 9\n") // what waits for disks may go back (proc(5))
	v, _ = s(at(3))
	assert.Equal(t, 0.25, v)
	write("cpu  170 0 80 850 40 0 0 70 9 9\n")
	v, _ = s(at(4))
	assert.Equal(t, 1.0, v, "all there is, and no more")
	write("cpu  170 0 80 990 40 0 0 0 9 9\n")
	v, _ = s(at(5))
	assert.Zero(t, v)
	write("cpu what\n")
	_, ok = s(at(6))
	assert.False(t, ok)
	_, err = machine(t, map[string]string{"proc/stat": "intr 1 2 3 4 5"}).Busy()
	assert.ErrorContains(t, err, "begins with")
}

func TestPressure(t *testing.T) {
	const file = "proc/pressure/cpu"
	h := machine(t, map[string]string{file: "some avg10=39.82 avg60=46.23 avg300=50.50 " +
		"total=8364288183\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=5\n"})
	p, err := h.Pressure(PressureCPU)
	require.NoError(t, err)
	assert.Equal(t, Pressure{8364288183 * us, 5 * us, 0.3982, 0.01}, p)
	s, err := h.Waiting(PressureCPU)
	require.NoError(t, err)
	_, ok := s(at(0))
	assert.False(t, ok, "one is none")
	require.NoError(t,
		os.WriteFile(h.path(file), []byte("some avg10=0 avg60=0 avg300=0 total=8364288283\n"),
			0o644))
	v, ok := s(at(400))
	assert.Equal(t, [2]any{0.25, true}, [2]any{v, ok})
	_, err = h.Waiting(PressureMemory)
	assert.ErrorContains(t, err, "CONFIG_PSI")
	_, err = machine(t, map[string]string{file: "some total=lots"}).Pressure(PressureCPU)
	assert.ErrorContains(t, err, "no number")
}

// msr makes a machine whose MSRs are a file.
func msr(t *testing.T, cpuinfo string, registers map[int64]uint64) *Host {
	h := machine(t, map[string]string{"proc/cpuinfo": cpuinfo, "dev/cpu/0/msr": ""})
	setMSR(t, h, registers)
	return h
}

func setMSR(t *testing.T, h *Host, registers map[int64]uint64) {
	f, err := os.OpenFile(h.path("dev/cpu/0/msr"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	for r, v := range registers {
		_, err = f.WriteAt(binary.LittleEndian.AppendUint64(nil, v), r)
		require.NoError(t, err)
	}
}

func TestDDIO(t *testing.T) {
	ways, mask, err := msr(t, intel, map[int64]uint64{msrDDIOWays: 0x600}).DDIOWays()
	require.NoError(t, err)
	assert.Equal(t, [2]any{2, uint64(0x600)}, [2]any{ways, mask})
	_, _, err = machine(t, map[string]string{"proc/cpuinfo": amd}).DDIOWays()
	assert.ErrorContains(t, err, "DDIO is Intel's")
	_, _, err = machine(t, map[string]string{"proc/cpuinfo": intel}).DDIOWays()
	assert.ErrorContains(t, err, "/dev/cpu/0/msr does not exist")
	_, _, err = msr(t, intel, nil).DDIOWays()
	assert.ErrorContains(t, err, "the processor refuses")
	assert.True(t, IsAbsent(err))
}

// 35000 in 1000 ns are 70 lines.
func TestIIOOccupancy(t *testing.T) {
	h := msr(t, intel, map[int64]uint64{msrIRPOccupancy: 1000})
	s, err := h.IIOOccupancy(0, 0)
	require.NoError(t, err)
	_, ok := s(at(5))
	assert.False(t, ok)
	setMSR(t, h, map[int64]uint64{msrIRPOccupancy: 36000})
	v, ok := s(at(6))
	assert.Equal(t, [2]any{70.0, true}, [2]any{v, ok})
	_, err = machine(t, map[string]string{"proc/cpuinfo": amd}).IIOOccupancy(0, 0)
	assert.ErrorContains(t, err, "AuthenticAMD family 26")
}

func TestMBA(t *testing.T) {
	const schemata = "sys/fs/resctrl/noisy/schemata"
	files := map[string]string{"proc/filesystems": "nodev\tresctrl\n",
		"sys/fs/resctrl/info/MB/min_bandwidth": "10\n",
		schemata:                               "L3:0=7ff\n    MB:0=100;1=100;2=100;3=100\n"}
	h := machine(t, files)
	var stops []bool
	m, err := h.MBA("noisy", func(s bool) error { stops = append(stops, s); return nil })
	require.NoError(t, err)
	written := func() string { b, _ := os.ReadFile(h.path(schemata)); return string(b) }
	for level, want := range []string{"MB:0=100;1=100;2=100;3=100\n", "MB:0=10;1=100;2=100;3=100\n",
		"MB:0=10;1=10;2=100;3=100\n", "MB:0=10;1=10;2=10;3=100\n", "MB:0=10;1=10;2=10;3=10\n"} {
		require.NoError(t, m.SetLevel(level))
		assert.Equal(t, want, written())
	}
	require.NoError(t, m.SetLevel(3))
	assert.Equal(t, []bool{true, false}, stops)
	assert.Error(t, m.SetLevel(5))
	assert.Equal(t, 5, m.Levels())
	m.stop = func(bool) error { return errors.New("no such process") }
	assert.ErrorContains(t, m.SetLevel(4), "no such process")

	for want, spoil := range map[string]func(map[string]string){
		"the kernel has no resctrl": func(f map[string]string) { f["proc/filesystems"] = "ext4" },
		"resctrl is not mounted": func(f map[string]string) {
			delete(f, "sys/fs/resctrl/info/MB/min_bandwidth")
		},
		"resctrl has no group": func(f map[string]string) { delete(f, schemata) },
		"no MB line":           func(f map[string]string) { f[schemata] = "L3:0=7ff" },
		"the processor cannot": func(f map[string]string) {
			delete(f, "sys/fs/resctrl/info/MB/min_bandwidth")
			f["sys/fs/resctrl/info/x"] = ""
		},
		`min_bandwidth is "none"`: func(f map[string]string) {
			f["sys/fs/resctrl/info/MB/min_bandwidth"] = "none"
		},
	} {
		spoilt := map[string]string{}
		for k, v := range files {
			spoilt[k] = v
		}
		spoil(spoilt)
		_, err := machine(t, spoilt).MBA("noisy", nil)
		assert.ErrorContains(t, err, want)
	}
	_, err = h.MBA("../../etc", nil)
	assert.ErrorContains(t, err, "group")
}

func TestReplay(t *testing.T) {
	s, err := Replay(strings.NewReader("# IIO occupancy\n\n1000, 65\n2000,80.5\n2000,81\n"))
	require.NoError(t, err)
	for _, c := range []struct {
		ns   int
		v    float64
		some bool
	}{{0, 0, false}, {999, 0, false}, {1000, 65, true}, {1999, 65, true}, {2000, 81, true},
		{9000, 81, true}} {
		v, some := s(at(7).Add(units.Duration(c.ns) * units.Nanosecond))
		assert.Equal(t, [2]any{c.v, c.some}, [2]any{v, some}, c.ns)
	}
	for text, want := range map[string]string{
		"": "nothing in it", "1000": `line 1: "1000"`, "\nx,1": "line 2",
		"1,x": "no time in ns and a value", "1,NaN": "value", "-1,1": "a time of -1 ns",
		"5,1\n4,1": "before the line above",
	} {
		_, err := Replay(strings.NewReader(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func FuzzReplay(f *testing.F) {
	f.Add("0,1\n5,2.5\n")
	f.Add("# x\n9223372036854775807,1e308")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := Replay(strings.NewReader(text)); err == nil {
			s(0)
			s(at(5))
		}
	})
}

func TestEmulated(t *testing.T) {
	v, ok := Emulated(func() units.Bytes { return 4480 }, 64)(0)
	assert.Equal(t, [2]any{70.0, true}, [2]any{v, ok})
	_, ok = Emulated(func() units.Bytes { return 1 }, 0)(0)
	assert.False(t, ok)
}

// Whatever this machine has: each thing is there, or says why not.
func TestThisMachine(t *testing.T) {
	h := This()
	_, err := h.CPU()
	require.NoError(t, err)
	if llc, err := h.LLC(); err != nil {
		assert.True(t, IsAbsent(err), err)
	} else {
		assert.Positive(t, llc.Size)
		assert.EqualValues(t, 64, llc.Line)
	}
	busy, err := h.Busy()
	require.NoError(t, err)
	v, ok := busy(0)
	assert.True(t, ok && v >= 0 && v <= 1)
	if c, err := h.Count(Cycles, 0); err != nil {
		assert.True(t, IsAbsent(err), err)
	} else {
		a, err := c.Read()
		require.NoError(t, err)
		b, err := c.Read()
		require.NoError(t, err)
		assert.GreaterOrEqual(t, b, a)
		s := c.PerSecond()
		s(at(1))
		_, ok := s(at(2))
		assert.True(t, ok)
		require.NoError(t, c.Close())
	}
	var out bytes.Buffer
	h.Describe(&out)
	t.Log("\n" + out.String())
	assert.Contains(t, out.String(), "memory bandwidth")
}

// What resctrl counts of the last-level cache, over its domains; and why there is nothing.
func TestLLCMonitor(t *testing.T) {
	root := t.TempDir()
	_, _, err := At(root).LLCMonitor("")
	assert.True(t, IsAbsent(err), "%v", err)
	for domain, values := range map[string][2]string{"mon_L3_00": {"1048576", "5000000"},
		"mon_L3_01": {"65536", "7000000"}} {
		dir := filepath.Join(root, "sys/fs/resctrl/rdma/mon_data", domain)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "llc_occupancy"), []byte(values[0]+"\n"),
			0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "mbm_total_bytes"),
			[]byte(values[1]+"\n"), 0o644))
	}
	occupancy, moved, err := At(root).LLCMonitor("rdma")
	require.NoError(t, err)
	assert.EqualValues(t, 1114112, occupancy)
	assert.EqualValues(t, 12000000, moved)
	_, _, err = At(root).LLCMonitor("../etc")
	assert.Error(t, err)
}

func TestMisses(t *testing.T) {
	var misses, loads uint64 = 10, 100
	s := missShare(func() (uint64, error) {
		return misses, nil
	}, func() (uint64, error) { return loads, nil })
	_, ok := s(1)
	assert.False(t, ok, "the first")
	misses, loads = 15, 120
	share, ok := s(2)
	assert.True(t, ok)
	assert.Equal(t, 0.25, share)
	_, ok = s(3)
	assert.False(t, ok, "no load since")

	sample, end, err := This().Misses(0)
	if err != nil {
		require.True(t, IsAbsent(err), "%v", err)
		t.Log(err)
		return
	}
	defer end()
	sample(1)
	if part, ok := sample(2); ok {
		assert.True(t, part >= 0 && part <= 1)
	}
}
