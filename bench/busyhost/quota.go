package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The quota of a group with half a CPU.
const (
	quotaPeriod = 100_000 // µs, the default of Linux and of Kubernetes
	quotaTime   = quotaPeriod / 2
)

// controller is a mounted cgroup hierarchy with the CPU controller.
type controller struct {
	v2    bool
	mount string
	own   string // path of this process's group below mount
}

// controllers finds the hierarchies with a CPU controller in the texts of /proc/self/mountinfo and
// /proc/self/cgroup. For cgroup v2, these do not show whether the hierarchy has one.
func controllers(mountinfo, cgroup io.Reader) (found []controller) {
	own := map[string]string{} // by controller; the empty name is cgroup v2
	for s := bufio.NewScanner(cgroup); s.Scan(); {
		if part := strings.SplitN(s.Text(), ":", 3); len(part) == 3 {
			for c := range strings.SplitSeq(part[1], ",") {
				own[c] = part[2]
			}
		}
	}
	for s := bufio.NewScanner(mountinfo); s.Scan(); {
		// ID parent device root mount options [optional...] - type source options
		front, back, ok := strings.Cut(s.Text(), " - ")
		head, tail := strings.Fields(front), strings.Fields(back)
		if !ok || len(head) < 5 || len(tail) < 3 {
			continue
		}
		switch {
		case tail[0] == "cgroup2":
			found = append(found, controller{true, head[4], own[""]})
		case tail[0] == "cgroup" && slices.Contains(strings.Split(tail[2], ","), "cpu"):
			found = append(found, controller{false, head[4], own["cpu"]})
		}
	}
	return found
}

// group is a control group with half a CPU.
type group struct {
	dir  string
	undo func() error
}

// newGroup makes a group with half a CPU, below the group of this process if permitted, else at the
// top of the hierarchy. If neither is possible, the error has both reasons.
func newGroup() (*group, error) {
	mountinfo, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer mountinfo.Close()
	cgroup, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	defer cgroup.Close()
	why := errors.New("no CPU controller of cgroups is mounted")
	for i, c := range controllers(mountinfo, cgroup) {
		if i == 0 {
			why = nil
		}
		for _, parent := range slices.Compact([]string{filepath.Join(c.mount, c.own), c.mount}) {
			g, err := c.group(parent)
			if err == nil {
				return g, nil
			}
			why = errors.Join(why, err)
		}
	}
	return nil, why
}

// group makes a group with half a CPU below a directory.
func (c controller) group(parent string) (*group, error) {
	g := &group{dir: filepath.Join(parent, fmt.Sprintf("goroce-busyhost-%d", os.Getpid()))}
	if c.v2 {
		if err := g.delegate(parent); err != nil {
			return nil, err
		}
	}
	err := os.Mkdir(g.dir, 0o755)
	if err == nil {
		err = c.limit(g.dir)
	}
	if err != nil {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

// delegate enables the CPU controller for the subgroups of a directory of cgroup v2.
func (g *group) delegate(parent string) error {
	text, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(string(text)), "cpu") {
		return fmt.Errorf("%s has no CPU controller", parent)
	}
	subtree := filepath.Join(parent, "cgroup.subtree_control")
	if text, err = os.ReadFile(subtree); err != nil || slices.Contains(strings.Fields(string(text)),
		"cpu") {
		return err
	}
	if err := write(subtree, "+cpu"); err != nil {
		return err
	}
	g.undo = func() error { return write(subtree, "-cpu") }
	return nil
}

// limit sets a group's quota to half a CPU.
func (c controller) limit(dir string) error {
	if c.v2 {
		return write(filepath.Join(dir, "cpu.max"), fmt.Sprintf("%d %d", quotaTime, quotaPeriod))
	}
	return errors.Join(
		write(filepath.Join(dir, "cpu.cfs_period_us"), strconv.Itoa(quotaPeriod)),
		write(filepath.Join(dir, "cpu.cfs_quota_us"), strconv.Itoa(quotaTime)))
}

// remove removes the group. It retries, because the kernel may notice the end of its processes
// late.
func (g *group) remove() (err error) {
	for range 50 {
		if err = os.Remove(g.dir); err == nil || errors.Is(err, os.ErrNotExist) {
			err = nil
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if g.undo != nil {
		err = errors.Join(err, g.undo())
	}
	return err
}

func write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
