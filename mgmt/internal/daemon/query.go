// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"net/netip"

	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// uses remember, by age, the count of an SA or a policy and the time at which it was first seen. The chips keep no times, so the last use was
// between the query before and that time.
type uses map[uint64]use

type use struct {
	packets uint64
	at      int64
}

// seen gives the time of last use, in seconds since the epoch, 0 for none.
func (u uses) seen(c session.Carried, now int64) int64 {
	last := u[c.Age]
	if c.Packets != last.packets {
		last = use{c.Packets, now}
		if c.Packets == 0 {
			last.at = 0
		}
		u[c.Age] = last
	}
	return last.at
}

// keep forgets what is gone.
func (u uses) keep(ages map[uint64]bool) {
	for age := range u {
		if !ages[age] {
			delete(u, age)
		}
	}
}

// named is the SA that a request is about; src may be left out.
func named(r *control.QueryState) (id xfrm.ID, err error) {
	id.Proto, id.SPI = r.Proto, r.SPI
	if id.Dst, err = netip.ParseAddr(r.Dst); err != nil {
		return id, inputf("dst must be an IP address")
	}
	if r.Src != "" {
		if id.Src, err = netip.ParseAddr(r.Src); err != nil {
			return id, inputf("src must be an IP address")
		}
	}
	return id, nil
}

func (d *Daemon) advanceState(r *control.Advance) (any, error) {
	id, err := named(&r.QueryState)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return struct{}{}, d.session.Advance(id, r.Number)
}

func (d *Daemon) queryState(r *control.QueryState) (any, error) {
	id, err := named(r)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	used, err := d.session.State(id)
	if err != nil {
		return nil, err
	}
	return control.StateUsage{
		Bytes: used.Bytes, Packets: used.Packets, AddTime: used.Added, UseTime: d.uses.seen(used, d.now().Unix()), Seq: used.Sequence,
		Expired: used.Expired,
	}, nil
}

func (d *Daemon) queryPolicy(r *control.QueryPolicy) (any, error) {
	filter, err := policyFilter(r)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	used, err := d.session.Policy(filter)
	if err != nil {
		return nil, err
	}
	return control.PolicyUsage{UseTime: d.uses.seen(used, d.now().Unix())}, nil
}

// policyFilter reads the fields as the words of `xfrm policy get`.
func policyFilter(r *control.QueryPolicy) (xfrm.PolicyFilter, error) {
	words := []string{"xfrm", "policy", "get"}
	for _, field := range []struct {
		name  string
		value control.Word
	}{{"src", r.Src}, {"dst", r.Dst}, {"dev", r.Dev}, {"proto", r.Proto}, {"sport", r.SPort}, {"dport", r.DPort}, {"type", r.Type}, {"code", r.Code}, {"dir", r.Dir}} {
		if field.value != "" {
			words = append(words, field.name, string(field.value))
		}
	}
	command, err := xfrm.Parse(xfrm.Words(words))
	if err != nil {
		return xfrm.PolicyFilter{}, err
	}
	return command.(xfrm.PolicySelect).Filter, nil
}

func (d *Daemon) list(r *control.List) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var items []string
	var err error
	switch r.What {
	case "state":
		items, err = d.session.States()
	case "policy":
		items, err = d.session.Policies()
	default:
		return nil, inputf(`what must be "state" or "policy"`)
	}
	return control.Items{Items: append([]string{}, items...)}, err
}
