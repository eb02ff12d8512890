// SPDX-License-Identifier: Apache-2.0

package prefixes

// take finds a free row for a new node without ends.
func (t *Tree) take(level int) (uint16, error) {
	unused := t.unused[level]
	if len(unused) == 0 {
		return 0, t.full(level)
	}
	row := unused[len(unused)-1]
	t.unused[level] = unused[:len(unused)-1]
	t.taken[level] = append(t.taken[level], row)
	t.nodes[level][row] = node{state: fresh}
	return row, nil
}

// own gives a row that may be written, with the node of the row `old`: the same row, if the change
// under way made it.
func (t *Tree) own(level int, old uint16) (uint16, error) {
	n := &t.nodes[level][old]
	if n.state == fresh {
		return old, nil
	}
	row, err := t.take(level)
	if err != nil {
		return 0, err
	}
	t.nodes[level][row] = *n
	t.nodes[level][row].state = fresh
	t.left[level] = append(t.left[level], old)
	return row, nil
}

// drop gives a row up: at once if no look-up can reach it, else with the change under way.
func (t *Tree) drop(level int, row uint16) {
	if n := &t.nodes[level][row]; n.state == fresh {
		n.state = free
		t.unused[level] = append(t.unused[level], row)
		return
	}
	t.left[level] = append(t.left[level], row)
}

// commit ends a change whose roots are to be written.
func (t *Tree) commit() {
	for level := range levels {
		for _, row := range t.taken[level] {
			if n := &t.nodes[level][row]; n.state == fresh {
				n.state = live
			}
		}
		for _, row := range t.left[level] {
			t.nodes[level][row].state = free
			t.unused[level] = append(t.unused[level], row)
		}
		t.taken[level], t.left[level] = t.taken[level][:0], t.left[level][:0]
	}
}

// rollBack ends a change that failed.
func (t *Tree) rollBack() {
	for level := range levels {
		for _, row := range t.taken[level] {
			if n := &t.nodes[level][row]; n.state == fresh {
				n.state = free
				t.unused[level] = append(t.unused[level], row)
			}
		}
		t.taken[level], t.left[level] = t.taken[level][:0], t.left[level][:0]
	}
}
