package nicoffload

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The offsets in docs/nicoffload.md equal those of the code.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile("../docs/nicoffload.md")
	require.NoError(t, err)
	text := string(b)
	line := func(format string, args ...any) {
		assert.Contains(t, text, "\n"+fmt.Sprintf(format, args...))
	}
	line("| 0 | 16 | magic %#x, version %d, Slots up %d, Slots down %d: u32 each |", linkMagic,
		linkVersion, UpSlots, DownSlots)
	line("| %d | 8 | the NIC's clock at its last poll, ps |", linkTime)
	line("| %d | 8 | number of the agent's requests for the counters |", linkRequests)
	line("| %d | %d | counters |", linkCounters, reflect.TypeOf(Counters{}).Size())
	line("| %d | %d | ring of messages, up |", linkUp, RingBytes(UpSlots))
	line("| %d | %d | ring of commands, down |", linkDown, RingBytes(DownSlots))
	line("| %d | 8 | 1: ticks advance the time |", processTicks)
	line("| %d | 8 | number of the last tick processed |", processDone)
	line("| %d | %d | ring of signals, to the NIC |", processSignals, RingBytes(SignalSlots))
	line("| %d | %d | ring of results, back |", processResults, RingBytes(ResultSlots))
	line("The size is %d bytes", LinkBytes)
	line("The size is %d bytes", ProcessLinkBytes)
	var names []string
	counters := reflect.TypeOf(Counters{})
	for i := range counters.NumField() {
		f := counters.Field(i)
		name := f.Name
		if f.Type.Kind() == reflect.Array {
			name = fmt.Sprintf("%s (%d)", name, f.Type.Len())
		}
		names = append(names, name)
	}
	assert.Contains(t, strings.Join(strings.Fields(text), " "), strings.Join(names, ", "))
	for kind, typ := range typeOf {
		assert.Contains(t, text, fmt.Sprintf("| %d | %v |", typ, kindOf[typ]), kind)
	}
}
