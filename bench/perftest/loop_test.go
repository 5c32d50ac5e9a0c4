package perftest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/transport"
)

// Every test over every connection type it supports, plain and with validation.
func TestLoop(t *testing.T) {
	connections := map[Verb][]string{Write: {"RC", "UC"}, Send: {"RC", "UC", "UD"}, Read: {"RC"},
		Atomic: {"RC"}}
	for _, test := range everyTest {
		for _, c := range connections[test.Verb] {
			for _, check := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", test.Name(), c, check), func(t *testing.T) {
					args := []string{"-c", c, "-n", "300"}
					if test.Verb != Atomic {
						args = append(args, "-s", "3000")
					}
					if check {
						args = append(args, "--data_validation")
					}
					out := succeed(t, test, args...)
					row := regexpRow(t, out)
					require.Equal(t, "300", row[1])
					require.Contains(t, out, "retransmits 0, timeouts 0")
				})
			}
		}
	}
}

// regexpRow returns the fields of the only row of a table.
func regexpRow(t testing.TB, out string) []string {
	lines := strings.Split(out, "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, " #bytes") })
	require.Positive(t, i, out)
	require.Greater(t, len(lines), i+2)
	require.Equal(t, strings.TrimSpace(line), lines[i+2], "a rule after the row")
	return strings.Fields(lines[i+1])
}

func TestLoopVariants(t *testing.T) {
	for _, c := range []struct {
		test Test
		args string
		says string
	}{
		{writeBW, "-b -n 500", "Bidirectional"},
		{sendBW, "-b -n 500 -q 3 --data_validation", "Jain index"},
		{readBW, "-b -n 500 --data_validation", "RDMA_Read"},
		{writeBW, "-q 20 -n 50 -s 64", "Jain index"},
		{writeBW, "--queues 2 -q 5 -n 500 -s 512 --data_validation", "over 5 queue pairs"},
		{writeBW, "-n 500 -s 100 -I 128 --data_validation", "Max inline data : 128[B]"},
		{sendBW, "-n 500 -s 1 --data_validation", ""},
		{sendBW, "-n 500 -s 9000 -m 256 --data_validation", "Mtu             : 256[B]"},
		{sendBW, "-c UD -n 500 -s 4096 --data_validation", ""},
		{writeBW, "-n 500 -l 16 -t 64 -Q 16", "Post List       : 16"},
		{writeBW, "-n 777 -l 16 -t 50 -Q 7 -s 64", ""},
		{writeBW, "-n 500 -t 1", "TX depth        : 1"},
		{writeBW, "-n 500 --write_with_imm --data_validation", ""},
		{Test{Write, Latency}, "-n 500 --write_with_imm --data_validation -s 100", ""},
		{atomicBW, "-n 500 -A CMP_AND_SWAP -q 2 --data_validation", "CMP_AND_SWAP"},
		{Test{Atomic, Latency}, "-n 500 -A CMP_AND_SWAP --data_validation", ""},
		{writeLat, "-n 600 -s 1 --data_validation", ""},
		{writeLat, "-n 600 -s 20000 -m 1024 --data_validation", ""},
		{sendLat, "-n 600 -c UD -I 64 -s 64", ""},
		{writeBW, "-n 500 --ip 192.168.7.1/24",
			"00:00:00:00:00:00:00:00:00:00:255:255:192:168:07:02"},
		{writeBW, "-n 500 --ip 192.168.7.1/24 --ip fd00::5/64 -x 2 --tclass 32", "GID: 253:00:00"},
		{writeBW, "-n 500 --cc fixed:window=8KiB -s 4096", ""},
		{readBW, "-n 500 -o 1 -s 20000", "Outstand reads  : 1"},
		{writeBW, "-D 0.3", ""},
		{sendBW, "-D 0.3 -s 64 -b -f 0", ""},
		{writeLat, "-D 0.3", "tps average"},
		{writeLat, "-n 50 -U", "#, usec\n1, "},
		{writeLat, "-n 50 -H", "usec, samples"},
		{writeBW, "-N -n 500", "0.00"},
		{writeBW, "-n 500 --report_gbits", "BW average[Gb/sec]"},
		{writeBW, "-n 500 --tocc unsch=0,k=4096 --data_validation", ", TOKENs "},
		{sendBW, "-n 500 -q 3 -b --tocc k=8192,cc=swift --cc swift -s 5000 --data_validation",
			", TOKENs "},
		{writeLat, "-n 600 -s 20000 -m 1024 --tocc unsch=0,k=2048 --data_validation", ", TOKENs "},
		{sendLat, "-n 600 -s 9000 --tocc homa --data_validation", ""},
		{writeBW, "-n 500 -m 1024 --tocc expresspass", ", TOKENs "},
		{sendBW, "-n 3000 --carc llc=256KiB,delta=off --work 1us --data_validation", ", CREDITs "},
		{sendBW, "-n 500 -q 3 -b --carc llc=128KiB --tocc k=8192,cc=swift --work 1us -s 5000 " +
			"--data_validation", "receiver at 5000 bytes: unconsumed [KiB] p50 "},
		{sendBW, "-n 500 --carc llc=1MiB --data_validation", ", CREDITs "},
		{sendBW, "-n 500 --work 1us -r 100 --data_validation", "receiver at 65536 bytes: "},
		{writeBW, "-n 500 --write_with_imm --carc llc=64KiB --work 1us -s 5000",
			"receiver at 5000 bytes: "},
		{sendLat, "-n 300 --carc llc=64KiB --work 1us -s 9000 --data_validation", ""},
		{sendLat, "-n 300 --carc llc=64KiB,mode=rr --data_validation", ""},
		{Test{Write, Latency}, "-n 300 --write_with_imm --carc llc=64KiB,mode=rr --work 1us", ""},
		{writeBW, "-n 500 --cores 0,1 --idle pause", ""},
	} {
		t.Run(c.test.Name()+" "+c.args, func(t *testing.T) {
			require.Contains(t, succeed(t, c.test, strings.Fields(c.args)...), c.says)
		})
	}
}

func TestAllSizes(t *testing.T) {
	for _, test := range everyTest {
		if test.Verb == Atomic || race.Short() && test != sendBW { // one is enough for a race
			continue
		}
		out := succeed(t, test, "-a", "-n", "5")
		require.Contains(t, out, "\n 2 ")
		require.Contains(t, out, "\n 8388608 ")
	}
	out := succeed(t, sendBW, "-a", "-n", "5", "-c", "UD")
	require.Contains(t, out, "\n 4096 ")
	require.NotContains(t, out, "\n 8192 ")
	succeed(t, sendBW, "-a", "-n", "20", "--data_validation")
}

func TestOneNumber(t *testing.T) {
	for test, whats := range map[Test][]string{writeBW: {"bandwidth", "message_rate"},
		writeLat: {"latency"}} {
		for _, what := range whats {
			out := succeed(t, test, "-n", "100", "--output", what)
			require.Regexp(t, `^\d+\.\d+\n$`, out)
		}
	}
}

func TestVerdict(t *testing.T) {
	o := do(t, writeBW, "-n", "500", "-w", "1e12")
	require.Equal(t, cli.Failed, o.code)
	require.Contains(t, o.errors, "below the limit: 65536 bytes: bandwidth")
	o = do(t, writeBW, "-n", "500", "-y", "1e6")
	require.Equal(t, cli.Failed, o.code)
	require.Contains(t, o.errors, "--limit_msgrate 1e+06")
	succeed(t, writeBW, "-n", "500", "-w", "1", "-y", "0.000001")
}

// A run allocates the same memory for any number of messages.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	mallocs := func(test Test, n int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		succeed(t, test, "-n", fmt.Sprint(n))
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	more := 20_000
	if race.Short() {
		more = 5000
	}
	for _, test := range everyTest {
		mallocs(test, 100)
		few, many := mallocs(test, 100), mallocs(test, 100+more)
		require.Less(t, int64(many)-int64(few), int64(more/10), "%s: %d messages more",
			test.Name(), more)
	}
}

