// Package report makes an HTML page of directories of results: a summary, and every experiment with
// its set-up, its figures, and its claims with the paper's value beside ours.
//
// The page includes its styles and scripts, and is complete without the latter. Pictures are files
// beside it, which a browser loads when the reader comes to them. A script shows the same picture
// with values, drawn by Chart.js from the data that the SVG carries: see figure.Data. They are in a
// script for each experiment, PAPER/NAME/figures.js, which is loaded on demand, too: a page that is
// a file may not fetch data. The page follows the reader's choice of light or dark, and prints. The
// same results always give the same bytes.
//
// The package imports claims, experiment, figure and runner.
package report
