package cli

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// example is a table with a flag of each kind.
func example() (*Table, *int, *[]int) {
	depth, cores, secret := 8, []int(nil), "x"
	mtu, wait := 0, time.Second
	return &Table{Groups: []Group{{Title: "Traffic", Flags: []Flag{
		{Name: "depth", Short: "d", Value: &depth, Bounds: Within(1, 16), Agreement: Compared,
			Help: "`number` of messages, {bounds}"},
		{Name: "cores", Value: &cores, Bounds: AtLeast(0), Help: "`CPUs`"},
		{Name: "mtu", Short: "m", Value: &mtu, Agreement: ComparedIfGiven, Help: "`bytes`",
			PeerValue: func() (string, bool) { return map[int]string{0: ""}[mtu], true }},
		{Name: "wait", Value: &wait, NoDefault: true, Help: "`time`",
			Check: func(name string) error {
				if wait <= 0 {
					return errors.New(name + " " + wait.String() + ": want more than 0")
				}
				return nil
			}},
		{Name: "secret", Value: &secret, Hidden: true, Agreement: Implied},
		{Name: "other", Value: new(bool), Absent: true, Agreement: Compared},
	}}}}, &depth, &cores
}

func TestTableUsage(t *testing.T) {
	table, _, _ := example()
	require.Equal(t, "\nTraffic:\n"+
		"  -d, --depth number   number of messages, 1 to 16 (default 8)\n"+
		"      --cores CPUs     CPUs\n"+
		"  -m, --mtu bytes      bytes\n"+
		"      --wait time      time\n", table.Usage(0))
	require.Equal(t, "Traffic (the same at both ends, except --cores and --wait)",
		table.Groups[0].Except("Traffic"))
}

func TestTableParsesAndValidates(t *testing.T) {
	table, depth, cores := example()
	require.NoError(t,
		table.FlagSet("x").Parse([]string{"-d", "17", "--cores", "3,-1", "--wait=0s"}))
	require.Equal(t, 17, *depth)
	require.Equal(t, []int{3, -1}, *cores)
	require.EqualError(t, table.Validate(), "--depth 17: want 1 to 16\n"+
		"--cores -1: want at least 0\n--wait 0s: want more than 0")
	table.ShortNames = true
	require.ErrorContains(t, table.Validate(), "-d 17: want 1 to 16\n--cores -1")
	require.Error(t, table.FlagSet("x").Parse([]string{"--other"}), "absent")
}

func TestTableComparesWithPeer(t *testing.T) {
	table, depth, _ := example()
	ours := table.PeerSettings()
	require.Equal(t, map[string]string{"--depth": "8", "--mtu": "", "--other": "false"}, ours)
	*depth = 9
	theirs := table.PeerSettings()
	theirs["--mtu"] = "1024"
	require.Equal(t, []string{"--depth is 8 here and 9 at the peer"},
		table.Differences(ours, theirs))
	delete(theirs, "--other")
	require.Equal(t, []string{"--depth is 8 here and 9 at the peer",
		"--other is false here and not given at the peer"}, table.Differences(ours, theirs))
}