// A SEND test that expects another pattern.
func TestValidationFindsWhatIsWrong(t *testing.T) {
	s, err := parse(writeBW, []string{"-s", "256", "--data_validation"})
	require.NoError(t, err)
	host, err := goroce.Open("loop:"+t.Name(), goroce.Options{})
	require.NoError(t, err)
	defer host.Close()
	l := &queueSet{host: host, settings: s}
	require.NoError(t, l.create([]int{0, 1}))
	const sent = 1000
	span := s.spanOf(s.Size)
	for i := range l.pairs {
		for m := uint64(sent - span.slots); m < sent; m++ {
			fillPattern(l.slot(i, m, s.Size), uint64(i), m)
		}
	}
	require.NoError(t, l.checkTargets(s.Size, []uint64{sent, sent}))
	l.slot(1, 990, s.Size)[13] ^= 1
	require.ErrorContains(t, l.checkTargets(s.Size, []uint64{sent, sent}),
		"queue pair 1, message 990, byte 13: got")
	l.slot(1, 990, s.Size)[13] ^= 1
	require.ErrorContains(t, l.checkTargets(s.Size, []uint64{sent, sent + 1}), "message 1000",
		"the last one is missing")

	s.Test.Verb = Send
	in := &inbound{receive: l.receive(0)}
	check := &receiveCheck{queueSet: l, size: s.Size}
	wc := &transport.WorkCompletion{ID: 5, ByteLen: uint32(s.Size)}
	at := l.pairs[0].to + 5*in.receive.span.stride
	data := l.mr.Bytes()[at : at+s.Size]
	fillPattern(data, 0, 0)
	require.NoError(t, check.message(wc, in))
	data[255]++
	require.ErrorContains(t, check.message(wc, in), "message 0, byte 255")
	wc.ByteLen--
	require.ErrorContains(t, check.message(wc, in), "message 0: got 255 bytes, want 256")
}

