package perftest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Document is the JSON document of a run: perftest's, with a row for each size, and what else
// there is to know.
type Document struct {
	TestInfo TestInfo     `json:"test_info"`
	Results  []*Row       `json:"results"`
	Host     HostInfo     `json:"host"`
	Port     PortInfo     `json:"port"`
	CC       string       `json:"cc"`
	Seed     uint64       `json:"seed"` // --seed, 0 without
	Offload  *OffloadInfo `json:"offload,omitempty"`
}

// TestInfo is the header block, by perftest's names.
type TestInfo struct {
	Test           string `json:"test"`
	DualPort       string `json:"Dual_port"`
	Device         string `json:"Device"`
	QPs            int    `json:"Number_of_qps"`
	TransportType  string `json:"Transport_type"`
	ConnectionType string `json:"Connection_type"`
	SRQ            string `json:"Using_SRQ"`
	RelaxedOrder   string `json:"PCIe_relax_order"`
	WrAPI          string `json:"ibv_wr_API"`
	TxDepth        int    `json:"TX_depth"`
	RxDepth        int    `json:"RX_depth"`
	CQModeration   int    `json:"CQ_Moderation"`
	MTU            int    `json:"Mtu"`
	LinkType       string `json:"Link_type"`
	GIDIndex       int    `json:"GID_index"`
	MaxInline      *int   `json:"Max_inline_data,omitempty"`
	Outstanding    *int   `json:"Outstand_reads,omitempty"`
	CMQPs          string `json:"rdma_cm_QPs"`
	DataExchange   string `json:"Data_ex_method"`
	TOS            int    `json:"TOS"`
	// Ours.
	Role          string  `json:"role"` // client, server, or both in one process
	Bidirectional bool    `json:"bidirectional"`
	Duration      float64 `json:"duration_s"` // 0: iterations
	Unit          string  `json:"BW_unit"`
}

// PortInfo is the port the test ran over.
type PortInfo struct {
	URL    string `json:"url"`
	Driver string `json:"driver"`
	MAC    string `json:"mac"`
	MTU    int    `json:"mtu"`
}

// document tells of a session; its port must be open still.
func (x *session) document() *Document {
	s := x.settings
	info := TestInfo{
		Test: s.title(), DualPort: "OFF", Device: s.Device, QPs: s.QPs, TransportType: "IB",
		ConnectionType: s.Connection.String(), SRQ: "OFF", RelaxedOrder: "OFF", WrAPI: "OFF",
		TxDepth: s.TxDepth, RxDepth: s.RxDepth, CQModeration: s.cqMod(s.Size), MTU: x.mtu,
		LinkType: "Ethernet",
		GIDIndex: s.GIDIndex, CMQPs: s.cmQPs(), DataExchange: s.dataExchange(), TOS: s.TrafficClass,
		Role: "client", Bidirectional: s.Bidirectional, Duration: s.Duration.Seconds(),
		Unit: s.unitName(),
	}
	if s.Test.oneSided() {
		info.Outstanding = &s.Outs
	} else {
		info.MaxInline = &s.Inline
	}
	switch {
	case s.inProcess():
		info.Role = "both"
	case x.server:
		info.Role = "server"
	}
	port := x.host.Info(0)
	return &Document{
		TestInfo: info, Results: x.rows, Host: thisHost(), CC: x.controls(), Seed: x.host.Seed(),
		Port: PortInfo{URL: s.Device, Driver: port.Driver, MAC: port.MAC.String(),
			MTU: int(port.MTU)},
		Offload: x.offload(),
	}
}

// save writes the document to a file, all of it or nothing, or to standard output.
func (d *Document) save(name string, stdout io.Writer) error {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("JSON document: %w", err)
	}
	b = append(b, '\n')
	if name == "-" {
		_, err = stdout.Write(b)
		return err
	}
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		// a pipe, or a link such as /dev/stdout: not ours to replace
		return os.WriteFile(name, b, 0o644)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return fmt.Errorf("--out_json_file: %w", err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("--out_json_file: %w", err)
	}
	return nil
}

// writable says why no file can be made in a directory.
func writable(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	}
	if err := unix.Access(dir, unix.W_OK); err != nil {
		return fmt.Errorf("directory %s: %w", dir, err)
	}
	return nil
}
