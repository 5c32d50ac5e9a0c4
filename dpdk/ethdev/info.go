package ethdev

/*
#include <rte_ethdev.h>

static int link_get(uint16_t port, unsigned *speed, int *up)
{
	struct rte_eth_link link;
	int rc = rte_eth_link_get_nowait(port, &link);
	*speed = link.link_speed;
	*up = link.link_status;
	return rc;
}
*/
import "C"

import (
	"math"
	"net"

	"github.com/goroce/goroce/dpdk/eal"
)

// Info holds the capabilities of a device.
type Info struct {
	Driver         string
	MaxRxQ, MaxTxQ int
	MinMTU, MaxMTU int // 0: not reported
	MaxFrame       int // longest frame it receives; 0: not reported
	MinRoom        int // shortest buffer it receives into
	RxRing, TxRing int // the driver's default numbers of descriptors; 0: none
	RxTimestamps   bool
}

// InfoGet returns the capabilities of the device.
func (p Port) InfoGet() (Info, error) {
	var c C.struct_rte_eth_dev_info
	if rc := C.rte_eth_dev_info_get(C.uint16_t(p), &c); rc != 0 {
		return Info{}, eal.Errno(int(rc))
	}
	info := Info{
		Driver:  C.GoString(c.driver_name),
		MaxRxQ:  int(c.max_rx_queues),
		MaxTxQ:  int(c.max_tx_queues),
		MinMTU:  int(c.min_mtu),
		MaxMTU:  int(c.max_mtu),
		MinRoom: int(c.min_rx_bufsize),
		RxRing:  int(c.default_rxportconf.ring_size),
		TxRing:  int(c.default_txportconf.ring_size),

		RxTimestamps: c.rx_offload_capa&C.RTE_ETH_RX_OFFLOAD_TIMESTAMP != 0,
	}
	if c.max_mtu == math.MaxUint16 {
		info.MaxMTU = 0
	}
	if c.max_rx_pktlen != math.MaxUint32 {
		info.MaxFrame = int(c.max_rx_pktlen)
	}
	return info, nil
}

// Stats are the counters of a device.
type Stats struct {
	RxFrames, RxBytes uint64
	RxMissed          uint64 // the device had no descriptor
	RxErrors          uint64
	RxNoBuffer        uint64 // the pool had no mbuf
	TxFrames, TxBytes uint64
	TxErrors          uint64
}

// StatsGet returns the counters. It is safe for concurrent use.
func (p Port) StatsGet() (Stats, error) {
	var c C.struct_rte_eth_stats
	if rc := C.rte_eth_stats_get(C.uint16_t(p), &c); rc != 0 {
		return Stats{}, eal.Errno(int(rc))
	}
	return Stats{
		RxFrames: uint64(c.ipackets), RxBytes: uint64(c.ibytes),
		RxMissed: uint64(c.imissed), RxErrors: uint64(c.ierrors), RxNoBuffer: uint64(c.rx_nombuf),
		TxFrames: uint64(c.opackets), TxBytes: uint64(c.obytes), TxErrors: uint64(c.oerrors),
	}, nil
}

// Link is the state of the wire.
type Link struct {
	Up   bool
	Mbps int // 0: unknown
}

// LinkGetNowait returns the state of the wire. It is safe for concurrent use.
func (p Port) LinkGetNowait() (Link, error) {
	var speed C.uint
	var up C.int
	if rc := C.link_get(C.uint16_t(p), &speed, &up); rc != 0 {
		return Link{}, eal.Errno(int(rc))
	}
	link := Link{Up: up == C.RTE_ETH_LINK_UP}
	if speed != C.RTE_ETH_SPEED_NUM_UNKNOWN {
		link.Mbps = int(speed)
	}
	return link, nil
}

// MACAddrGet returns the device's address; all zero if it has none.
func (p Port) MACAddrGet() (net.HardwareAddr, error) {
	var c C.struct_rte_ether_addr
	if rc := C.rte_eth_macaddr_get(C.uint16_t(p), &c); rc != 0 {
		return nil, eal.Errno(int(rc))
	}
	mac := make(net.HardwareAddr, len(c.addr_bytes))
	for i, b := range c.addr_bytes {
		mac[i] = byte(b)
	}
	return mac, nil
}
