// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// letter is the row of a rule that is known by a letter; another case is another result.
func letter(c rune) compile.Row {
	f, row := regs.RuleRow, make(compile.Row, (regs.RuleRow.Bits+31)/32)
	f.Valid.Put(row, 1)
	f.DstPort.Put(row, uint64(unicode.ToLower(c)))
	f.DstPortMask.Put(row, math.MaxUint16)
	f.Action.Put(row, regs.ActionBypass)
	f.Sa.Put(row, uint64(c))
	return row
}

func letterOf(row []uint32) string {
	if row == nil {
		return "."
	}
	return string(rune(regs.RuleRow.Sa.Get(row)))
}

// changeLetters brings a table of letters, a point being a free row, to hold others in that order.
// It gives the table and the writes.
func changeLetters(t *testing.T, have, want string, removeFirst bool) (string, []Write, error) {
	t.Helper()
	rows, rules := map[int]compile.Rule{}, []compile.Placed{}
	for index, c := range have {
		if c != '.' {
			rows[index] = compile.Rule{Owner: strings.ToLower(string(c)), Part: 0, Row: letter(c)}
		}
	}
	for i, c := range want {
		// Of two with one priority the older comes first.
		rules = append(rules, compile.Placed{Owner: strings.ToLower(string(c)), Row: letter(c), Priority: uint32(i / 2), Age: uint64(i % 2)})
	}
	slices.Reverse(rules)
	p := &planner{Plan: Plan{Target: &compile.Target{}}, removeFirst: removeFirst}
	image, err := p.rules(transport.Inner, regs.InnerTableRule, len(have), rows, rules)
	if err != nil {
		if full := (*compile.FullError)(nil); !errors.As(err, &full) {
			t.Errorf("%s to %s: %v", have, want, err)
		}
		return "", nil, err
	}
	table := ""
	for index := range have {
		table += letterOf(image[index].Row)
	}
	slices.SortStableFunc(p.Writes, func(a, b Write) int { return cmp.Compare(a.Phase, b.Phase) })
	return table, p.Writes, nil
}

// TestRulePlaces: which rows rules get, and the writes, those before and after the
// insertions apart.
func TestRulePlaces(t *testing.T) {
	const firstFrees = true
	for _, test := range []struct {
		what, have, want, table, writes string
		removeFirst                     bool
	}{
		{"one after the other", "........", "abc", "abc.....", "|0a 1b 2c|", false},
		{"in the middle", "a......b", "acb", "a..c...b", "|3c|", false},
		{"spread", "a......b", "acdb", "a.c.d..b", "|2c 4d|", false},
		{"two that change places", "a..bc", "adcb", "ad.cb", "|1d|2b 3c 4b 2.", false},
		{"a result alone", "abcd", "abCd", "abCd", "|2C|", false},
		{"results from the top", "abcd", "ABcD", "ABcD", "|0A 1B 3D|", false},
		{"shift down", "ab..", "acb", "acb.", "|2b 1c|", false},
		{"shift up", ".ab", "acb", "acb", "|0a 1c|", false},
		{"shift to the nearest", ".abc.", "axbc", "axbc.", "|0a 1x|", false},
		{"above all", "abc.", "dabc", "dabc", "|3c 2b 1a 0d|", false},
		{"below all", ".abc", "abcd", "abcd", "|0a 1b 2c 3d|", false},
		{"what is there stays", "abcd....", "dabc", "dabc....", "|4d 3c 2b 1a 0d 4.|", false},
		{"down after the others are in", "abcd....", "bceda", ".bceda..", "|4d 3e|5a 0.", false},
		{"from the last up", "abcd", "b", ".b..", "||3. 2. 0.", false},
		{"remove first", "abcd", "bax", ".bax", "3. 2.|3x|2a 0.", firstFrees},
		{"old and new do not fit", "abcd", "bax", "full", "no room for the policy x:", false},
		{"too many", "abcd", "abcde", "full", "no room for the policy e:", firstFrees},
		{"no row to move through", "abcd", "abdc", "full", "no room to move the policy", firstFrees},
	} {
		table, writes, err := changeLetters(t, test.have, test.want, test.removeFirst)
		if err != nil {
			if test.table != "full" || !strings.Contains(err.Error(), test.writes) {
				t.Errorf("%s: %v", test.what, err)
			}
			continue
		}
		var parts [3][]string
		for _, w := range writes {
			part := map[phase]int{phaseEarlyRemove: 0, PhaseInsert: 1, phaseRemove: 2}[w.Phase]
			parts[part] = append(parts[part], fmt.Sprint(w.Index)+letterOf(w.Row))
		}
		got := strings.Join(parts[0], " ") + "|" + strings.Join(parts[1], " ") + "|" + strings.Join(parts[2], " ")
		if table != test.table || got != test.writes {
			t.Errorf("%s: %s with %s, want %s with %s", test.what, table, got, test.table, test.writes)
		}
	}
}

