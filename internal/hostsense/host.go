package hostsense

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// Host is a machine, as its files tell.
type Host struct{ root string }

// This is the machine that the program runs on.
func This() *Host { return &Host{"/"} }

// At is a machine whose /proc, /sys and /dev are in a directory.
func At(root string) *Host { return &Host{root} }

// Absent is the error of what a machine has not got.
type Absent struct {
	What   string
	Reason string
}

func (a *Absent) Error() string { return fmt.Sprintf("hostsense: no %s: %s", a.What, a.Reason) }

// IsAbsent reports whether an error means that the machine has not got what was asked for.
func IsAbsent(err error) bool {
	var a *Absent
	return errors.As(err, &a)
}

// Sampler reads a value, and says whether it could.
type Sampler func(now units.Time) (value float64, ok bool)

func (h *Host) path(name string) string { return filepath.Join(h.root, name) }

// text reads a small file that belongs to what; one that is not there is an Absent with the reason.
func (h *Host) text(what, name, reason string) (string, error) {
	b, err := os.ReadFile(h.path(name))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", &Absent{what, reason}
	case errors.Is(err, os.ErrPermission):
		return "", &Absent{what, "not permitted: " + err.Error()}
	case err != nil:
		return "", fmt.Errorf("hostsense: %s: %w", what, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// number reads a file with one number, which may end in K or M.
func (h *Host) number(what, name string) (int64, error) {
	s, err := h.text(what, name, name+" does not exist")
	if err != nil {
		return 0, err
	}
	digits, scale := s, int64(1)
	if cut, ok := strings.CutSuffix(s, "K"); ok {
		digits, scale = cut, 1<<10
	} else if cut, ok := strings.CutSuffix(s, "M"); ok {
		digits, scale = cut, 1<<20
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > 1<<60/scale {
		return 0, fmt.Errorf("hostsense: %s: %s says %q, which is no number", what, name, s)
	}
	return n * scale, nil
}
