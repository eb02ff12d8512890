// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"net/netip"
	"time"

	"sallyport/mgmt/internal/disk"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// agePeriod is how often limits in time are looked at, which are seconds.
const agePeriod = time.Second

// age deletes the SAs that have reached a hard limit in time, and tells the monitors of these and
// of soft limits. If a file cannot be written, it tells of them all the same.
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
	if err != nil && !disk.IsFailure(err) {
		return err
	}
	d.forgetDeleted(hard)
	if len(hard) > 0 {
		if err := d.end(hard); err != nil {
			return err
		}
	}
	return err
}

// end deletes the SAs of events together and then tells of them. If the chips cannot hold what
// would be left, the events are parted, so that no SA outlives its limit for another's sake; one
// that has to stay is tried again each time. If a file cannot be written, all stay: end tells of
// them once, and each time tries to delete them.
func (d *Daemon) end(events []events.Event) error {
	deletes := make([]xfrm.Command, len(events))
	for i, e := range events {
		deletes[i] = xfrm.StateSelect{Verb: xfrm.Delete, Filter: xfrm.StateFilter{Src: single(e.Src), Dst: single(e.Dst), Proto: string(e.Proto), SPI: e.SPI}}
	}
	_, err := d.run(deletes, session.Lists{})
	switch {
	case err == nil || disk.IsFailure(err):
		d.tellOnce(events, err == nil)
		return err
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

// tellOnce tells of SAs at their hard limits, but for those that were told before and have stayed.
func (d *Daemon) tellOnce(events []events.Event, deleted bool) {
	for _, e := range events {
		id := subject(e)
		if !d.ended[id] {
			d.tell(e)
		}
		if d.ended[id] = true; deleted {
			delete(d.ended, id)
		}
	}
}

// forgetDeleted forgets the SAs that were told and that a client has deleted since: another may
// have the name of such a one.
func (d *Daemon) forgetDeleted(hard []events.Event) {
	stay := map[xfrm.ID]bool{}
	for _, e := range hard {
		if id := subject(e); d.ended[id] {
			stay[id] = true
		}
	}
	d.ended = stay
}

// subject is the SA of an event.
func subject(e events.Event) xfrm.ID {
	return xfrm.ID{Src: e.Src, Dst: e.Dst, Proto: string(e.Proto), SPI: e.SPI}
}

func single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
