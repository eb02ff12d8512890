// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"io"
	"sync/atomic"

	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/events"
)

// Pool is the kernel's. The kernel mixes in bytes that are written there but credits no entropy, so
// writing needs no right.
const Pool = "/dev/random"

// noise is the use of the noise source: where its words go, and how it was when it was last
// looked at.
type noise struct {
	pool io.Writer // nil: it is not used
	good atomic.Bool
	told *bool // the last state told; nil: none yet
}

// UseNoise writes the bits of the noise source to a pool with each poll. While the source's health
// tests have not passed, it refuses SPIs, so that IKE agrees on no keys.
func (d *Daemon) UseNoise(pool io.Writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noise.pool = pool
}

// pollNoise tells once that the source fails, and once that it is good again. A failed source whose
// tests begin anew is neither.
func (d *Daemon) pollNoise() error {
	if d.noise.pool == nil {
		return nil
	}
	n, err := events.TakeNoise(d.session.Box)
	if err != nil {
		return err
	}
	if (n.Failed || n.Good) && (d.noise.told == nil || *d.noise.told != n.Good) {
		d.noise.told = &n.Good
		d.tell(events.Event{Kind: events.EventNoise, OK: &n.Good})
	}
	d.noise.good.Store(n.Good)
	if len(n.Words) == 0 {
		return nil
	}
	_, err = d.noise.pool.Write(n.Words)
	clear(n.Words)
	if err != nil {
		return fmt.Errorf("cannot feed the kernel's entropy pool: %w", err)
	}
	return nil
}

// mayAgreeKeys refuses while the noise source is to be used and is not good (NIST SP 800-90B, 4.3).
func (d *Daemon) mayAgreeKeys() error {
	if d.noise.pool != nil && !d.noise.good.Load() {
		return inputf("the noise source has not passed its health tests, so no keys are agreed: look at the event noise, and at the noise chip")
	}
	return nil
}

// pollSelfTest tells of lanes that have left service or returned to it.
func (d *Daemon) pollSelfTest() error {
	now, err := d.session.Box.SelfTest()
	if err != nil {
		return err
	}
	for _, e := range events.SelfTestEvents(d.tested, now) {
		d.tell(e)
	}
	for _, path := range now.Closed() {
		if len(d.tested.Closed()) != len(now.Closed()) {
			d.log.Error("no lane of the crypto chip is left on a path: nothing crosses it", "path", path)
		}
	}
	d.tested = now
	return nil
}

// selfTest tells how the last run ended, or starts one.
func (d *Daemon) selfTest(who Caller, r *control.SelfTestRequest) (any, error) {
	if r.Run {
		if err := who.mayChange(); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Run {
		if err := d.session.Box.RunSelfTest(); err != nil {
			return nil, err
		}
	}
	return d.session.Box.SelfTest()
}