// The document is valid for every test and with many rows, and has every documented key.
func TestDocument(t *testing.T) {
	common := "MsgSize n_iterations percentiles.p50 percentiles.p90 percentiles.p99 " +
		"percentiles.p99_9 percentiles.p99_99 percentiles.max per_qp jain lost cut_off " +
		"retransmits timeouts rnr_naks sequence_naks cnps ce_marked drops cpu.user_s " +
		"cpu.sys_s cpu.percent " +
		"own_poll_gaps peer_poll_gaps longest_gap_us gc.cycles gc.pause_total_us gc.pause_max_us"
	byKind := [...]string{
		Bandwidth: "BW_peak BW_average MsgRate",
		Latency: "t_min t_max t_typical t_avg t_stdev percentile_99 percentile_99\\.9 " +
			"tps_average",
	}
	top := "test_info.test test_info.Dual_port test_info.Device test_info.Number_of_qps " +
		"test_info.Transport_type test_info.Connection_type test_info.Using_SRQ " +
		"test_info.PCIe_relax_order test_info.ibv_wr_API test_info.TX_depth test_info.RX_depth " +
		"test_info.CQ_Moderation test_info.Mtu test_info.Link_type test_info.GID_index " +
		"test_info.rdma_cm_QPs test_info.Data_ex_method test_info.TOS host.cpu host.kernel " +
		"host.cores host.go host.dpdk host.goroce port.url port.driver port.mac port.mtu cc seed " +
		"results"
	for _, test := range everyTest {
		for _, args := range [][]string{{"-n", "50"}, {"-n", "5", "-a"}, {"-D", "0.2"}} {
			sizes := 1
			if args[len(args)-1] == "-a" {
				if sizes = 23; test.Verb == Atomic {
					continue
				}
			}
			file := filepath.Join(t.TempDir(), "out.json")
			o := do(t, test, append(args, "--out_json_file="+file, "--seed", "7")...)
			require.Zero(t, o.code, "%s: %s", test.Name(), o.errors)
			for line := range strings.Lines(o.errors) {
				require.Contains(t, line, "level=WARN msg=\"fixed seed",
					"nothing else is to be said")
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var doc map[string]any
			require.NoError(t, json.Unmarshal(text, &doc), string(text))
			require.Subset(t, keys(doc, ""), strings.Fields(top), test.Name())
			if test.isOneSided() {
				require.Contains(t, keys(doc, ""), "test_info.Outstand_reads")
			} else {
				require.Contains(t, keys(doc, ""), "test_info.Max_inline_data")
			}
			rows := doc["results"].([]any)
			require.Len(t, rows, sizes, test.Name())
			want := append(strings.Fields(common), strings.Fields(byKind[test.Kind])...)
			for _, r := range rows {
				got := keys(r.(map[string]any), "")
				slices.Sort(got)
				slices.Sort(want)
				require.Equal(t, want, got, test.Name())
			}
			require.EqualValues(t, 7, doc["seed"])
			files, err := os.ReadDir(filepath.Dir(file))
			require.NoError(t, err)
			require.Len(t, files, 1, "no temporary file stays")
		}
	}
}

// keys returns the paths of a document's leaves.
func keys(m map[string]any, path string) (all []string) {
	for k, v := range m {
		name := path + strings.ReplaceAll(k, ".", "\\.")
		if inner, ok := v.(map[string]any); ok {
			all = append(all, keys(inner, name+".")...)
			continue
		}
		all = append(all, name)
	}
	return all
}

// results is the part of a Document that tests read.
type results struct {
	Results []*Row       `json:"results"`
	Offload *OffloadInfo `json:"offload"`
}

func parseDocument(t *testing.T, text string) (d results) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &d))
	return d
}

