package driver_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload/driver"
	"github.com/goroce/goroce/nicoffload/process"
	"github.com/goroce/goroce/units"
)

func TestMain(m *testing.M) {
	process.BeChild()
	os.Exit(m.Run())
}

func TestNames(t *testing.T) {
	assert.Subset(t, driver.Names(), []string{"process", "soft"})
	for _, name := range []string{"", driver.Off} {
		d, err := driver.Find(name)
		assert.NoError(t, err)
		assert.Nil(t, d)
	}
	fresh := fmt.Sprintf("dpu%d", len(driver.Names())) // with -count, earlier names remain
	_, err := driver.Find(fresh)
	assert.EqualError(t, err, fmt.Sprintf("unknown driver %q, want %s or off", fresh,
		strings.Join(driver.Names(), ", ")))
	mine := func(driver.Config, units.Time) (*driver.Offload, error) { return nil, nil }
	require.NoError(t, driver.Register(fresh, mine))
	d, err := driver.Find(fresh)
	assert.NoError(t, err)
	assert.NotNil(t, d)
	for _, taken := range []string{fresh, "soft", driver.Off, ""} {
		assert.Error(t, driver.Register(taken, mine), taken)
	}
	assert.Error(t, driver.Register("nothing", nil))
}

// Every driver decides, wherever its agent is polled, and a killed process is replaced.
func TestDriversDecide(t *testing.T) {
	for _, c := range []struct {
		name  string
		split bool
	}{{"soft", false}, {"soft", true}, {"process", false}, {"process", true}} {
		t.Run(c.name, func(t *testing.T) {
			open, err := driver.Find(c.name)
			require.NoError(t, err)
			begin := time.Now()
			now := func() units.Time { return units.Time(units.FromStd(time.Since(begin))) }
			o, err := open(driver.Config{Split: c.split, LineRate: 100 * units.Gbps}, now())
			require.NoError(t, err)
			assert.Equal(t, c.split, o.Agent != nil)
			spec, err := cc.Parse("swift")
			require.NoError(t, err)
			a, err := spec.New(cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 12 * units.Microsecond,
				Payload: 4096, Signals: cc.SignalDelay})
			require.NoError(t, err)
			f := o.Controller.Add(a, now())
			psn := uint32(0)
			until := func(what string, so func() bool) {
				t.Helper()
				for begin := time.Now(); !so(); {
					require.Less(t, time.Since(begin), 20*time.Second, what)
					psn++
					// The delay varies, so that the decisions do.
					delay := units.Microsecond * units.Duration(5+900*(psn>>12&1))
					o.Controller.Report(&cc.Event{Kind: cc.RTT, Flow: f, PSN: psn & 0xffffff,
						SndNxt: (psn + 1) & 0xffffff, Delay: delay, Packets: 1, Bytes: 4096}, now())
					o.Controller.Poll(now())
					if o.Agent != nil {
						o.Agent.Poll(now())
					}
				}
			}
			until("decisions arrive", func() bool { return o.Controller.Counters().Results > 3 })
			if c.name == "process" {
				n := o.Device.(*process.NIC)
				require.NoError(t, syscall.Kill(n.PID(), syscall.SIGKILL))
				until("the process is restarted", func() bool {
					return n.Restarts() == 1 && o.Controller.Counters().Returns > 0
				})
				results := o.Controller.Counters().Results
				until("decisions arrive again", func() bool {
					return o.Controller.Counters().Results > results+3
				})
			}
			if o.Close != nil {
				assert.NoError(t, o.Close())
			}
		})
	}
}
