// SPDX-License-Identifier: Apache-2.0

package prefixes

import "errors"

// Apply makes changes of prefixes of a kind, and returns the rows to write. After an error the tree
// is as it was. It is a *FullError if the rows do not suffice. To take out a prefix that is not
// there changes nothing.
//
// The chip gets all changes at once if the rows suffice for the old nodes and all new ones. Else it
// gets them in parts, in their order, each with its roots behind its nodes.
func (t *Tree) Apply(kind Kind, changes []Change) (Writes, error) {
	writes, err := t.step(kind, changes)
	if !t.divides(kind, changes, err) {
		return writes, err
	}
	before := t.clone()
	if writes, err = t.parts(kind, changes); err != nil {
		*t = *before
		return nil, err
	}
	return writes, nil
}

// divides says whether changes that failed may succeed in parts. A root that another daemon wrote
// goes straight to all of ours.
func (t *Tree) divides(kind Kind, changes []Change, err error) bool {
	for _, r := range t.of(kind) {
		if r.found {
			return false
		}
	}
	var full *FullError
	return errors.As(err, &full) && len(changes) > 1
}

func (t *Tree) parts(kind Kind, changes []Change) (writes Writes, err error) {
	half := len(changes) / 2
	for _, part := range [2][]Change{changes[:half], changes[half:]} {
		some, err := t.step(kind, part)
		if t.divides(kind, part, err) {
			some, err = t.parts(kind, part)
		}
		if err != nil {
			return nil, err
		}
		writes = append(writes, some...)
	}
	return writes, nil
}

// step makes changes all at once, or none.
func (t *Tree) step(kind Kind, changes []Change) (Writes, error) {
	before, room := map[int]top{}, t.room()
	for n, r := range t.of(kind) {
		before[n] = r.top
	}
	undo, err := t.set(kind, changes)
	for _, r := range t.of(kind) {
		if err == nil && r.found {
			err = t.lead(r, kind)
		}
	}
	if err == nil {
		err = t.keepsSpare(room)
	}
	if err != nil {
		t.rollBack()
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
		for n, r := range t.of(kind) {
			r.top = before[n]
		}
		return nil, err
	}
	var nodes, last Writes
	for n, r := range t.of(kind) {
		if r.found, r.garbage = false, false; r.valid {
			t.fell(r)
		}
		if r.valid {
			nodes = t.emit(nodes, kind, &r.leads, r.start, r.row, 0, ^uint64(0))
		}
		if r.top != before[n] {
			last = append(last, r.write(n))
		}
	}
	t.commit()
	return append(nodes, last...), nil
}

// spare is how many rows of each level below the first stay free, for the nodes that any change of
// one prefix makes before the old ones are free. So prefixes can leave a full tree. The first level
// has roots alone, and there those of the trees for both IP versions stay free.
const spare = 8

// room is how many rows of each level are free behind the change under way.
func (t *Tree) room() (rows [levels]int) {
	for level := range rows {
		rows[level] = len(t.unused[level]) + len(t.left[level])
	}
	return rows
}

// keepsSpare refuses a change that takes rows of the spare ones for good.
func (t *Tree) keepsSpare(before [levels]int) error {
	after := t.room()
	for level := range levels {
		keep := spare
		if level == 0 {
			keep = versions
		}
		if after[level] < min(keep, before[level]) {
			return t.full(level)
		}
	}
	return nil
}

// set gives prefixes their rows, and the trees their ends. It returns what undoes the former.
func (t *Tree) set(kind Kind, changes []Change) (undo []func(), err error) {
	for _, change := range changes {
		version, s, err := spanOf(change.Prefix)
		if err != nil {
			return undo, err
		}
		r := &t.roots[int(kind)*versions+version]
		if r.leads.to[s] == change.Row {
			continue
		}
		before := r.leads.set(s, change.Row)
		undo = append(undo, func() { r.leads.set(s, before) })
		if r.found {
			continue
		}
		if err := t.adjust(r, s.ends()); err != nil {
			return undo, err
		}
		if kind.of() == Policies {
			if r.row, err = t.redirect(r, s, r.start, r.row, 0, ^uint64(0)); err != nil {
				return undo, err
			}
		}
	}
	return undo, nil
}

// adjust writes the nodes on the ways to some ends to new rows. It makes those ends that prefixes
// need now, and removes those that none needs any more.
func (t *Tree) adjust(r *root, ends []uint64) (err error) {
	if !r.valid {
		if err := t.plant(r); err != nil {
			return err
		}
	}
	if r.row, err = t.own(r.start, r.row); err != nil {
		return err
	}
	for _, end := range ends {
		if r.leads.needs(end) {
			r.row, err = t.put(r.start, r.row, end)
		} else {
			r.row, err = t.remove(r.start, r.row, end)
		}
		if err == nil {
			err = t.fit(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// redirect writes those nodes to new rows in which a place inside a span leads elsewhere than the
// prefixes of policies say, and those above them. It looks at all leaves inside the span: one or
// two, unless prefixes lie inside it.
func (t *Tree) redirect(r *root, s span, level int, row uint16, first, last uint64) (uint16, error) {
	for place := 0; place <= t.nodes[level][row].count; place++ {
		n := &t.nodes[level][row]
		from, to := n.bounds(place, first, last)
		if to < s.start || from > s.start|^mask(s.length) {
			continue
		}
		child, err := n.child[place], error(nil)
		if level < leaf {
			child, err = t.redirect(r, s, level+1, child, from, to)
		} else {
			child = r.leads.policy(from, to)
		}
		if err != nil {
			return 0, err
		}
		if child == n.child[place] {
			continue
		}
		if row, err = t.own(level, row); err != nil {
			return 0, err
		}
		t.nodes[level][row].child[place] = child
	}
	return row, nil
}

// emit gives the places of new nodes what the spans say, and appends the nodes' rows. The addresses
// of the node are those from first to last.
func (t *Tree) emit(out Writes, kind Kind, l *leads, level int, row uint16, first, last uint64) Writes {
	n := &t.nodes[level][row]
	if n.state != fresh {
		return out
	}
	for place := range n.count + 1 {
		if n.sets(l, kind, level, place, first, last); level < leaf {
			from, to := n.bounds(place, first, last)
			out = t.emit(out, kind, l, level+1, n.child[place], from, to)
		}
	}
	return append(out, n.encode(kind, level, row)...)
}
