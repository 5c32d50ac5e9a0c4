package dpdk

import (
	"hash/fnv"
	"net"
)

// mac returns the address of an endpoint on a port whose device does not provide one: the one in
// the URL, otherwise one derived from the URL, the same in every run. The two ends of a loop or a
// memif differ in their last bit; the end of a tap differs from the kernel's.
func (u *URL) mac(second bool) net.HardwareAddr {
	if u.MAC != nil {
		return u.MAC
	}
	identity := string(u.Scheme) + ":" + u.Name + u.option("id") + u.TxFile
	h := fnv.New64a()
	h.Write([]byte(identity))
	sum := h.Sum(nil)
	mac := net.HardwareAddr{0x02, sum[3], sum[4], sum[5], sum[6], sum[7]}
	mac[5] &^= 1
	if second {
		mac[5] |= 1
	}
	return mac
}

// ownMAC reports whether the endpoint has the device's address: the device is the network interface
// that the other hosts see.
func (u *URL) ownMAC() bool {
	return u.MAC == nil && (u.Scheme == AFPacket || u.Scheme == AFXDP || u.Scheme == PCI)
}

func isZero(mac net.HardwareAddr) bool {
	for _, b := range mac {
		if b != 0 {
			return false
		}
	}
	return true
}
