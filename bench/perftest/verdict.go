package perftest

import (
	"errors"
	"fmt"
)

// ErrBelow says that a row is below --limit_bw or --limit_msgrate.
var ErrBelow = errors.New("below the limit")

// limits says which rows are below what was asked for.
func (s *Settings) limits(rows []*Row) error {
	var errs []error
	for _, r := range rows {
		if r.BandwidthRow == nil {
			continue
		}
		if r.Average < s.LimitBW {
			errs = append(errs, fmt.Errorf("%w: %d bytes: bandwidth %.2f %s, --limit_bw %g",
				ErrBelow, r.MsgSize, r.Average, s.unitName(), s.LimitBW))
		}
		if r.MsgRate < s.LimitMsgRate {
			errs = append(errs,
				fmt.Errorf("%w: %d bytes: %.6f million messages/s, --limit_msgrate %g",
					ErrBelow, r.MsgSize, r.MsgRate, s.LimitMsgRate))
		}
	}
	return errors.Join(errs...)
}
