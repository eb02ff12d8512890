// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"sallyport/mgmt/internal/model"
)

// pathPeriod is how often path MTUs come to the chips, those of all SAs together. It bounds what a
// peer's network can have the daemon do.
const pathPeriod = time.Second

// followPaths has the SAs keep to the path MTUs that ICMP from black tells, until ctx ends or the
// chips fail, and forgets these when their time is over.
func (d *Daemon) followPaths(ctx context.Context, reports <-chan model.PathReport) error {
	ticks := time.NewTicker(pathPeriod)
	defer ticks.Stop()
	told := map[uint64]uint32{} // by the ages of SAs
	for {
		select {
		case <-ctx.Done():
			return nil
		case report := <-reports:
			v, err := d.view()
			if err != nil {
				return err
			}
			sa := v.Model().Reported(report)
			if sa == nil {
				continue
			}
			if mtu, before := told[sa.Age]; !before || report.MTU < mtu {
				told[sa.Age] = report.MTU
			}
		case <-ticks.C:
			if err := d.outlive(d.learnPaths(told)); err != nil {
				return err
			}
			clear(told)
		}
	}
}

func (d *Daemon) learnPaths(told map[uint64]uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, err := d.session.Look()
	if err != nil || len(told) == 0 && !v.Model().PathsOver(d.now().Unix()) {
		return err
	}
	if err := d.prepare(); err != nil {
		return err
	}
	changed, m, err := d.session.LearnPaths(told)
	if err != nil {
		return err
	}
	for _, sa := range changed {
		d.log.Info("the path MTU of an SA has changed", "dst", sa.Dst, "spi", sa.SPI, "mtu", m.PathMTU(sa))
	}
	return nil
}