func TestDocumentOnStandardOutput(t *testing.T) {
	o := do(t, writeBW, "-n", "50", "--out_json_file=-")
	require.Zero(t, o.code)
	doc := parseDocument(t, o.out)
	require.EqualValues(t, 50, doc.Results[0].Iterations)
	require.Contains(t, o.errors, "#bytes", "the table makes way")
}

func TestDocumentCannotBeWritten(t *testing.T) {
	d := &Document{}
	dir := t.TempDir()
	require.ErrorContains(t, d.save(filepath.Join(dir, "no", "x.json"), io.Discard),
		"--out_json_file")
	require.Error(t, d.save(dir, io.Discard))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestPcap(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.pcap")
	succeed(t, writeBW, "-n", "50", "-s", "64", "--pcap", file)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(50*64))
}

func TestLoopErrors(t *testing.T) {
	for args, says := range map[string]string{
		"-m 4096 -d loop:,x=1":                "--ib-dev loop:,x=1",
		"--pcap /no/such/dir/x":               "no such file",
		"-c UD -s 8000":                       "a datagram of port",
		"--cores 99":                          "99",
		"-d pcap:/no/such/file,/tmp/out -p 1": "no such file",
	} {
		t.Run(args, func(t *testing.T) {
			o := do(t, sendBW, strings.Fields(args)...)
			require.Contains(t, []int{cli.Failed, cli.Misuse}, o.code, o.out)
			require.Contains(t, o.errors, says)
		})
	}
}

// A loop is a bottleneck with a rate and marks if its URL says so; otherwise an algorithm that
// reduces on marks does not, and a note says so.
func TestBottleneck(t *testing.T) {
	o := do(t, writeBW, "-n", "200", "--cc", "dctcp")
	require.Zero(t, o.code, o.errors)
	require.Contains(t, o.errors, "nothing on port loop:")
	file := filepath.Join(t.TempDir(), "run.json")
	for url, most := range map[string]float64{"loop:ecn=8KiB,16KiB": 1e6,
		"loop:rate=100Mb/s,ecn=8KiB,64KiB": 0.1} {
		var out, errs bytes.Buffer
		require.Zero(t, Run(t.Context(), writeBW, []string{"-d", url, "-D", "0.5", "--cc", "dctcp",
			"--report_gbits", "--out_json_file", file}, &out, &errs), errs.String())
		require.Empty(t, errs.String())
		row := readDocument(t, file)["results"].([]any)[0].(map[string]any)
		require.NotZero(t, row["ce_marked"], url)
		require.LessOrEqual(t, row["BW_average"], most, url)
	}
}
