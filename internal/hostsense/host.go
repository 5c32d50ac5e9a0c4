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

// Host is a machine whose state is read from files.
type Host struct{ root string }

// This returns the machine that the program runs on.
func This() *Host { return &Host{"/"} }

// At returns a machine whose /proc, /sys and /dev are in a directory.
func At(root string) *Host { return &Host{root} }

// Absent reports a feature that the machine lacks.
type Absent struct {
	What   string
	Reason string
}

func (a *Absent) Error() string { return fmt.Sprintf("hostsense: no %s: %s", a.What, a.Reason) }

// IsAbsent reports whether an error is an Absent.
func IsAbsent(err error) bool {
	var a *Absent
	return errors.As(err, &a)
}

// Sampler returns the current value, and false if there is none.
type Sampler func(now units.Time) (value float64, ok bool)

func (h *Host) path(name string) string { return filepath.Join(h.root, name) }

// text returns the contents of a small file that belongs to what. If it does not exist, the error
// is an Absent with the reason.
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

// number returns the number in a file, which may end in K or M.
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
		return 0, fmt.Errorf("hostsense: %s: %s has %q: want a number", what, name, s)
	}
	return n * scale, nil
}
