package main

import (
	"context"
	"time"
)

type hostile struct{ name string }
type encounter struct {
	took     time.Duration
	err      error
	said     string
	programs []*program
}

var hostiles []hostile

func (l *lab) meet(ctx context.Context, h hostile) *encounter { return nil }
