package metrics

import (
	"reflect"
	"strings"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goroce/goroce/units"
)

// family is a metric with its labels.
type family struct {
	name, help string
	kind       prometheus.ValueType // not of a histogram
	histogram  bool
	labels     []string
	desc       *prometheus.Desc
}

// families are all metrics of a Collector, in the order in which they are declared.
var families []*family

func declare(f family) *family {
	f.desc = prometheus.NewDesc(f.name, f.help, f.labels, nil)
	families = append(families, &f)
	return &f
}

func counter(name, help string, labels ...string) *family {
	return declare(family{name: name, help: help, kind: prometheus.CounterValue, labels: labels})
}

func gauge(name, help string, labels ...string) *family {
	return declare(family{name: name, help: help, kind: prometheus.GaugeValue, labels: labels})
}

func histogram(name, help string, labels ...string) *family {
	return declare(family{name: name, help: help, histogram: true, labels: labels})
}

// The labels of ports and of endpoints.
var (
	ofPort     = []string{"port"}
	ofEndpoint = []string{"port", "endpoint"}
)

// with returns labels and more of them.
func with(labels []string, more ...string) []string {
	return append(append([]string(nil), labels...), more...)
}

// writer sends metrics to a channel. It has the values of the first labels.
type writer struct {
	to     chan<- prometheus.Metric
	labels []string
}

// add returns a writer with the values of more labels.
func (w writer) add(values ...string) writer {
	w.labels = with(w.labels, values...)
	return w
}

func (w writer) value(f *family, v float64, labels ...string) {
	w.to <- prometheus.MustNewConstMetric(f.desc, f.kind, v, with(w.labels, labels...)...)
}

func (w writer) count(f *family, v uint64, labels ...string) { w.value(f, float64(v), labels...) }

func (w writer) flag(f *family, v bool, labels ...string) {
	n := 0.0
	if v {
		n = 1
	}
	w.value(f, n, labels...)
}

// fields sends the numbers in the fields of a struct. name returns the family and the value of the
// additional label, and nil for fields that are shown elsewhere.
func (w writer) fields(counters any, name func(field string) (*family, string)) {
	v := reflect.ValueOf(counters)
	for i := range v.NumField() {
		if v.Field(i).Kind() != reflect.Uint64 {
			continue
		}
		switch f, label := name(v.Type().Field(i).Name); {
		case f == nil:
		case label == "":
			w.count(f, v.Field(i).Uint())
		default:
			w.count(f, v.Field(i).Uint(), label)
		}
	}
}

// snake returns the name of a field as the value of a label: unknown_qp for UnknownQP.
func snake(field string) string {
	var b strings.Builder
	runes := []rune(field)
	for i, r := range runes {
		begins := i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) ||
			i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func seconds(d units.Duration) float64 { return float64(d) / float64(units.Second) }
