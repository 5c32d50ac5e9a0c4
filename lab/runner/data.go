package runner

import (
	"bytes"
	"encoding/csv"
	"strconv"

	"github.com/goroce/goroce/lab/experiment"
)

// dataCSV encodes records in long form. Points of a series have x and y, a value has only y.
func dataCSV(done []experiment.Done) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b) // writes to memory, which cannot fail
	w.Write([]string{"cell", "seed", "name", "x", "y"})
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, d := range done {
		row := []string{d.Name, strconv.FormatUint(d.Seed, 10), "", "", ""}
		for name, values := range d.Record.Values() {
			for _, y := range values {
				row[2], row[3], row[4] = name, "", number(y)
				w.Write(row)
			}
		}
		for name, series := range d.Record.Series() {
			for i, y := range series.Y {
				row[2], row[3], row[4] = name, number(series.X[i]), number(y)
				w.Write(row)
			}
		}
	}
	w.Flush()
	return b.Bytes()
}
