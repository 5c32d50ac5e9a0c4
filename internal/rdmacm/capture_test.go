package rdmacm

import (
	"bytes"
	"io"
	"net/netip"
	"os"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport/wire"
)

// The two Linux (6.1, rxe) hosts of testdata/rdmacm-rping.pcap.
var (
	clientIP = netip.MustParseAddr("10.77.0.1")
	serverIP = netip.MustParseAddr("10.77.0.2")
)

// capture returns the communication manager's datagrams of the capture: REQ, REP, RTU, DREQ, DREP.
func capture(t testing.TB) (all []Datagram) {
	packets(t, func(p *wire.Packet) {
		if p.Op != wire.UDSendOnly {
			return
		}
		require.Equal(t, QPN, p.DestQP)
		require.Equal(t, QPN, wire.QPN(p.DETH().SrcQP.Get()))
		require.Equal(t, QKey, p.DETH().QKey.Get())
		require.Len(t, p.Payload(), MADLen)
		all = append(all, Datagram{Local: p.SrcIP(), Peer: p.DstIP(),
			MAD: [MADLen]byte(p.Payload())})
	})
	require.Len(t, all, 5)
	return all
}

// packets calls f with all packets of the capture.
func packets(t testing.TB, f func(*wire.Packet)) {
	file, err := os.Open("testdata/rdmacm-rping.pcap")
	require.NoError(t, err)
	defer file.Close()
	frames, err := pcapgo.NewReader(file)
	require.NoError(t, err)
	for {
		frame, _, err := frames.ReadPacketData()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		var p wire.Packet
		if p.Parse(bytes.Clone(frame)) == nil {
			f(&p)
		}
	}
}

// The expected messages of the capture.
const (
	clientID, serverID     CommID = 0xbcce9c4b, 0x4e4d99eb
	clientQPN, serverQPN          = wire.QPN(0x49), wire.QPN(0xc2)
	clientPSN, serverPSN          = wire.PSN(0x77aab5), wire.PSN(0xade70e)
	clientGUID, serverGUID uint64 = 0x505400fffe770001, 0x505400fffe770002
	transaction            uint64 = 0x24b9ccebc
	clientPort, serverPort uint16 = 0x9c3e, 7174
)

func captured() []Message {
	req := &REQ{
		LocalID: clientID, Service: TCPService(serverPort), LocalGUID: clientGUID,
		LocalQPN:           clientQPN,
		ResponderResources: 1, InitiatorDepth: 1, RemoteResponseTimeout: 20,
		LocalResponseTimeout: 20,
		StartingPSN:          clientPSN, RetryCount: 7, RNRRetryCount: 7, MaxCMRetries: 15,
		PKey: 0xffff,
		MTU:  5,
		Primary: Path{LocalLID: 0xffff, RemoteLID: 0xffff, LocalGID: clientIP, RemoteGID: serverIP,
			FlowLabel: 0x30788, HopLimit: 64, LocalACKTimeout: 19},
	}
	IPHeader{SourcePort: clientPort, Source: clientIP, Destination: serverIP}.Put(req.Private[:])
	return []Message{
		req,
		&REP{LocalID: serverID, RemoteID: clientID, LocalQPN: serverQPN, StartingPSN: serverPSN,
			ResponderResources: 1, InitiatorDepth: 1, TargetACKDelay: 15, RNRRetryCount: 7,
			LocalGUID: serverGUID},
		&RTU{LocalID: clientID, RemoteID: serverID},
		&DREQ{LocalID: clientID, RemoteID: serverID, RemoteQPN: serverQPN},
		&DREP{LocalID: serverID, RemoteID: clientID},
	}
}
