// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"sallyport/mgmt/internal/compile"
)

// gap is where a rule that is wanted can stand: between the settled rules next to it in the order.
type gap struct {
	low, high     int   // their rows; -1 and the size of the table where there is none
	free          []int // rows between them
	before, after int   // rules still to come between them, on either side of this one
}

func (t *ruleTable) gap(rank int) gap {
	g := gap{low: -1, high: len(t.cells)}
	first, last := -1, len(t.want)
	for index, cell := range t.cells {
		switch {
		case cell == nil:
			g.free = append(g.free, index)
		case cell.settled && cell.rank < rank:
			g.low, first, g.free = index, cell.rank, nil
		case cell.settled && cell.rank > rank:
			g.high, last = index, cell.rank
		}
		if g.high == index {
			break
		}
	}
	g.before, g.after = rank-first-1, last-rank-1
	return g
}

// tailGap is the part of the table that is left free, at most, before a rule that goes behind all
// others: most rules come that way, one after the other.
const tailGap = 256

// row spreads the rules of a gap evenly over its free rows, so that there is room for more
// between them.
func (g gap) row(size int) int {
	parts := g.before + g.after + 2
	spare := max(len(g.free)-parts+1, 0)
	if g.high == size {
		spare = min(spare, parts*size/tailGap)
	}
	return g.free[min(g.before+spare*(g.before+1)/parts, len(g.free)-1)]
}

// movesUp says whether a rule that is not settled stands below its gap. As no other rule could have
// been settled too, each stands either above or below.
func (t *ruleTable) movesUp(old *cell) bool {
	return slices.Index(t.cells, old) > t.gap(old.rank).high
}

// put writes a wanted rule to a row of its gap; false if the table is full. A row where it stood
// before keeps it.
func (t *ruleTable) put(rank int) bool {
	g, rule := t.gap(rank), t.want[rank]
	index, ok := 0, true
	if len(g.free) > 0 {
		index = g.row(len(t.cells))
	} else if index, ok = t.shift(g); !ok {
		return false
	}
	t.set(index, &cell{compile.Rule{Owner: rule.Owner, Part: rule.Part, Row: rule.Row}, rank, true})
	return true
}

// shift moves the rules from one end of a gap up to the nearest free row by a row, and gives the
// row at that end, whose rule now stands beside it as well. Each rule is in its new row before its
// old one is overwritten.
func (t *ruleTable) shift(g gap) (index int, ok bool) {
	for n := 1; g.low-n >= 0 || g.high+n < len(t.cells); n++ {
		if to := g.high + n; to < len(t.cells) && t.cells[to] == nil {
			for ; to > g.high; to-- {
				t.set(to, t.cells[to-1])
			}
			return g.high, true
		}
		if to := g.low - n; to >= 0 && t.cells[to] == nil {
			for ; to < g.low; to++ {
				t.set(to, t.cells[to+1])
			}
			return g.low, true
		}
	}
	return 0, false
}

// mostInOrder gives as many cells as possible, of those that hold wanted rules, that are in their
// order already: the longest increasing subsequence of their ranks.
func mostInOrder(cells []*cell) []*cell {
	// ends[n] ends a run of n+1 cells in order, the one that ends in the lowest rank so far; before
	// leads back through it.
	var ends []*cell
	before := map[*cell]*cell{}
	for _, c := range cells {
		n, _ := slices.BinarySearchFunc(ends, c.rank, func(end *cell, rank int) int { return end.rank - rank })
		if n > 0 {
			before[c] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, nil)
		}
		ends[n] = c
	}
	if len(ends) == 0 {
		return nil
	}
	order := []*cell{ends[len(ends)-1]}
	for c := before[order[0]]; c != nil; c = before[c] {
		order = append(order, c)
	}
	return order
}
