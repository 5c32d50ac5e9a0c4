package dialect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/intent"
)

// TestRestore checks that exactly the lines that Config replaced are restored.
func TestRestore(t *testing.T) {
	for _, c := range []struct{ dialect, iface, saved, want string }{
		{"nxos", "Ethernet1/1", `
version 10.2(3)
system qos
  service-policy type network-qos before_nq
  service-policy type queuing output before_out
interface Ethernet1/1
  description to host 1
  priority-flow-control mode auto
  no shutdown
policy-map type queuing bytetuning_leaf_out
  priority-flow-control mode off
interface Ethernet1/2
  priority-flow-control mode on
`, `system qos
  service-policy type network-qos before_nq
  service-policy type queuing output before_out
interface Ethernet1/1
  priority-flow-control mode auto
`},
		{"eos", "Ethernet1", `
qos profile before
   priority-flow-control on
!
interface Ethernet1
   mtu 9214
   service-profile before
!
platform trident mmu queue profile before apply
`, `interface Ethernet1
   service-profile before
platform trident mmu queue profile before apply
`},
		{"huawei", "100GE1/0/1", `
#
interface 100GE1/0/1
 description uplink
 qos queue 3 wred before
 dcb pfc enable before mode auto
#
return
`, `interface 100GE1/0/1
 qos queue 3 wred before
 dcb pfc enable before mode auto
commit
`},
		{"h3c", "HundredGigE1/0/1", `
interface HundredGigE1/0/1
 port link-mode bridge
 qos wred apply before
 priority-flow-control dot1p 3 headroom 200
 qos wred apply bytetuning_leaf
`, `interface HundredGigE1/0/1
 qos wred apply before
 priority-flow-control dot1p 3 headroom 200
`},
		{"onyx", "1/1", `
##
   interface ethernet 1/1 mtu 9216
   interface ethernet 1/1 traffic-class 3 congestion-control ecn ` +
			`minimum-absolute 150 maximum-absolute 1500
   interface ethernet 1/1 qos trust L2
   interface ethernet 1/2 qos trust L2
`, `interface ethernet 1/1 traffic-class 3 congestion-control ecn ` +
			`minimum-absolute 150 maximum-absolute 1500
interface ethernet 1/1 qos trust L2
`},
		{"nvue", "swp1", `
nv set interface swp1 link mtu 9216
nv set interface swp1 qos congestion-control profile before
nv set interface swp2 qos congestion-control profile before
`, `nv set interface swp1 qos congestion-control profile before
nv config apply
`},
	} {
		t.Run(c.dialect, func(t *testing.T) {
			d, err := Lookup(c.dialect)
			require.NoError(t, err)
			r, err := d.Render(&intent.Intent{
				Name: "leaf", Chip: intent.Chip{Cell: 256}, Interfaces: []string{c.iface},
				Priority: 3, Queue: 3,
				Watermark: bytetuning.Watermark{Kmin: 200_000, Kmax: 400_000, Pmax: 20,
					Headroom: 35_840, Alpha: -3},
			}, Options{})
			require.NoError(t, err)
			assert.Equal(t, c.want, r.Restore(c.saved))
			assert.NotContains(t, r.Restore(r.Config), prefix, "our own lines are not restored")
			assert.Empty(t, r.Restore(""))
		})
	}
}

// FuzzRestore checks that every restored line is a saved line or the final commit.
func FuzzRestore(f *testing.F) {
	f.Add("interface swp1\n qos x\n  y\n")
	f.Add("\t\n \n#\n")
	f.Add("interface swp1\n  mtu 9216\n  priority-flow-control mode auto\nsystem qos\n  " +
		"service-policy type queuing output before\n")
	d, err := Lookup("nxos")
	require.NoError(f, err)
	r, err := d.Render(&intent.Intent{
		Name: "leaf", Interfaces: []string{"swp1"}, Priority: 3, Queue: 3,
		Watermark: bytetuning.Watermark{Kmin: 200_000, Kmax: 400_000, Pmax: 20, Headroom: 35_840,
			Alpha: -3},
	}, Options{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, saved string) {
		there := map[string]bool{lastLine(r.Config): true}
		for line := range strings.Lines(saved) {
			there[strings.Join(strings.Fields(line), " ")] = true
		}
		restored := r.Restore(saved)
		assert.NotContains(t, restored, prefix)
		for line := range strings.Lines(restored) {
			assert.Contains(t, there, strings.Join(strings.Fields(line), " "))
		}
	})
}
