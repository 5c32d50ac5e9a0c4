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

// Document is the JSON document of a run: perftest's fields with a row for each size, and goroce's
// own.
type Document struct {
	TestInfo TestInfo     `json:"test_info"`
	Results  []*Row       `json:"results"`
	Host     HostInfo     `json:"host"`
	Port     PortInfo     `json:"port"`
	CC       string       `json:"cc"`
	Seed     uint64       `json:"seed"` // --seed, 0 if unset
	Offload  *OffloadInfo `json:"offload,omitempty"`
	// Interrupted reports whether a signal or the peer ended the run before its time. The last row
	// then has what was measured until then.
	Interrupted bool `json:"interrupted"`
}

// PortInfo describes the port of the test.
type PortInfo struct {
	URL    string `json:"url"`
	Driver string `json:"driver"`
	MAC    string `json:"mac"`
	MTU    int    `json:"mtu"`
}

// document describes a session, whose port must still be open.
func (x *session) document() *Document {
	port := x.host.Info(0)
	return &Document{
		TestInfo: x.columns(), Results: x.rows, Host: thisHost(), CC: x.controls(),
		Seed: x.host.Seed(),
		Port: PortInfo{URL: x.settings.Device, Driver: port.Driver, MAC: port.MAC.String(),
			MTU: int(port.MTU)},
		Offload: x.offload(),
	}
}

// save writes the document atomically to a file, or to standard output.
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
		// A pipe, or a link such as /dev/stdout, must not be replaced.
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

// checkWritable returns an error if no file can be created in a directory.
func checkWritable(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	if err := unix.Access(dir, unix.W_OK); err != nil {
		return fmt.Errorf("directory %s: %w", dir, err)
	}
	return nil
}
