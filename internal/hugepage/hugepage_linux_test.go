package hugepage_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/hugepage"
)

// inHugePages returns how much of the process's memory is in huge pages, in KiB.
func inHugePages(t *testing.T) int {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps_rollup")
	require.NoError(t, err)
	match := regexp.MustCompile(`AnonHugePages: +(\d+) kB`).FindSubmatch(smaps)
	require.NotNil(t, match)
	kib, err := strconv.Atoi(string(match[1]))
	require.NoError(t, err)
	return kib
}

func TestMakeUsesHugePages(t *testing.T) {
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || strings.Contains(string(enabled), "[never]") {
		t.Skip("this kernel has no transparent huge pages, or they are turned off")
	}
	before := inHugePages(t)
	const n = 16 << 20
	mem := hugepage.Make(n)
	require.Len(t, mem, n)
	for i := 0; i < n; i += 4096 {
		require.Zero(t, mem[i])
		mem[i] = 1
	}
	if inHugePages(t) == before {
		t.Skip("the kernel had no free huge page")
	}
	require.Equal(t, byte(1), mem[n-4096])
}

// Advice for what the kernel cannot serve changes nothing.
func TestAdviseIsHarmless(t *testing.T) {
	require.Empty(t, hugepage.Make(0))
	small := hugepage.Make(100)
	small[99] = 7
	hugepage.Advise(uintptr(unsafe.Pointer(&small[0])), uintptr(len(small)))
	require.Equal(t, byte(7), small[99])
	hugepage.Advise(0, 1) // not mapped
}
