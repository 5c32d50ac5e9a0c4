// Roce_run runs an unmodified program of libibverbs over a goroce port.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/verbs/settings"
)

const long = `roce_run runs a program of libibverbs and librdmacm, unmodified, over a goroce port in
place of an adapter. Flags of the program follow its name.`

const example = `  roce_run -d memif:/tmp/v.sock -- ib_write_bw &
  roce_run -d memif:/tmp/v.sock,client -- ib_write_bw localhost`

func main() { os.Exit(run(cli.Interruptible(), os.Args[1:], os.Stdout, os.Stderr)) }

// run runs a command line and returns the exit code. If all is well it does not return.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.Run(ctx, command(), stdout, stderr, args...)
}

func command() *cobra.Command {
	var s settings.Settings
	c := &cobra.Command{
		Use:   "roce_run (-d PORT_URL | --daemon[=SOCKET]) [flags] -- PROGRAM ARGS...",
		Short: "Run an unmodified program of libibverbs over a goroce port", Long: long,
		Example: example, DisableFlagsInUseLine: true,
	}
	f := c.Flags()
	f.SetInterspersed(false)
	f.SortFlags = false
	f.StringVarP(&s.Port, "device", "d", "", "the port's `URL` (docs/ports.md)")
	f.StringVar(&s.Daemon, "daemon", "", "use the port of the roced that listens on this "+
		"`SOCKET`, once it does")
	f.Lookup("daemon").NoOptDefVal = settings.DefaultSocket()
	ips := f.StringSlice("ip", nil, "`ADDRESS/BITS` of the program; repeatable")
	gateways := f.StringSlice("gateway", nil, "`ADDRESS` of a next hop; repeatable")
	f.StringVar(&s.Pcap, "pcap", "", "write every frame to this `FILE`")
	f.StringVar(&s.Faults, "faults", "", "inject faults, such as `loss=0.1%,dup=1e-3,seed=7`; "+
		"also corrupt and delay")
	f.StringVar(&s.CC, "cc", "", "congestion control, such as `swift` (docs/cc.md)")
	f.StringVar(&s.Idle, "idle", "", "what the polling core does without work: `sleep`, pause or "+
		"spin")
	f.StringVar(&s.EAL, "eal", "", "more `ARGUMENTS` for DPDK's EAL")
	lib := f.String("lib", "", "`DIRECTORY` of libibverbs.so.1; default: lib beside this program's")
	watch := f.Bool("watch", false, "print what the queue pairs do, each second")
	verbose := f.BoolP("verbose", "v", false, "print what the program gets")
	c.Args = cli.Args(cobra.MinimumNArgs(1))
	c.RunE = func(_ *cobra.Command, args []string) error {
		s.IP, s.Gateway = strings.Join(*ips, ","), strings.Join(*gateways, ",")
		if *verbose {
			s.Verbose = "1"
		}
		if *watch {
			s.Watch = "1"
		}
		if err := s.Check(); err != nil {
			return cli.Usage(err)
		}
		if s.Daemon != "" && s.ForPort() {
			return cli.Usage(errors.New("with --daemon the port is roced's: give it --ip, " +
				"--gateway, --pcap, --faults, --cc, --idle, --eal and --watch"))
		}
		dir, err := library(*lib)
		if err != nil {
			return err
		}
		if s.Daemon != "" {
			if err := await(s.Daemon); err != nil {
				return err
			}
		}
		return execute(&s, dir, args, *verbose)
	}
	return c
}

// daemonWait is how long a daemon may take to open its port.
const daemonWait = 10 * time.Second

// await waits until a daemon listens, which may have been started just now.
func await(socket string) error {
	for end := time.Now().Add(daemonWait); ; time.Sleep(20 * time.Millisecond) {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: socket})
		_ = unix.Close(fd)
		missing := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED)
		if err == nil {
			return nil
		}
		if !missing || time.Now().After(end) {
			return fmt.Errorf("no daemon at %s: %w; start one with roced -d PORT_URL --socket %s",
				socket, err, socket)
		}
	}
}

// library returns the directory of libibverbs.so.1.
func library(dir string) (string, error) {
	if dir == "" {
		program, err := os.Executable()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(filepath.Dir(program), "..", "lib")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "libibverbs.so.1")); err != nil {
		return "", fmt.Errorf("no library: %w; 'make verbs' builds it", err)
	}
	return dir, nil
}

// execute replaces this process by the program.
func execute(s *settings.Settings, dir string, command []string, verbose bool) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	libraries := dir
	if old := os.Getenv("LD_LIBRARY_PATH"); old != "" {
		libraries += ":" + old
	}
	set := append(s.Environment(), "LD_LIBRARY_PATH="+libraries)
	// for programs that read sysfs themselves (verbs/libsysfs)
	if preload := filepath.Join(dir, "libgoroce_sysfs.so"); exists(preload) {
		set = append(set, "LD_PRELOAD="+strings.TrimSpace(preload+" "+os.Getenv("LD_PRELOAD")))
	}
	if verbose {
		if addrs, err := s.Addrs(); err == nil && s.Daemon == "" {
			fmt.Fprintf(os.Stderr, "roce_run: %s with addresses %v: %s %s\n", command[0], addrs,
				strings.Join(set, " "), strings.Join(command, " "))
		} else {
			fmt.Fprintf(os.Stderr, "roce_run: %s: %s\n", command[0], strings.Join(set, " "))
		}
	}
	return unix.Exec(path, command, merge(os.Environ(), set))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// merge returns the environment with some variables replaced.
func merge(env, set []string) []string {
	names := make(map[string]bool, len(set))
	for _, v := range set {
		name, _, _ := strings.Cut(v, "=")
		names[name] = true
	}
	merged := set
	for _, v := range env {
		if name, _, _ := strings.Cut(v, "="); !names[name] {
			merged = append(merged, v)
		}
	}
	return merged
}
