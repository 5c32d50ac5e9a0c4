// Package copa is Copa (NSDI'18) without its velocity. Importing it registers the name "copa".
package copa
