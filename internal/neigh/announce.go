package neigh

// Announce broadcasts the table's own addresses, so that neighbours that have another MAC address
// for one of them update it: ARP announcements (RFC 5227 section 3) and unsolicited neighbour
// advertisements (RFC 4861 section 7.2.6).
func (t *Table) Announce() {
	for _, p := range t.addrs {
		if a := p.Addr(); a.Is4() {
			t.sendARP(arpRequest, broadcastMAC, a, [6]byte{}, a)
		} else {
			t.sendAdvertisement(groupMAC(allNodes), a, allNodes, 0)
		}
	}
}
