package ethdev

/*
#cgo CFLAGS: -DALLOW_EXPERIMENTAL_API
#cgo LDFLAGS: -l:librte_net_memif.a -lrte_bus_vdev -lrte_hash -lrte_kvargs -lrte_eal -lbsd
#cgo LDFLAGS: -Wl,--wrap=socket -Wl,--wrap=accept -Wl,--wrap=eventfd -Wl,--wrap=memfd_create
#cgo LDFLAGS: -Wl,--wrap=recvmsg -Wl,--wrap=sendmsg -Wl,--wrap=memif_free_regions
#cgo LDFLAGS: -Wl,--wrap=rte_intr_callback_register -Wl,--wrap=rte_intr_callback_unregister
#cgo LDFLAGS: -Wl,--wrap=rte_intr_callback_unregister_pending -Wl,--wrap=rte_hash_del_key
#cgo LDFLAGS: -Wl,--wrap=rte_zmalloc -Wl,--wrap=rte_free -Wl,--wrap=rte_intr_fd_set
#cgo LDFLAGS: -Wl,--wrap=rte_intr_instance_alloc -Wl,--wrap=rte_intr_instance_free
*/
import "C"
