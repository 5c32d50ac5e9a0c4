package figure

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
)

// Table is a figure of text and numbers. Its file is CSV, with the title as a comment above.
type Table struct {
	Name   string // as of a Plot
	Title  string
	Header []string
	Rows   [][]string
}

// Row adds a row; cells are formatted by fmt.
func (t *Table) Row(cells ...any) *Table {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.Rows = append(t.Rows, row)
	return t
}

// Encode writes the table as CSV.
func (t *Table) Encode() (string, []byte, error) {
	if err := checkName(t.Name); err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(t.Title, "\n", " "))
	w := csv.NewWriter(&b)
	w.Write(t.Header) // to memory: does not fail
	for i, row := range t.Rows {
		if len(row) != len(t.Header) {
			return "", nil, fmt.Errorf("figure: %s: row %d has %d cells below %d headers",
				t.Name, i, len(row), len(t.Header))
		}
		w.Write(row)
	}
	w.Flush()
	return t.Name + ".csv", b.Bytes(), nil
}

// ParseTable parses the output of Encode.
func ParseTable(data []byte) (*Table, error) {
	t := &Table{}
	if rest, ok := bytes.CutPrefix(data, []byte("# ")); ok {
		title, body, _ := bytes.Cut(rest, []byte("\n"))
		t.Title, data = string(title), body
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("figure: table: %w", err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("figure: table: no header")
	}
	for _, row := range rows {
		for i := range row { // encoding/csv drops one carriage return before each line feed
			row[i] = strings.ReplaceAll(row[i], "\r", "")
		}
	}
	t.Header, t.Rows = rows[0], rows[1:]
	return t, nil
}
