// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/cuckoo"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// hash changes a cuckoo table to the wanted entries. It gives those that may be left out, and are.
func (p *planner) hash(c transport.Chip, table regs.Table, size int, keyOf func(compile.Row) string, have map[int]compile.Row, want []compile.Placed) (image map[int]compile.Row, left []compile.Placed, err error) {
	keep := map[string]bool{}
	for _, entry := range want {
		keep[keyOf(entry.Row)] = true
	}
	var gone []string
	for _, index := range slices.Sorted(maps.Keys(have)) {
		if key := keyOf(have[index]); !keep[key] {
			gone = append(gone, key)
		}
	}
	writes := len(p.Writes)
	if left, err = p.entries(c, table, size, keyOf, have, want, gone); err != nil {
		return nil, nil, err
	}
	if image = maps.Clone(have); image == nil {
		image = map[int]compile.Row{}
	}
	for _, w := range p.Writes[writes:] {
		if image[w.Index] = w.Row; w.Row == nil {
			delete(image, w.Index)
		}
	}
	return image, left, nil
}

// chipOf is the chip of a device's port.
var chipOf = map[string]transport.Chip{xfrm.Red: transport.Inner, xfrm.Black: transport.Outer}

// hosts changes the tables of hosts. They are there before a row leads to hosts.
func (p *planner) hosts(sizes map[string]int) (err error) {
	tables := map[string]regs.Table{xfrm.Red: regs.InnerTableHost, xfrm.Black: regs.OuterTableBlackHost}
	for _, dev := range model.Devices {
		table, writes := tables[dev], len(p.Writes)
		image := p.Image.Rows()[table.Name]
		have := *p.old.Rows()[table.Name]
		var left []compile.Placed
		if *image, left, err = p.hash(chipOf[dev], table, sizes[dev], compile.HostKey, have, p.Target.Hosts[dev]); err != nil {
			return err
		}
		p.leaveOut(table, sizes[dev], left)
		for i := range p.Writes[writes:] {
			if w := &p.Writes[writes+i]; w.Phase == PhaseInsert {
				w.Phase = phaseHops
			}
		}
	}
	return nil
}

// leaveOut refuses routes of Linux whose rows of hosts find no room, and warns of other rows.
func (p *planner) leaveOut(table regs.Table, size int, left []compile.Placed) {
	hosts := 0
	for _, row := range left {
		switch {
		case !row.Route.IsValid():
			hosts++
		case row.Set != "":
			p.Target.NoRows[row.Set] = append(p.Target.NoRows[row.Set], row.Route)
		default:
			p.report.Warn(xfrm.Pos{}, "no room for %s: the %s table of %d rows is full; its packets follow a shorter route until there is", row.Owner, table.Name, size)
		}
	}
	p.warnLeft(table, size, hosts)
}

// refuseRows notes routes of Linux for which there are no rows of hosts.
func (p *planner) refuseRows() {
	for set, routes := range p.Target.NoRows {
		p.Refused[set] = append(p.Refused[set], routes...)
	}
}

// leftOut says, by table, what becomes of entries that are left out.
var leftOut = map[string]string{
	regs.InnerTableHost.Name:      "learned hosts without room: %d; packets to them are dropped (the host table has %d rows)",
	regs.OuterTableBlackHost.Name: "learned hosts of black without room: %d; clear packets to them are dropped (the host table has %d rows)",
	regs.OuterTablePeer.Name:      "peers without room: %d; their IKE is policed as that of other addresses (the peer table has %d rows)",
}

func (p *planner) warnLeft(table regs.Table, size, left int) {
	if left > 0 {
		p.report.Warn(xfrm.Pos{}, leftOut[table.Name], left, size)
	}
}

// mostSearches bounds the searches for room that fail: each looks through much of a full table.
const mostSearches = 64

// entries puts entries into a cuckoo table, and takes out those of some keys. It gives those that
// may be left out, and find no room even where others have gone.
func (p *planner) entries(c transport.Chip, table regs.Table, size int, keyOf func(compile.Row) string, have map[int]compile.Row, want []compile.Placed, gone []string) (left []compile.Placed, err error) {
	shadow := cuckoo.New(size, func(index int) (entry cuckoo.Entry[compile.Row], used bool) {
		row, used := have[index]
		if used {
			entry = cuckoo.Entry[compile.Row]{Key: keyOf(row), Value: row}
		}
		return entry, used
	})
	used := len(have)
	remove := func() {
		for _, key := range gone {
			if w, ok := shadow.Remove(key); ok {
				used--
				p.add(Write{Phase: p.removePhase(), Chip: c, Table: table, Index: w.Index})
			}
		}
	}
	put := func(entries []compile.Placed, in phase) (left []compile.Placed, err error) {
		for _, entry := range entries {
			key := keyOf(entry.Row)
			_, row, there := shadow.Get(key)
			if there && slices.Equal(row, entry.Row) {
				continue
			}
			if len(left) >= mostSearches && entry.Optional && !there {
				left = append(left, entry)
				continue
			}
			writes, err := shadow.Put(key, entry.Row)
			if err != nil && entry.Optional {
				left = append(left, entry)
				continue
			}
			if err != nil {
				return nil, &compile.FullError{Err: xfrm.Errorf(entry.Pos, "no room for %s: the %s table of %d rows is full (%d are used)", entry.Owner, table.Name, size, used)}
			}
			if !there {
				used++
			}
			for _, w := range writes {
				p.add(Write{Phase: in, Chip: c, Table: table, Index: w.Index, Row: w.Value})
			}
		}
		return left, nil
	}
	if p.removeFirst {
		remove()
		return put(want, PhaseInsert)
	}
	if left, err = put(want, PhaseInsert); err != nil {
		return nil, err
	}
	remove()
	if len(gone) > 0 {
		left, err = put(left, p.removePhase())
	}
	return left, err
}
