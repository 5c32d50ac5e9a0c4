package eal

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ThisMachine reads from /proc and /sys what Config.Args needs. What cannot be read counts as
// absent.
func ThisMachine() Machine {
	m := Machine{CPUs: "0", PID: os.Getpid(), FreeHugeMiB: freeHugeMiB("/sys/kernel/mm/hugepages")}
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			m.CPUs = strings.TrimSpace(list)
		}
	}
	if !hugetlbfsMounted() {
		m.FreeHugeMiB = 0
	}
	return m
}

// freeHugeMiB adds up the free hugepages of every size under root.
func freeHugeMiB(root string) int {
	sizes, _ := filepath.Glob(filepath.Join(root, "hugepages-*kB"))
	total := 0
	for _, dir := range sizes {
		name := strings.TrimPrefix(filepath.Base(dir), "hugepages-")
		kib, _ := strconv.Atoi(strings.TrimSuffix(name, "kB"))
		text, _ := os.ReadFile(filepath.Join(dir, "free_hugepages"))
		free, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		total += kib * free / 1024
	}
	return total
}

// hugetlbfsMounted reports whether a hugetlbfs is mounted: EAL needs one even with --in-memory.
func hugetlbfsMounted() bool {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[2] == "hugetlbfs" {
			return true
		}
	}
	return false
}
