package figure

// Figure is a picture or a table.
type Figure interface {
	// Encode answers the name of the figure's file (queue.svg, summary.csv) and what is in it.
	Encode() (file string, data []byte, err error)
}
