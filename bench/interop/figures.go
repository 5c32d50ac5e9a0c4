package main

import (
	"context"
	"io"
)

func (l *lab) figures(ctx context.Context, o options, w io.Writer) error { return nil }

func (r *run) page(file string) error { return nil }
