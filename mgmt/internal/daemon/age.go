// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"net/netip"
	"time"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// agePeriod is how often limits in time are looked at, which are seconds.
const agePeriod = time.Second

// age deletes the SAs that have reached a hard limit in time, and tells the monitors of these and
// of soft limits.
func (d *Daemon) age() error {
	now := d.now()
	if !d.adopted.Load() || now.Sub(d.aged) < agePeriod {
		return nil
	}
	d.aged = now
	soft, hard, err := d.session.Aged()
	for _, e := range soft {
		d.tell(e)
	}
	if err != nil || len(hard) == 0 {
		return err
	}
	return d.end(hard)
}

// end deletes the SAs of events together and then tells of them. If the chips cannot hold what
// would be left, the events are parted, so that no SA outlives its limit for another's sake; one
// that has to stay is tried again each time.
func (d *Daemon) end(events []events.Event) error {
	deletes := make([]xfrm.Command, len(events))
	for i, e := range events {
		deletes[i] = xfrm.StateSelect{Verb: xfrm.Delete, Filter: xfrm.StateFilter{Src: single(e.Src), Dst: single(e.Dst), Proto: string(e.Proto), SPI: e.SPI}}
	}
	_, err := d.run(deletes, session.Lists{})
	switch {
	case err == nil:
		for _, e := range events {
			d.tell(e)
		}
		return nil
	case !session.IsRefused(err):
		return err
	case len(events) > 1:
		if err := d.end(events[:len(events)/2]); err != nil {
			return err
		}
		return d.end(events[len(events)/2:])
	}
	d.log.Error("an SA has reached its hard limit and cannot be deleted", "text", events[0].String(), "error", err.Error())
	return nil
}

func single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
