// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// uses remember, by age, the count of an SA or a policy and the time at which it was first seen.
// The chips keep no times, so the last use was between the query before and that time.
type uses map[uint64]use

type use struct {
	packets uint64
	at      int64
}

// lastUses are the uses, with their lock.
type lastUses struct {
	mu sync.Mutex
	uses
}

// seen gives the time of last use, in seconds since the epoch, 0 for none.
func (l *lastUses) seen(c session.Carried, now int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.uses.seen(c, now)
}

// keep forgets SAs and policies that are gone, once these may be half of the remembered ones.
func (l *lastUses) keep(m *model.Model) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.uses) <= 2*(m.SAs.Len()+m.Policies.Len()) {
		return
	}
	ages := map[uint64]bool{}
	for sa := range m.SAs.All() {
		ages[sa.Age] = true
	}
	for p := range m.Policies.All() {
		ages[p.Age] = true
	}
	l.uses.keep(ages)
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

// keep forgets all but those of `ages`.
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

func (d *Daemon) advanceState(who caller.Caller, r *control.Advance) (any, error) {
	if err := who.MayChange(); err != nil {
		return nil, err
	}
	id, err := named(&r.QueryState)
	if err != nil {
		return nil, err
	}
	defer d.lockFor(who)()
	if err := d.session.Advance(session.Position{ID: id, Number: r.Number}); err != nil {
		return nil, err
	}
	object := fmt.Sprintf("sequence number of xfrm state dst %s proto %s spi 0x%08x", id.Dst, id.Proto, id.SPI)
	d.log.Info("change", append([]any{"event", "change", "object", object, "after", r.Number}, who.Who()...)...)
	return struct{}{}, nil
}

func (d *Daemon) queryState(r *control.QueryState) (any, error) {
	id, err := named(r)
	if err != nil {
		return nil, err
	}
	v, err := d.view()
	if err != nil {
		return nil, err
	}
	used, err := v.State(id)
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
	v, err := d.view()
	if err != nil {
		return nil, err
	}
	used, err := v.Policy(filter)
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
	}{{"src", r.Src}, {"dst", r.Dst}, {"dev", r.Dev}, {"proto", r.Proto}, {"sport", r.SPort}, {"dport", r.DPort}, {"type", r.Type}, {"code", r.Code}, {"dir", r.Dir}, {"if_id", r.IfID}} {
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
	v, err := d.view()
	if err != nil {
		return nil, err
	}
	var items []string
	switch r.What {
	case "state":
		items, err = v.States()
	case "policy":
		items, err = v.Policies()
	default:
		return nil, inputf(`what must be "state" or "policy"`)
	}
	return control.Items{Items: append([]string{}, items...)}, err
}

func (d *Daemon) counters(*control.Plain) (any, error) {
	out := control.Counters{Chips: map[string]map[string]uint64{}}
	for _, c := range transport.Chips {
		values, err := d.session.Box.Counters(c)
		if err != nil {
			return nil, err
		}
		byName := map[string]uint64{}
		for i, counter := range chip.CounterList[c] {
			byName[counter.Name] = values[i]
		}
		out.Chips[c.String()] = byName
	}
	return out, nil
}

func (d *Daemon) capabilities(*control.Plain) (any, error) {
	b := d.session.Box
	out := control.Capabilities{Daemon: d.version, Suites: b.Capabilities[transport.Crypto].SuiteNames, Chips: map[string]control.Chip{}}
	for _, c := range transport.Chips {
		identity, err := b.Now(c)
		if err != nil {
			return nil, err
		}
		out.Chips[c.String()] = control.Chip{Identity: identity, Capabilities: b.Capabilities[c]}
	}
	return out, nil
}

func (d *Daemon) cards(*control.Plain) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	states, err := card.ReadAll(d.session.Box.Transport())
	if errors.Is(err, card.ErrNoShell) {
		err = inputf("%s", err)
	}
	return control.Cards{Cards: states}, err
}
