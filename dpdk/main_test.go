package dpdk_test

import (
	"testing"

	"github.com/goroce/goroce/internal/dpdktest"
)

func TestMain(m *testing.M) {
	dpdktest.Main(m, map[string]dpdktest.Child{"echo": echoFrames, "closer": openAndClose})
}
