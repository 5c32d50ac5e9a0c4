// Package observe has the flags --metrics, --trace and --trace-sample of programs with a host, and
// does what they say. It imports goroce, internal/cli, metrics and trace/sqlog.
package observe
