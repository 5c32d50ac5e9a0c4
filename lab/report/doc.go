// Package report makes an HTML page of directories of results: every experiment with its set-up,
// its
// figures, and its claims with the paper's value beside ours.
//
// The page is self-contained: it includes its styles and figures and needs neither scripts nor
// network. It follows the reader's choice of light or dark, and prints. The same results always
// give
// the same bytes.
//
// The package imports claims, experiment, figure and runner.
package report
