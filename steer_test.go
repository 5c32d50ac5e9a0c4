package goroce

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/transport"
)

// rulePort is a port of three queues whose rules are those in the map.
type rulePort struct {
	err   error // of Steer
	asked int
	rules map[dpdk.UDPFlow]int
}

func (p *rulePort) Queues() int { return 3 }

func (p *rulePort) Steer(f dpdk.UDPFlow, queue int) (func(), error) {
	p.asked++
	if p.err != nil {
		return nil, p.err
	}
	p.rules[f] = queue
	return func() { delete(p.rules, f) }, nil
}

func TestFlowRules(t *testing.T) {
	var log bytes.Buffer
	port := &rulePort{rules: map[dpdk.UDPFlow]int{}}
	rules := &flowRules{port: port, log: slog.New(slog.NewTextHandler(&log, nil))}
	flow := dpdk.UDPFlow{Src: netip.MustParseAddrPort("10.0.0.2:49152"),
		Dst: netip.MustParseAddrPort("10.0.0.1:4791")}
	end := rules.add(flow, 4) // of five endpoints, which share three queues
	require.Equal(t, map[dpdk.UDPFlow]int{flow: 1}, port.rules)
	end()
	require.Empty(t, port.rules)

	port.err = syscall.ENOSPC // one rule more is too many, others may end
	rules.add(flow, 1)()
	require.True(t, rules.usable())
	require.Empty(t, log.String())

	port.err = fmt.Errorf("dpdk: %w", syscall.ENOSYS)
	for range 2 {
		rules.add(flow, 1)()
	}
	require.False(t, rules.usable())
	require.Equal(t, 1, strings.Count(log.String(), "no rules for flows"), log.String())
	require.False(t, (*flowRules)(nil).usable())
}

// A connection asks the port for a rule, and works without: the rings of a loop have none.
func TestConnWithoutFlowRules(t *testing.T) {
	var hosts [2]*Host
	for i := range hosts {
		h, err := Open("loop:"+t.Name(), Options{Queues: 2})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		hosts[i] = h
	}
	client, server := dialed(t, hosts[1], hosts[0])
	var mine, theirs uint16
	require.NoError(t, client.w.do(func(*transport.Endpoint) { mine = client.qp.SourcePort() }))
	require.NoError(t, server.w.do(func(*transport.Endpoint) { theirs = server.qp.SourcePort() }))
	require.NotZero(t, mine)
	require.Equal(t, mine, theirs, "a rule takes the peer's source port for ours")
	require.Eventually(t, func() bool { return !hosts[0].rules.usable() }, 10*time.Second,
		time.Millisecond)
	pingPong(t, client, server)

	_, err := hosts[0].device.Steer(dpdk.UDPFlow{
		Src: netip.MustParseAddrPort("10.0.0.2:49152"),
		Dst: netip.MustParseAddrPort("10.0.0.1:4791")}, 1)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = hosts[0].device.Steer(dpdk.UDPFlow{
		Src: netip.MustParseAddrPort("10.0.0.2:49152"),
		Dst: netip.MustParseAddrPort("[::1]:4791")}, 1)
	require.ErrorContains(t, err, "of one family")
	_, err = hosts[0].device.Steer(dpdk.UDPFlow{}, 2)
	require.ErrorContains(t, err, "range [0, 2)")
}
