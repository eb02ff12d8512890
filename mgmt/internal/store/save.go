// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	bolt "go.etcd.io/bbolt"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// writer writes records into a transaction, until something fails.
type writer struct {
	tx      *bolt.Tx
	learned map[model.NextHop]xfrm.MAC // as they are in the file
	err     error
}

// put writes a record; none is removed.
func (w *writer) put(bucket []byte, key uint64, value []byte) {
	if w.err != nil {
		return
	}
	b, err := w.tx.CreateBucketIfNotExists(bucket)
	if err != nil {
		w.err = err
		return
	}
	w.store(b, binary.BigEndian.AppendUint64(nil, key), value)
}

func (w *writer) store(b *bolt.Bucket, name, value []byte) {
	if value == nil {
		w.err = b.Delete(name)
	} else {
		w.err = b.Put(name, value)
	}
}

func (w *writer) json(bucket []byte, key uint64, value any) {
	text, err := json.Marshal(value)
	w.err = errors.Join(w.err, err)
	w.put(bucket, key, text)
}

// rest are the small parts of a state.
func (s *State) rest() rest {
	network := s.Model.Network
	network.Learned = nil
	return rest{format, s.Generation, network, s.Image.RedHop, s.Image.BlackHop, s.Hops}
}

func (w *writer) rest(s *State) {
	keep := func(name, key []byte, value any) {
		text, err := json.Marshal(value)
		if err == nil {
			var bucket *bolt.Bucket
			if bucket, err = w.tx.CreateBucketIfNotExists(name); err == nil {
				err = bucket.Put(key, text)
			}
		}
		w.err = errors.Join(w.err, err)
	}
	keep(restBucket, restKey, s.rest())
	if w.tx.Bucket(learnedBucket) == nil || !maps.Equal(w.learned, s.Model.Learned) {
		keep(learnedBucket, learnedKey, s.Model.Learned)
		w.learned = s.Model.Learned
	}
}

// changes writes what a model has that its origin had not.
func (w *writer) changes(s *State) {
	ch := &s.Model.Changes
	for age := range ch.GoneSAs {
		w.put(sasBucket, age, nil)
	}
	for age, sa := range ch.SAs {
		w.json(sasBucket, age, sa)
	}
	for place := range ch.GonePolicies {
		w.put(policiesBucket, place, nil)
	}
	for place, p := range ch.Policies {
		w.json(policiesBucket, place, p)
	}
	for dev, routes := range ch.Routes {
		for prefix, r := range routes {
			w.route(dev, prefix, r)
		}
		if learned.OfVRF(dev) && s.Model.FromLinux[dev] == nil && w.err == nil {
			w.err = w.tx.DeleteBucket(routesBucket(dev)) // its VRF is gone
		}
	}
}

// route writes a route of Linux; none is removed.
func (w *writer) route(dev string, prefix netip.Prefix, r *learned.Route) {
	b, err := w.tx.CreateBucketIfNotExists(routesBucket(dev))
	name, failed := prefix.MarshalBinary()
	var text []byte
	if r != nil && err == nil {
		text, err = json.Marshal(r)
	}
	if w.err = errors.Join(w.err, err, failed); w.err == nil {
		w.store(b, name, text)
	}
}

func (s *Store) update(write func(*writer)) error {
	w := &writer{learned: s.learned}
	err := s.db.Update(func(tx *bolt.Tx) error {
		w.tx = tx
		write(w)
		return w.err
	})
	s.trim()
	if err != nil {
		return fmt.Errorf("cannot write the state file %s: %w", s.db.Path(), err)
	}
	s.learned = w.learned
	return nil
}

// Save stores a state whose tables are those of before.
func (s *Store) Save(state *State) error {
	return s.update(func(w *writer) {
		w.changes(state)
		w.rest(state)
	})
}

// SaveAll stores everything, in place of all earlier records.
func (s *Store) SaveAll(state *State) error {
	return s.update(func(w *writer) {
		names := slices.AppendSeq([][]byte{sasBucket, policiesBucket}, maps.Values(routeSets(w.tx)))
		for name := range state.Image.Rows() {
			names = append(names, []byte(name))
		}
		for name := range state.Image.Rules() {
			names = append(names, []byte(name))
		}
		for _, name := range names {
			if w.tx.Bucket(name) != nil {
				w.err = errors.Join(w.err, w.tx.DeleteBucket(name))
			}
		}
		for sa := range state.Model.SAs.All() {
			w.json(sasBucket, sa.Age, sa)
		}
		for p := range state.Model.Policies.All() {
			w.json(policiesBucket, p.At(), p)
		}
		for dev, routes := range state.Model.FromLinux {
			for r := range routes.All() {
				w.route(dev, r.Prefix, r)
			}
		}
		w.tables(compile.NewImage(), state.Image)
		w.rest(state)
	})
}

