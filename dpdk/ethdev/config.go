package ethdev

/*
#include <rte_ethdev.h>
#include "memif.h"

static int configure(uint16_t port, uint16_t rxq, uint16_t txq, uint32_t mtu, uint64_t offloads)
{
	struct rte_eth_conf conf = {
		.rxmode = {.mtu = mtu, .offloads = offloads},
	};
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_info_get(port, &info);
	if (rc != 0)
		return rc;
	if (rxq > 1) {
		uint64_t hash = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP;
		conf.rx_adv_conf.rss_conf.rss_hf = hash & info.flow_type_rss_offloads;
		if (conf.rx_adv_conf.rss_conf.rss_hf != 0)
			conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	}
	return rte_eth_dev_configure(port, rxq, txq, &conf);
}

static int rxq_setup(uint16_t port, uint16_t queue, uint16_t n, void *pool)
{
	return rte_eth_rx_queue_setup(port, queue, n, rte_eth_dev_socket_id(port), NULL, pool);
}

static int txq_setup(uint16_t port, uint16_t queue, uint16_t n)
{
	gr_memif_setup_begin(port);
	int rc = rte_eth_tx_queue_setup(port, queue, n, rte_eth_dev_socket_id(port), NULL);
	gr_memif_setup_end();
	return rc;
}
*/
import "C"

import (
	"net"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/dpdk/mempool"
)

// Conf configures a device. All other offloads stay off: the transport computes its checksums.
type Conf struct {
	RxQ, TxQ     int
	MTU          int
	RxTimestamps bool // only if Info reports the capability
}

// DevConfigure sets the number of queues and the properties of the device. With several receive
// queues, UDP flows are spread over them if the device is able to.
func (p Port) DevConfigure(c Conf) error {
	var offloads C.uint64_t
	if c.RxTimestamps {
		offloads = C.RTE_ETH_RX_OFFLOAD_TIMESTAMP
	}
	return eal.Errno(int(C.configure(C.uint16_t(p), C.uint16_t(c.RxQ), C.uint16_t(c.TxQ),
		C.uint32_t(c.MTU), offloads)))
}

// AdjustRing returns the numbers of descriptors nearest to rx and tx that the device supports.
func (p Port) AdjustRing(rx, tx int) (int, int, error) {
	nrx, ntx := C.uint16_t(rx), C.uint16_t(tx)
	rc := C.rte_eth_dev_adjust_nb_rx_tx_desc(C.uint16_t(p), &nrx, &ntx)
	return int(nrx), int(ntx), eal.Errno(int(rc))
}

// RxqSetup prepares receive queue q with n descriptors, filled from pool.
func (p Port) RxqSetup(q, n int, pool *mempool.Mempool) error {
	return eal.Errno(int(C.rxq_setup(C.uint16_t(p), C.uint16_t(q), C.uint16_t(n), pool.Pointer())))
}

// TxqSetup prepares transmit queue q with n descriptors.
func (p Port) TxqSetup(q, n int) error {
	return eal.Errno(int(C.txq_setup(C.uint16_t(p), C.uint16_t(q), C.uint16_t(n))))
}

// DevStart starts reception and transmission.
func (p Port) DevStart() error { return eal.Errno(int(C.rte_eth_dev_start(C.uint16_t(p)))) }

// DevStop ends them.
func (p Port) DevStop() error { return eal.Errno(int(C.rte_eth_dev_stop(C.uint16_t(p)))) }

// PromiscuousEnable turns on reception of frames for any address.
func (p Port) PromiscuousEnable() error {
	return eal.Errno(int(C.rte_eth_promiscuous_enable(C.uint16_t(p))))
}

// PromiscuousDisable turns it off: with some drivers it would outlive the device, as a flag of the
// kernel's interface.
func (p Port) PromiscuousDisable() error {
	return eal.Errno(int(C.rte_eth_promiscuous_disable(C.uint16_t(p))))
}

// AllMulticastEnable turns on reception of frames for every group, which IPv6 neighbour
// discovery needs.
func (p Port) AllMulticastEnable() error {
	return eal.Errno(int(C.rte_eth_allmulticast_enable(C.uint16_t(p))))
}

// MACAddrSet changes the device's own address.
func (p Port) MACAddrSet(mac net.HardwareAddr) error {
	var c C.struct_rte_ether_addr
	for i := range c.addr_bytes {
		c.addr_bytes[i] = C.uint8_t(mac[i])
	}
	return eal.Errno(int(C.rte_eth_dev_default_mac_addr_set(C.uint16_t(p), &c)))
}

// MTUSet changes the MTU of a configured device.
func (p Port) MTUSet(mtu int) error {
	return eal.Errno(int(C.rte_eth_dev_set_mtu(C.uint16_t(p), C.uint16_t(mtu))))
}
