package metrics

import (
	"reflect"

	"github.com/goroce/goroce/transport"
)

// raise raises each number in the fields of to to that of from, where that is larger, and returns
// by how much.
func raise[T any](to, from *T) (grown T) {
	t, f, g := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem(),
		reflect.ValueOf(&grown).Elem()
	for i := range t.NumField() {
		switch a, b := t.Field(i), f.Field(i); a.Kind() {
		case reflect.Uint64:
			if b.Uint() > a.Uint() {
				g.Field(i).SetUint(b.Uint() - a.Uint())
				a.SetUint(b.Uint())
			}
		case reflect.Int64:
			if b.Int() > a.Int() {
				g.Field(i).SetInt(b.Int() - a.Int())
				a.SetInt(b.Int())
			}
		}
	}
	return grown
}

// subtract returns a-b, but at least 0 in each field: a queue pair's number may have been reused.
func subtract(a, b transport.QPCounters) transport.QPCounters {
	to, from := reflect.ValueOf(&a).Elem(), reflect.ValueOf(b)
	for i := range to.NumField() {
		to.Field(i).SetUint(to.Field(i).Uint() - min(to.Field(i).Uint(), from.Field(i).Uint()))
	}
	return a
}
