package cc

import (
	"fmt"
	"strings"
)

// Named is an Algorithm whose name in statistics is not that of its type.
type Named interface {
	Name() string
}

// NameOf returns the name of an algorithm in statistics: that by which it is registered, if it is.
func NameOf(a Algorithm) string {
	if n, ok := a.(Named); ok {
		return n.Name()
	}
	_, name, _ := strings.Cut(fmt.Sprintf("%T", a), ".")
	return strings.ToLower(name)
}

// Name implements Named.
func (*DCQCNNIC) Name() string { return "dcqcn-nic" }

// Name implements Named.
func (l *LEDBAT) Name() string {
	if l.dataCentre {
		return "ledbat-dc"
	}
	return "ledbat"
}
