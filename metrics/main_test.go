package metrics

import (
	"testing"

	"github.com/goroce/goroce/internal/dpdktest"
)

func TestMain(m *testing.M) { dpdktest.Main(m, nil) }
