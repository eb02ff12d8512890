// SPDX-License-Identifier: Apache-2.0

package prefixes

// fit starts the tree a level above if its root has too many ends, and below nodes that have none.
func (t *Tree) fit(r *root) error {
	if t.nodes[r.start][r.row].count > maxEnds {
		if r.start == 0 {
			return t.full(0)
		}
		row, err := t.take(r.start - 1)
		if err != nil {
			return err
		}
		above := &t.nodes[r.start-1][row]
		above.child[0] = r.row
		r.start, r.row = r.start-1, row
		return t.balance(r.start, above, 0)
	}
	for t.nodes[r.start][r.row].count == 0 && r.start < leaf {
		row, err := t.own(r.start+1, t.nodes[r.start][r.row].child[0])
		if err != nil {
			return err
		}
		t.drop(r.start, r.row)
		r.start, r.row = r.start+1, row
	}
	return nil
}

// plant makes a tree without ends: a leaf.
func (t *Tree) plant(r *root) error {
	row, err := t.take(leaf)
	if err != nil {
		return err
	}
	r.top = top{leaf, row, true}
	return nil
}

// fell drops the nodes of a tree once there is no prefix.
func (t *Tree) fell(r *root) {
	if len(r.leads.to) == 0 {
		t.dropAll(r.start, r.row)
		r.valid = false
	}
}