// TestNoDecisionBetween: whichever of the rules match a packet, each lookup during a change sees
// the old first of them or the new one. Where old rules leave first, it may see the first of those
// that stay.
func TestNoDecisionBetween(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	full := 0
	for range 2000 {
		size := 3 + random.IntN(8)
		have, want := randomLetters(random, size), randomLetters(random, size)
		for random.IntN(2) == 0 && len(have) < size {
			at := random.IntN(len(have) + 1)
			have = have[:at] + "." + have[at:]
		}
		have += strings.Repeat(".", size-len(have))
		stay := ""
		for _, c := range have {
			if c != '.' && strings.ContainsRune(strings.ToLower(want), unicode.ToLower(c)) {
				stay += string(c)
			}
		}
		table, writes, err := changeLetters(t, have, want, false)
		tight := err != nil
		if tight {
			table, writes, err = changeLetters(t, have, want, true)
		}
		if err != nil {
			full++
			if len(want) < size {
				t.Fatalf("%s to %s: %v", have, want, err)
			}
			continue
		}
		if got := strings.ReplaceAll(table, ".", ""); got != want {
			t.Fatalf("%s to %s gave %s", have, want, table)
		}
		now := fakebox.Ternary{}
		for index, c := range have {
			if c != '.' {
				now[index] = letter(c)
			}
		}
		for n, w := range writes {
			now.Write(w.Index, w.Row, func() {
				seen := ""
				for _, index := range slices.Sorted(maps.Keys(now)) {
					seen += letterOf(now[index])
				}
				for packet := range 1 << len(alphabet) {
					got, old, new := firstOf(seen, packet), firstOf(have, packet), firstOf(want, packet)
					if got != old && got != new && !(tight && got == firstOf(stay, packet)) {
						t.Fatalf("%s to %s: at write %d of %d there is %s, and a packet of set %b sees %s", have, want, n, len(writes), seen, packet, got)
					}
				}
			})
		}
	}
	if full == 0 {
		t.Error("no table was ever full")
	}
}

const alphabet = "abcdefg"

// firstOf is the first of some rules that match a packet: those whose bit is set in its number.
func firstOf(rules string, packet int) string {
	for _, c := range rules {
		if i := strings.IndexRune(alphabet, unicode.ToLower(c)); i >= 0 && packet>>i&1 == 1 {
			return string(c)
		}
	}
	return "."
}

func randomLetters(random *rand.Rand, most int) string {
	letters := []rune(alphabet)
	random.Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
	if random.IntN(2) == 0 {
		slices.Sort(letters)
	}
	for i := range letters {
		if random.IntN(3) == 0 {
			letters[i] = unicode.ToUpper(letters[i])
		}
	}
	return string(letters[:random.IntN(min(most, len(letters))+1)])
}

// TestMostInOrder holds the longest subsequence against one found by comparing all pairs.
func TestMostInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		var cells []*cell
		best := 0
		lengths := map[*cell]int{}
		for _, rank := range random.Perm(random.IntN(20)) {
			c := &cell{rank: rank}
			lengths[c] = 1
			for _, other := range cells {
				if other.rank < rank {
					lengths[c] = max(lengths[c], lengths[other]+1)
				}
			}
			best = max(best, lengths[c])
			cells = append(cells, c)
		}
		order := mostInOrder(cells)
		if len(order) != best {
			t.Fatalf("%d of %d, want %d", len(order), len(cells), best)
		}
		slices.Reverse(order)
		for i, c := range order {
			if i > 0 && (c.rank < order[i-1].rank || slices.Index(cells, c) < slices.Index(cells, order[i-1])) {
				t.Fatalf("not in order: %v", order)
			}
		}
	}
}
