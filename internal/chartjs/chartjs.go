package chartjs

import (
	_ "embed" // for Script
	"html/template"
)

//go:embed chart.min.js
var script string

// Script is Chart.js, for a script element.
var Script = template.JS(script)
