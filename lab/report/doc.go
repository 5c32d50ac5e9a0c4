// Package report makes one HTML page of what is in directories of results: every experiment with
// its set-up, its figures, and its claims with the paper's value beside ours.
//
// The page stands alone. Styles and figures are in it, and it needs no script and no network; it
// follows the reader's choice of light or dark, and prints. Made twice of the same results it has
// the same bytes.
//
// The package imports claims, experiment, figure and runner.
package report
