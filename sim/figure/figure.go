package figure

// Figure is a picture or a table.
type Figure interface {
	// Encode returns the name of the figure's file (queue.svg, summary.csv) and its contents.
	Encode() (file string, data []byte, err error)
}
