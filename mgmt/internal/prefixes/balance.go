// SPDX-License-Identifier: Apache-2.0

package prefixes

import "slices"

// How few ends a node may have: one with two siblings or more, and one of two. A node without
// siblings may have none.
const (
	leastOfMany = 9
	leastOfTwo  = 7
	window      = 3 // as many siblings share their ends
)

// least is how few ends a node may have that shares its parent with `others` nodes.
func least(others int) int { return [window]int{0, leastOfTwo, leastOfMany}[min(others, window-1)] }

// put makes `end` an end below the node in a row, if it is none yet. The nodes on the way to it are
// written to new rows; row is the first one's.
func (t *Tree) put(level int, old uint16, end uint64) (row uint16, err error) {
	row, err = t.own(level, old)
	if err != nil {
		return 0, err
	}
	n := &t.nodes[level][row]
	place := n.place(end)
	switch {
	case n.has(place, end):
		return row, nil
	case level == leaf:
		n.setEnds(place, place, end)
		return row, nil
	}
	if n.child[place], err = t.put(level+1, n.child[place], end); err != nil {
		return 0, err
	}
	return row, t.balance(level, n, place)
}

// remove takes an end that is there out of the nodes below a row. In a node above the leaves, the
// end in front of it comes up from its leaf and takes its place.
func (t *Tree) remove(level int, old uint16, end uint64) (row uint16, err error) {
	row, err = t.own(level, old)
	if err != nil {
		return 0, err
	}
	n := &t.nodes[level][row]
	place := n.place(end)
	switch found := n.has(place, end); {
	case level == leaf:
		n.setEnds(place-1, place)
		return row, nil
	case found:
		place--
		n.child[place], n.ends[place], err = t.removeLast(level+1, n.child[place])
	default:
		n.child[place], err = t.remove(level+1, n.child[place], end)
	}
	if err != nil {
		return 0, err
	}
	return row, t.balance(level, n, place)
}

// removeLast takes the highest end out of the leaf that holds it.
func (t *Tree) removeLast(level int, old uint16) (row uint16, end uint64, err error) {
	row, err = t.own(level, old)
	if err != nil {
		return 0, 0, err
	}
	n := &t.nodes[level][row]
	last := n.count
	if level == leaf {
		end = n.ends[last-1]
		n.setEnds(last-1, last)
		return row, end, nil
	}
	if n.child[last], end, err = t.removeLast(level+1, n.child[last]); err != nil {
		return 0, 0, err
	}
	return row, end, t.balance(level, n, last)
}

// balance mends the child at a place if it has too many ends or too few. It shares the ends of up
// to three siblings out anew, evenly: among as many nodes if they suffice, else among one more or
// one less (as a B*-tree, D. Knuth, "The Art of Computer Programming" 3, 6.2.4).
func (t *Tree) balance(level int, parent *node, place int) error {
	siblings := min(window, parent.count+1)
	enough := least(parent.count)
	if count := t.nodes[level+1][parent.child[place]].count; enough <= count && count <= maxEnds {
		return nil
	}
	first := max(0, min(place-1, parent.count+1-siblings))
	rows := slices.Clone(parent.child[first : first+siblings])
	ends, below := t.gather(level+1, rows, parent.ends[first:first+siblings-1])
	number := siblings
	switch in := len(ends) - (siblings - 1); {
	case in > siblings*maxEnds:
		number++
	case in < siblings*enough:
		number--
	}
	rows, err := t.resize(level+1, rows, number)
	if err != nil {
		return err
	}
	between := t.share(level+1, rows, ends, below)
	kept := slices.Replace(parent.child[:parent.count+1], first, first+siblings, rows...)
	copy(parent.child[:], kept)
	parent.setEnds(first, first+siblings-1, between...)
	return nil
}

// gather gives the ends of siblings in order, with those of the parent between them, and their
// children.
func (t *Tree) gather(level int, rows []uint16, between []uint64) (ends []uint64, below []uint16) {
	for i, row := range rows {
		n := &t.nodes[level][row]
		if i > 0 {
			ends = append(ends, between[i-1])
		}
		ends = append(ends, n.ends[:n.count]...)
		below = append(below, n.child[:n.count+1]...)
	}
	return ends, below
}

// resize makes nodes of siblings writable, and adds one or gives one back.
func (t *Tree) resize(level int, rows []uint16, number int) ([]uint16, error) {
	for len(rows) > number {
		t.drop(level, rows[len(rows)-1])
		rows = rows[:len(rows)-1]
	}
	for i, row := range rows {
		own, err := t.own(level, row)
		if err != nil {
			return nil, err
		}
		rows[i] = own
	}
	if len(rows) < number {
		row, err := t.take(level)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// share fills nodes evenly, and returns the ends between them.
func (t *Tree) share(level int, rows []uint16, ends []uint64, below []uint16) (between []uint64) {
	for left := len(rows); left > 0; left-- {
		n := &t.nodes[level][rows[len(rows)-left]]
		n.count = len(ends) / left
		copy(n.ends[:], ends[:n.count])
		copy(n.child[:], below[:n.count+1])
		ends, below = ends[n.count:], below[n.count+1:]
		if left > 1 {
			between = append(between, ends[0])
			ends = ends[1:]
		}
	}
	return between
}
