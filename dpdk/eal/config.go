package eal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrArgs is wrapped by every error about arguments that EAL would refuse, or that would end or
// hang the process if EAL parsed them.
var ErrArgs = errors.New("eal: bad argument")

// The default size of the memory that EAL reserves, in MiB. Ordinary pages are only reserved, and
// touched as they are used; hugepages are allocated at once, and more of them when needed.
const (
	defaultMemory     = 1024
	defaultHugeMemory = 64
)

// Config holds the parameters of EAL. The zero value suits virtual devices on any machine: it needs
// no hugepages, no PCI device and no privilege.
type Config struct {
	// Memory is the size of the memory to reserve, in MiB; 0 is enough for a dozen ports.
	Memory int

	// PCI are the addresses of the devices to use, such as 0000:3b:00.0. If it is empty, EAL does
	// not scan the PCI bus.
	PCI []string

	// NoHuge uses ordinary pages even if there are hugepages.
	NoHuge bool

	// Name distinguishes processes on one machine (EAL's file prefix); "" derives it from the pid.
	Name string

	// ExtraArgs are appended to all other arguments, split at blanks.
	ExtraArgs string
}

// Machine is what Args has to know of the computer.
type Machine struct {
	FreeHugeMiB int    // free memory in hugepages
	CPUs        string // CPUs that this process may run on, as a list: 0-3,8
	PID         int
}

// Args returns EAL's arguments, without the program name. It is pure.
func (c Config) Args(m Machine) ([]string, error) {
	extra := strings.Fields(c.ExtraArgs)
	if err := checkArgs(extra); err != nil {
		return nil, err
	}
	var args []string
	if !has(extra, "-l", "-c", "--lcores") {
		// One lcore that floats over all our CPUs: EAL then pins nothing and starts no worker
		// threads. Polling threads register themselves.
		args = append(args, "--lcores=0@("+m.CPUs+")")
	}
	args = append(args, c.memoryArgs(m, extra)...)
	args = append(args, "--no-telemetry")
	if !has(extra, "--file-prefix") {
		name := c.Name
		if name == "" {
			name = "goroce" + strconv.Itoa(m.PID)
		}
		args = append(args, "--file-prefix="+name)
	}
	if len(c.PCI) == 0 && !has(extra, "-a", "--allow", "--no-pci") {
		args = append(args, "--no-pci")
	}
	for _, address := range c.PCI {
		args = append(args, "--allow="+address)
	}
	return append(args, extra...), nil
}

// memoryArgs chooses between the two kinds of memory. --in-memory needs hugepages and leaves no
// file behind; EAL refuses it together with --no-huge.
func (c Config) memoryArgs(m Machine, extra []string) []string {
	if has(extra, "--no-huge", "--in-memory", "--huge-dir", "--legacy-mem") {
		return sizeArgs(extra, c.Memory)
	}
	want := c.Memory
	if want == 0 {
		want = defaultHugeMemory
	}
	if !c.NoHuge && m.FreeHugeMiB >= want {
		return append([]string{"--in-memory"}, sizeArgs(extra, want)...)
	}
	if c.Memory == 0 {
		want = defaultMemory
	}
	return append([]string{"--no-huge", "--no-shconf"}, sizeArgs(extra, want)...)
}

func sizeArgs(extra []string, want int) []string {
	if want == 0 || has(extra, "-m", "--socket-mem") {
		return nil
	}
	return []string{"-m", strconv.Itoa(want)}
}

// has reports whether one of the options is among args, be it -mN, --option=value or two words.
func has(args []string, options ...string) bool {
	for _, arg := range args {
		for _, option := range options {
			long := strings.HasPrefix(option, "--")
			if arg == option || long && strings.HasPrefix(arg, option+"=") ||
				!long && !strings.HasPrefix(arg, "--") && strings.HasPrefix(arg, option) {
				return true
			}
		}
	}
	return false
}

// checkArgs refuses arguments for which EAL does not return an error: help ends the process, a
// secondary process waits forever for a primary.
func checkArgs(args []string) error {
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case strings.ContainsRune(arg, 0):
			return fmt.Errorf("%w: %q holds a NUL", ErrArgs, arg)
		case arg == "--":
			return fmt.Errorf("%w: \"--\" ends EAL's options, nothing may follow", ErrArgs)
		case len(name) > 3 && strings.HasPrefix("--help", name), helps(name):
			return fmt.Errorf("%w: %q would end the process", ErrArgs, arg)
		case len(name) > 4 && strings.HasPrefix("--log-level", name) && value == "help":
			return fmt.Errorf("%w: %q would end the process", ErrArgs, arg)
		case len(name) > 3 && strings.HasPrefix("--proc-type", name) && value != "primary":
			return fmt.Errorf("%w: %q: only a primary process can register polling threads",
				ErrArgs, arg)
		}
	}
	return nil
}

// helps reports whether a word of short options, such as -h or -vh, requests help: only -v may
// precede it without taking the rest of the word as its value.
func helps(word string) bool {
	flags, short := strings.CutPrefix(word, "-")
	return short && strings.HasPrefix(strings.TrimLeft(flags, "v"), "h")
}