// SaveWhole stores a state whose tables were compared with those of before.
func (s *Store) SaveWhole(before *compile.Image, state *State) error {
	return s.update(func(w *writer) {
		w.changes(state)
		w.tables(before, state.Image)
		w.rest(state)
	})
}

// SavePart stores a state, of whose tables a plan has changed a part. `rows` are those of the plan.
func (s *Store) SavePart(p *plan.Plan, rows []Kept, state *State) error {
	return s.update(func(w *writer) {
		w.changes(state)
		for _, row := range rows {
			w.put([]byte(row.Table), uint64(row.Index), textOf(row.Row))
		}
		if p.Target.Part.Rules {
			w.rules("inner_rule", state.Image.InnerRule, p.Image.InnerRule)
		}
		after := *state
		image := *state.Image
		image.RedHop, image.BlackHop = p.Image.RedHop, p.Image.BlackHop
		after.Image = &image
		w.rest(&after)
	})
}

// tables writes in what two images differ.
func (w *writer) tables(before, after *compile.Image) {
	old := before.Rows()
	for name, rows := range after.Rows() {
		for index := range *old[name] {
			if _, stays := (*rows)[index]; !stays {
				w.put([]byte(name), uint64(index), nil)
			}
		}
		// In order, so that bbolt appends each record: a full box has 64 Ki rows a table.
		for _, index := range slices.Sorted(maps.Keys(*rows)) {
			row := (*rows)[index]
			if had, there := (*old[name])[index]; !there || !slices.Equal(had, row) {
				w.put([]byte(name), uint64(index), textOf(row))
			}
		}
	}
	rules := before.Rules()
	for name, now := range after.Rules() {
		w.rules(name, *rules[name], *now)
	}
}

func (w *writer) rules(name string, before, after map[int]compile.Rule) {
	for index := range before {
		if _, stays := after[index]; !stays {
			w.put([]byte(name), uint64(index), nil)
		}
	}
	for index, rule := range after {
		had, there := before[index]
		if !there || had.Owner != rule.Owner || had.Part != rule.Part || !slices.Equal(had.Row, rule.Row) {
			w.json([]byte(name), uint64(index), rule)
		}
	}
}

// Kept is a row of the image; none is one that is cleared.
type Kept struct {
	Table string
	Index int
	Row   compile.Row
}

// KeptRows are the rows of the image that the plan of a part writes, in the order in which it does.
func KeptRows(p *plan.Plan) (out []Kept) {
	kept := compile.NewImage().Rows()
	for _, w := range p.Writes {
		if kept[w.Table.Name] == nil {
			continue
		}
		row := w.Row
		if w.Table.Name == regs.InnerTableSelector.Name && row != nil {
			row = slices.Clone(row)
			regs.SelectorRow.WindowKeep.Put(row, 0) // it is of the write
		}
		out = append(out, Kept{w.Table.Name, w.Index, row})
	}
	return out
}

// Follow brings the image and Standing to the rows that the plan of a part has written.
func Follow(state *State, p *plan.Plan, rows []Kept) {
	image := state.Image
	tables := image.Rows()
	type at struct {
		table string
		index int
	}
	lead := map[at]compile.Row{} // what rows that lead to SAs and next hops were
	for _, row := range rows {
		table, here := tables[row.Table], at{row.Table, row.Index}
		if _, noted := lead[here]; !noted && (row.Table == regs.InnerTableFlow.Name || row.Table == regs.InnerTablePrefixPolicy.Name) {
			lead[here] = (*table)[row.Index]
		}
		if row.Row == nil {
			delete(*table, row.Index)
			continue
		}
		if *table == nil {
			*table = map[int]compile.Row{}
		}
		(*table)[row.Index] = row.Row
	}
	if p.Target.Part.Rules {
		image.InnerRule = p.Image.InnerRule
	}
	image.RedHop, image.BlackHop = p.Image.RedHop, p.Image.BlackHop
	ch := &state.Model.Changes
	for _, sa := range ch.Removed() {
		image.Keys(sa.Way).Remove(sa.Row)
	}
	for _, sa := range ch.SAs {
		image.Keys(sa.Way).Add(sa.Row)
	}
	var before, after []compile.Row
	for here, row := range lead {
		before, after = append(before, row), append(after, (*tables[here.table])[here.index])
	}
	state.Standing.KeepWays(p.Ways)
	state.Standing.Follow(ch, p.Target, p.Roomless, before, after)
}
