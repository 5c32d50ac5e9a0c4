package cli

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Flag declares a flag. The command line, its help and its validation are derived from the
// declaration, and so are a program's header, its JSON document and the settings that it compares
// with its peer's.
type Flag struct {
	Name  string
	Short string // one letter; empty: none
	// Value points to the setting, which has its default: *bool, *int, *uint16, *uint64, *float64,
	// *string, *[]int, *[]string, *time.Duration, or a pflag.Value.
	Value any
	// Help describes the flag, with the name of its argument in backquotes. {bounds} stands for
	// Bounds.
	Help   string
	Bounds *Bounds // of a number, or of each number of a list
	// Check validates the value where Bounds do not suffice, and may convert it. Its error begins
	// with name, which is the flag's with hyphens.
	Check func(name string) error

	Hidden    bool // not in the help
	NoDefault bool // the help does not print the default
	Absent    bool // not a flag of this program, whose setting has the default

	Agreement Agreement // with the value at the peer
	// PeerValue returns the value to be compared with the peer's, if there is one to be compared.
	// nil: the value's text.
	PeerValue func() (text string, compared bool)

	Column string // name in the header; empty: not there
	JSON   string // key in the JSON document; empty: not there
}

// Agreement is the relation of a flag's values at the two ends of a connection.
type Agreement uint8

const (
	// Free means that each end has a value of its own.
	Free Agreement = iota
	// Implied means that ends with different values do not find each other.
	Implied
	// Compared means that the handshake compares the values.
	Compared
	// ComparedIfGiven is Compared for ends that both have a value.
	ComparedIfGiven
)

// Bounds are the least and the greatest permitted number.
type Bounds struct{ Low, High float64 }

// Within returns the bounds low and high, both inclusive.
func Within(low, high int) *Bounds { return &Bounds{float64(low), float64(high)} }

// AtLeast returns a lower bound.
func AtLeast(low int) *Bounds { return &Bounds{float64(low), math.Inf(1)} }

// Check returns an error if n, a value of the flag called name, is out of bounds.
func (b *Bounds) Check(name string, n any) error {
	v := reflect.ValueOf(n)
	var at float64
	switch {
	case v.CanInt():
		at, n = float64(v.Int()), v.Int()
	case v.CanUint():
		at, n = float64(v.Uint()), v.Uint()
	default:
		at, n = v.Float(), v.Float()
	}
	if at < b.Low || at > b.High {
		return fmt.Errorf("%s %v: want %v", name, n, b)
	}
	return nil
}

func (b *Bounds) String() string {
	if math.IsInf(b.High, 1) {
		return fmt.Sprintf("at least %.0f", b.Low)
	}
	return fmt.Sprintf("%.0f to %.0f", b.Low, b.High)
}

// bind adds the flag to a set.
func (f *Flag) bind(fs *pflag.FlagSet) {
	help := f.Help
	if f.Bounds != nil {
		help = strings.ReplaceAll(help, "{bounds}", f.Bounds.String())
	}
	switch v := f.Value.(type) {
	case *bool:
		fs.BoolVarP(v, f.Name, f.Short, *v, help)
	case *int:
		fs.IntVarP(v, f.Name, f.Short, *v, help)
	case *uint16:
		fs.Uint16VarP(v, f.Name, f.Short, *v, help)
	case *uint64:
		fs.Uint64VarP(v, f.Name, f.Short, *v, help)
	case *float64:
		fs.Float64VarP(v, f.Name, f.Short, *v, help)
	case *string:
		fs.StringVarP(v, f.Name, f.Short, *v, help)
	case *[]int:
		fs.IntSliceVarP(v, f.Name, f.Short, *v, help)
	case *[]string:
		fs.StringSliceVarP(v, f.Name, f.Short, *v, help)
	case *time.Duration:
		fs.DurationVarP(v, f.Name, f.Short, *v, help)
	case pflag.Value:
		fs.VarP(v, f.Name, f.Short, help)
	default:
		panic(fmt.Sprintf("cli: flag --%s: unsupported type %T", f.Name, f.Value))
	}
	bound := fs.Lookup(f.Name)
	bound.Hidden = f.Hidden
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		bound.NoOptDefVal = "true"
	}
	if f.NoDefault {
		bound.DefValue = "0" // pflag prints no zero value
	}
}

// Text returns the value as text.
func (f *Flag) Text() string {
	if v, ok := f.Value.(pflag.Value); ok {
		return v.String()
	}
	return fmt.Sprint(f.Get())
}

// Get returns the value.
func (f *Flag) Get() any { return reflect.ValueOf(f.Value).Elem().Interface() }

// validate returns the errors of the value, which call the flag name.
func (f *Flag) validate(name string) []error {
	var errs []error
	if f.Bounds != nil {
		for _, n := range f.numbers() {
			errs = append(errs, f.Bounds.Check(name, n))
		}
	}
	if f.Check != nil {
		errs = append(errs, f.Check(name))
	}
	return errs
}

// numbers returns the value, or its elements if it is a list.
func (f *Flag) numbers() []any {
	v := reflect.ValueOf(f.Value).Elem()
	if v.Kind() != reflect.Slice {
		return []any{v.Interface()}
	}
	var ns []any
	for i := range v.Len() {
		ns = append(ns, v.Index(i).Interface())
	}
	return ns
}
