/* Calls to attach, set up, start and detach a device, and to run code on EAL's threads. */
#include "fault.h"

#include <errno.h>

#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_lcore.h>

GR_FAULT(int, rte_eal_hotplug_add, (const char *bus, const char *name, const char *args),
	 (bus, name, args), return -ENOMEM)
GR_FAULT(int, rte_dev_remove, (struct rte_device *dev), (dev), return -EBUSY)
GR_FAULT(int, rte_eth_dev_get_port_by_name, (const char *name, uint16_t *port), (name, port),
	 return -ENODEV)
GR_FAULT(int, rte_eth_from_rings,
	 (const char *name, struct rte_ring *const rx[], unsigned nrx, struct rte_ring *const tx[],
	  unsigned ntx, unsigned node),
	 (name, rx, nrx, tx, ntx, node), rte_errno = ENOMEM; return -1)
GR_FAULT(struct rte_eth_dev *, rte_eth_dev_allocate, (const char *name), (name), return NULL)
GR_FAULT(int, rte_eth_dev_info_get, (uint16_t port, struct rte_eth_dev_info *info), (port, info),
	 return -EIO)
GR_FAULT(int, rte_eth_dev_callback_register,
	 (uint16_t port, enum rte_eth_event_type event, rte_eth_dev_cb_fn fn, void *arg),
	 (port, event, fn, arg), return -ENOMEM)
GR_FAULT(int, rte_eth_dev_configure,
	 (uint16_t port, uint16_t rxq, uint16_t txq, const struct rte_eth_conf *conf),
	 (port, rxq, txq, conf), return -EINVAL)
GR_FAULT(int, rte_eth_dev_adjust_nb_rx_tx_desc, (uint16_t port, uint16_t *rx, uint16_t *tx),
	 (port, rx, tx), return -EIO)
GR_FAULT(int, rte_eth_rx_queue_setup,
	 (uint16_t port, uint16_t queue, uint16_t n, unsigned socket,
	  const struct rte_eth_rxconf *conf, struct rte_mempool *mp),
	 (port, queue, n, socket, conf, mp), return -ENOMEM)
GR_FAULT(int, rte_eth_tx_queue_setup,
	 (uint16_t port, uint16_t queue, uint16_t n, unsigned socket,
	  const struct rte_eth_txconf *conf),
	 (port, queue, n, socket, conf), return -ENOMEM)
GR_FAULT(int, rte_eth_dev_start, (uint16_t port), (port), return -EIO)
GR_FAULT(int, rte_eth_dev_stop, (uint16_t port), (port), return -EBUSY)
GR_FAULT(int, rte_eth_dev_close, (uint16_t port), (port), return -EIO)
GR_FAULT(int, rte_eth_macaddr_get, (uint16_t port, struct rte_ether_addr *mac), (port, mac),
	 return -EIO)
GR_FAULT(int, rte_eth_promiscuous_enable, (uint16_t port), (port), return -EIO)
GR_FAULT(int, rte_eth_allmulticast_enable, (uint16_t port), (port), return -EIO)
GR_FAULT(int, rte_thread_register, (void), (), rte_errno = ENOMEM; return -1)
GR_FAULT(int, rte_eal_alarm_set, (uint64_t us, rte_eal_alarm_callback fn, void *arg), (us, fn, arg),
	 return -ENOMEM)
GR_FAULT(int, rte_intr_callback_register,
	 (const struct rte_intr_handle *handle, rte_intr_callback_fn fn, void *arg),
	 (handle, fn, arg), return -ENOMEM)
