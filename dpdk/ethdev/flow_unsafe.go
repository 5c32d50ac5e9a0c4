package ethdev

/*
#include <stdlib.h>
#include <string.h>
#include <rte_errno.h>
#include <rte_flow.h>

struct gr_udp {
	uint8_t src[16], dst[16]; // an IPv4 address is in the first 4 bytes
	uint16_t src_port, dst_port;
	int v6;
};

// Makes a rule for UDP datagrams without a VLAN tag.
static struct rte_flow *flow_create(uint16_t port, const struct gr_udp *udp, uint16_t queue,
				    struct rte_flow_error *error)
{
	struct rte_flow_attr attr = {.ingress = 1};
	struct rte_flow_item_ipv4 v4, v4_mask;
	struct rte_flow_item_ipv6 v6, v6_mask;
	struct rte_flow_item_udp spec, mask;
	struct rte_flow_action_queue to = {.index = queue};
	struct rte_flow_action action[] = {
		{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &to},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};
	struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &v4, .mask = &v4_mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};

	memset(&v4, 0, sizeof v4);
	memset(&v4_mask, 0, sizeof v4_mask);
	memset(&v6, 0, sizeof v6);
	memset(&v6_mask, 0, sizeof v6_mask);
	memset(&spec, 0, sizeof spec);
	memset(&mask, 0, sizeof mask);
	memcpy(&v4.hdr.src_addr, udp->src, 4);
	memcpy(&v4.hdr.dst_addr, udp->dst, 4);
	memset(&v4_mask.hdr.src_addr, 0xff, 4);
	memset(&v4_mask.hdr.dst_addr, 0xff, 4);
	memcpy(v6.hdr.src_addr, udp->src, 16);
	memcpy(v6.hdr.dst_addr, udp->dst, 16);
	memset(v6_mask.hdr.src_addr, 0xff, 16);
	memset(v6_mask.hdr.dst_addr, 0xff, 16);
	spec.hdr.src_port = rte_cpu_to_be_16(udp->src_port);
	spec.hdr.dst_port = rte_cpu_to_be_16(udp->dst_port);
	mask.hdr.src_port = mask.hdr.dst_port = 0xffff;
	if (udp->v6) {
		pattern[1].type = RTE_FLOW_ITEM_TYPE_IPV6;
		pattern[1].spec = &v6;
		pattern[1].mask = &v6_mask;
	}
	return rte_flow_create(port, &attr, pattern, action, error);
}

// What fails of a device that is being removed is of no interest.
static void flow_destroy(uint16_t port, struct rte_flow *flow)
{
	struct rte_flow_error error;
	rte_flow_destroy(port, flow, &error);
}

static int error_number(void) { return rte_errno; }
*/
import "C"

import (
	"fmt"
	"net/netip"

	"github.com/goroce/goroce/dpdk/eal"
)

// UDPFlow is the datagrams from one UDP port to another, as they arrive.
type UDPFlow struct {
	Src, Dst netip.AddrPort // both of IPv4, or both of IPv6
}

func (f UDPFlow) String() string { return fmt.Sprintf("UDP %v to %v", f.Src, f.Dst) }

// Flow is a rule of a device (rte_flow).
type Flow C.struct_rte_flow

// FlowCreate makes the device put a flow into a receive queue. The error is
// errors.ErrUnsupported from a device without such rules, or with others.
func (p Port) FlowCreate(f UDPFlow, queue int) (*Flow, error) {
	udp := C.struct_gr_udp{src_port: C.uint16_t(f.Src.Port()), dst_port: C.uint16_t(f.Dst.Port())}
	if f.Src.Addr().Is6() {
		udp.v6 = 1
	}
	putAddress(&udp.src, f.Src.Addr())
	putAddress(&udp.dst, f.Dst.Addr())
	var why C.struct_rte_flow_error
	flow := C.flow_create(C.uint16_t(p), &udp, C.uint16_t(queue), &why)
	if flow == nil {
		err := eal.Errno(-int(C.error_number()))
		if why.message != nil {
			err = fmt.Errorf("%s: %w", C.GoString(why.message), err)
		}
		return nil, err
	}
	return (*Flow)(flow), nil
}

func putAddress(to *[16]C.uint8_t, a netip.Addr) {
	for i, b := range a.AsSlice() {
		to[i] = C.uint8_t(b)
	}
}

// FlowDestroy ends a rule of the device.
func (p Port) FlowDestroy(f *Flow) {
	C.flow_destroy(C.uint16_t(p), (*C.struct_rte_flow)(f))
}
