// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
)

// Paths says what the daemon makes of ICMP from black about ESP packets that were too long: whether
// it believes any, and how long a path MTU holds (RFC 4301, 6.1.1 and 8.2.2).
type Paths struct {
	Believe bool
	Holds   time.Duration
}

// UsePaths replaces that of New, which believes, for [model.PathAge]. It comes before OpenHost.
func (d *Daemon) UsePaths(paths Paths) { d.paths = paths }

// pathPeriod is how often path MTUs come to the chips, those of all SAs together. It bounds what a
// peer's network can have the daemon do.
const pathPeriod = time.Second

// followPaths has the SAs keep to the path MTUs that ICMP from black tells, until ctx ends or the
// chips fail, and forgets these when their time is over.
func (d *Daemon) followPaths(ctx context.Context, reports <-chan model.PathReport) error {
	ticks := time.NewTicker(pathPeriod)
	defer ticks.Stop()
	told, last := map[uint64]uint32{}, map[uint64]uint64{} // by the ages of SAs
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
			if sent, err := sentLately(v, sa, report.Number, last); err != nil {
				if err := d.outlive(err); err != nil {
					return err
				}
				continue
			} else if !sent {
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
			clear(last)
		}
	}
}

// sentLately says whether an SA can have sent a number. It reads the chip's counter once for an SA
// and period, into `last`, so no flood of reports keeps the chips busy. It refuses a number that
// the SA has used since: the packets after it bring further reports.
func sentLately(v *session.View, sa *model.SA, number uint32, last map[uint64]uint64) (bool, error) {
	sent, read := last[sa.Age]
	if !read {
		var err error
		if sent, err = v.LastNumber(sa); err != nil {
			return false, err
		}
		last[sa.Age] = sent
	}
	return punt.SentLately(sent, number), nil
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
	changed, m, err := d.session.LearnPaths(told, d.paths.Holds)
	if err != nil {
		return err
	}
	for _, sa := range changed {
		d.log.Info("the path MTU of an SA has changed", "dst", sa.Dst, "spi", sa.SPI, "mtu", m.PathMTU(sa))
	}
	return nil
}

// hear notes what ICMP from black says about paths. Such a frame is Linux's, too, which may have a
// socket that sends there.
func (d *Daemon) hear(header transport.PuntHeader, frame []byte) {
	if !d.paths.Believe || header.Port != transport.PortBlack || header.Reason != regs.PuntReasonIcmp {
		return
	}
	if report, ok := punt.ReadPathReport(frame); ok {
		select {
		case d.host.paths <- report:
		default: // longer packets will be spoken of again
		}
	}
}
