package figure

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	table := &Table{Name: "shares", Title: "Shares, by class", Header: []string{"class", "share"}}
	table.Row("high, \"urgent\"", 0.75).Row("low\n", 1)
	file, data, err := table.Encode()
	require.NoError(t, err)
	assert.Equal(t, "shares.csv", file)
	assert.Equal(t, "# Shares, by class\nclass,share\n\"high, \"\"urgent\"\"\",0.75\n\"low\n\",1\n",
		string(data))
	back, err := ParseTable(data)
	require.NoError(t, err)
	back.Name = table.Name
	assert.Equal(t, table, back)
}

func TestTableErrors(t *testing.T) {
	_, _, err := (&Table{Name: "a", Header: []string{"x", "y"}}).Row(1).Encode()
	assert.EqualError(t, err, "figure: a: row 0 has 1 cells below 2 headers")
	_, _, err = (&Table{Name: "a/b"}).Encode()
	assert.ErrorContains(t, err, `name "a/b"`)
	_, err = ParseTable(nil)
	assert.EqualError(t, err, "figure: table: no header")
	_, err = ParseTable([]byte("a,b\n1\n"))
	assert.ErrorContains(t, err, "wrong number of fields")
}

// FuzzParseTable: a parsed table is encoded and parsed to an equal one.
func FuzzParseTable(f *testing.F) {
	f.Add([]byte("# title\na,b\n1,\"2,3\"\n"))
	f.Add([]byte("a\n"))
	f.Add([]byte("# \n\"\"\n"))
	f.Add([]byte("\"a\nb\"\n\n"))
	f.Add([]byte(",\"\r\r\n\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := ParseTable(data)
		// CSV cannot distinguish an empty cell from no row
		if err != nil || len(table.Header) == 1 {
			return
		}
		table.Name = "a"
		_, text, err := table.Encode()
		require.NoError(t, err)
		again, err := ParseTable(text)
		require.NoError(t, err)
		again.Name = "a"
		require.Equal(t, table, again)
	})
}
