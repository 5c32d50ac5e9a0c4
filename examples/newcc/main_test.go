package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goroce/goroce/units"
)

func TestCompare(t *testing.T) {
	var table bytes.Buffer
	file := filepath.Join(t.TempDir(), "newcc.svg")
	compare(&table, file, 200*units.Microsecond)
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	if len(lines) != 6 || !strings.Contains(lines[2], "copa:delta=0.1") {
		t.Errorf("want a header and five schemes, got:\n%s", table.String())
	}
	svg, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(svg, []byte("<svg")) {
		t.Errorf("no figure: %v", err)
	}
}

func TestTransfer(t *testing.T) {
	var out bytes.Buffer
	transfer(&out, 100)
	if !regexp.MustCompile(`Gb/s, [1-9]\d* delays`).MatchString(out.String()) {
		t.Errorf("want delays, got %q", out.String())
	}
}
