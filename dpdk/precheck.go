package dpdk

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ErrInUse is returned if another port, of this or another process, uses the socket or interface
// of a URL.
var ErrInUse = errors.New("in use")

// check finds out why a device cannot be opened before EAL tries to: drivers' errors are terse, and
// some drivers succeed and then do nothing.
func (u *URL) check() error {
	switch u.Scheme {
	case AFPacket, AFXDP:
		if err := interfaceExists(u.Name); err != nil {
			return err
		}
		return rawSocketsAllowed()
	case Tap:
		return u.checkTap()
	case Pcap:
		return u.checkFiles()
	case Memif:
		return u.checkSocket()
	}
	return nil
}

// interfaceExists uses netlink and not /sys, which in a fresh network namespace still shows the
// interfaces of the old one.
func interfaceExists(name string) error {
	if _, err := net.InterfaceByName(name); err == nil {
		return nil
	}
	interfaces, _ := net.Interfaces()
	names := make([]string, len(interfaces))
	for i, nic := range interfaces {
		names[i] = nic.Name
	}
	return fmt.Errorf("no interface %q here; there are: %s", name, strings.Join(names, " "))
}

func rawSocketsAllowed() error {
	fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW, 0)
	if err != nil {
		return needs("CAP_NET_RAW", err)
	}
	return syscall.Close(fd)
}

func needs(capability string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("needs %s: %w", capability, err)
	}
	return err
}

func (u *URL) checkTap() error {
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return needs("access to /dev/net/tun", err)
	}
	f.Close()
	if !hasCapability(capNetAdmin) {
		return fmt.Errorf("needs CAP_NET_ADMIN: %w", fs.ErrPermission)
	}
	return nil
}

const capNetAdmin = 12

// hasCapability reports whether the effective set has a capability. If the set cannot be read, it
// returns true, and the driver will fail.
func hasCapability(n uint) bool {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return err != nil || set&(1<<n) != 0
		}
	}
	return true
}

func (u *URL) checkFiles() error {
	if u.RxFile != "" {
		f, err := os.Open(u.RxFile)
		if err != nil {
			return err
		}
		f.Close()
	}
	if u.TxFile != "" {
		return directoryExists(u.TxFile)
	}
	return nil
}

func directoryExists(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return fmt.Errorf("directory of %s: %w", path, err)
	}
	return nil
}

// mayWrite is W_OK of access(2).
const mayWrite = 2

// memif reports whether the port belongs to the memif driver.
func (u *URL) memif() bool {
	return u.Scheme == Memif || u.Scheme == EAL && strings.HasPrefix(u.Name, "net_memif")
}

func (u *URL) inFileSystem() bool { return u.option("socket-abstract") != "yes" }

// checkSocket removes the socket of a dead memif server, which would make bind fail: nobody accepts
// connections there.
func (u *URL) checkSocket() error {
	if !u.Client && memifClients[u.Name] > 0 {
		return fmt.Errorf("socket %s: a client of it is open in this process, in which the driver "+
			"then cannot listen; open the server first", u.Name)
	}
	if !u.inFileSystem() {
		return nil
	}
	if err := directoryExists(u.Name); err != nil {
		return err
	}
	if u.Client || memifServers[u.Name] > 0 {
		return nil
	}
	if dir := filepath.Dir(u.Name); syscall.Access(dir, mayWrite) != nil {
		return fmt.Errorf("socket %s: want a directory in which this user may create files; %s is "+
			"not", u.Name, dir)
	}
	info, err := os.Lstat(u.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s exists and is not a socket", u.Name)
	}
	c, err := net.Dial("unixpacket", u.Name)
	if err == nil {
		c.Close()
		return fmt.Errorf("socket %s: %w by a live server", u.Name, ErrInUse)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("socket %s: %w", u.Name, err)
	}
	return os.Remove(u.Name)
}
