package dpdk

// Removed returns a channel that is closed when a Queue, Stats or Link has noticed that the
// device's hardware was removed. From then on its Queues receive nothing and drop what is sent, so
// that a transport above them ends by its own limits.
func (d *Device) Removed() <-chan struct{} { return d.removed }

// alive returns ErrRemoved when the hardware has been removed.
func (d *Device) alive() error {
	if !d.removal.Happened() {
		return nil
	}
	d.gone.Do(func() {
		close(d.removed)
		d.opts.Logger.Error("dpdk: the device was removed: its connections will end, and it must "+
			"be closed and opened again", "port", d.info.Name, "driver", d.info.Driver)
	})
	return ErrRemoved
}

// cause returns why a call into the driver failed with err.
func (d *Device) cause(err error) error {
	if err != nil && d.alive() != nil {
		return ErrRemoved
	}
	return err
}
