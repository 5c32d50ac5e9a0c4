package steering

import (
	"github.com/goroce/goroce/internal/neigh"
	"github.com/goroce/goroce/transport/wire"
)

// everyone as the owner of a frame means that each port gets a copy.
const everyone = -1

// firstOwned is the lowest queue pair number that a program can have. 0 and 1 are the subnet
// management interface and the general services interface (IB 3.9.3), which port 0 serves.
const firstOwned = 2

// ownerOf returns which of n ports a frame is for. Each endpoint has a table of neighbours of its
// own, so that all need the replies of neighbours. Port 0 replies to their requests.
func ownerOf(frame []byte, n int) int {
	qpn, isRoCE := wire.DestQP(frame)
	switch {
	case isRoCE && qpn >= firstOwned:
		return int(uint32(qpn) % uint32(n))
	case neigh.IsAdvertisement(frame):
		return everyone
	}
	return 0
}
