package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// place is where a trial runs.
type place uint8

// The places.
const (
	quiet   place = iota // both CPUs, nothing beside it
	busy                 // both CPUs, a busy loop on the second
	oneCPU               // the first CPU only
	halfCPU              // both CPUs, in a control group with half a CPU
)

var placeNames = [...]string{quiet: "quiet", busy: "busy loop on the second CPU", oneCPU: "one CPU",
	halfCPU: "0.5 CPU"}

func (p place) String() string { return placeNames[p] }

// allowedCPUs returns the CPUs that this process may use, in ascending order.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("CPUs of this process: %w", err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// pin binds the calling thread, and what it executes, to CPUs.
func pin(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("CPUs %v: %w", cpus, err)
	}
	return nil
}

// within enters a place and executes a program there:
// busyhost within [--cpus 0,1] [--cgroup DIR] PROGRAM ARG...
func within(args []string) error {
	f := pflag.NewFlagSet("within", pflag.ContinueOnError)
	f.SetInterspersed(false)
	cpus := f.IntSlice("cpus", nil, "CPUs")
	group := f.String("cgroup", "", "directory of a control group")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return errors.New("within: want a program to execute")
	}
	runtime.LockOSThread() // exec keeps the affinity of the calling thread
	if *group != "" {
		if err := os.WriteFile(filepath.Join(*group, "cgroup.procs"), []byte("0\n"),
			0); err != nil {
			return err
		}
	}
	if len(*cpus) > 0 {
		if err := pin(*cpus); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", f.Arg(0), syscall.Exec(f.Arg(0), f.Args(), os.Environ()))
}

// entering returns the arguments of this program that execute a command in a place.
func entering(cpus []int, group string, command []string) []string {
	args := []string{"within"}
	if len(cpus) > 0 {
		args = append(args, "--cpus", strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ","),
			"[]"))
	}
	if group != "" {
		args = append(args, "--cgroup", group)
	}
	return append(append(args, "--"), command...)
}

// spin is a busy loop on a CPU, until the process is killed: busyhost spin CPU. It says so on
// standard output when it begins.
func spin(args []string) error {
	var cpu int
	if len(args) != 1 {
		return errors.New("spin: want a CPU")
	}
	if _, err := fmt.Sscanf(args[0], "%d", &cpu); err != nil {
		return fmt.Errorf("spin: CPU %q: want a number", args[0])
	}
	runtime.LockOSThread()
	if err := pin([]int{cpu}); err != nil {
		return err
	}
	fmt.Println("spinning")
	for n := uint64(0); ; n++ { // until it is killed
	}
}
