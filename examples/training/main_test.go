package main

import (
	"strings"
	"testing"

	"github.com/goroce/goroce/fabric/workload/chakra"
	"github.com/goroce/goroce/units"
)

const trace = "../testdata/allreduce-8.et"

// The ring of 8 ranks has 14 steps, for each of the four chunks of the trace's 4 MiB.
func TestTraining(t *testing.T) {
	var ring, tree strings.Builder
	if err := run(&ring, trace, 8, chakra.Config{Chunk: units.MiB}); err != nil {
		t.Fatal(err)
	}
	if want := "8 ranks, 448 flows of 56MiB in total"; !strings.HasPrefix(ring.String(), want) {
		t.Errorf("ring: %q, want %q", ring.String(), want)
	}
	if err := run(&tree, trace, 8, chakra.Config{Tree: true}); err != nil {
		t.Fatal(err)
	}
	if want := "8 ranks, 14 flows of 56MiB in total"; !strings.HasPrefix(tree.String(), want) {
		t.Errorf("tree: %q, want %q", tree.String(), want)
	}
}

func TestNoTrace(t *testing.T) {
	if err := run(&strings.Builder{}, "main.go", 8, chakra.Config{}); err == nil ||
		!strings.Contains(err.Error(), "main.go: message") {
		t.Errorf("error %v, want one that names the file and the message", err)
	}
}
