// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// checkBlocks holds the blocks of a range against their definition: every number of it is in one
// and no other in any, each fixes its leading bits alone, and there are as few as a trie has: the
// blocks in the range whose parents are not.
func checkBlocks(t *testing.T, first, last uint16) {
	t.Helper()
	blocks := Range{true, first, last}.Blocks()
	next := int(first)
	for _, b := range blocks {
		size := int(b.Last) - int(b.First) + 1
		if !b.Given || int(b.First) != next || size < 1 || size&(size-1) != 0 || int(b.First)%size != 0 {
			t.Fatalf("%d-%d: %v is no block, or does not follow the one before", first, last, b)
		}
		next += size
	}
	if next != int(last)+1 {
		t.Fatalf("%d-%d: the blocks end at %d", first, last, next-1)
	}
	inside := func(start, size int) bool { return int(first) <= start && start+size-1 <= int(last) }
	fewest := 0
	for size := 1; size <= 1<<16; size *= 2 {
		for start := int(first) / size * size; start <= int(last); start += size {
			if inside(start, size) && (size == 1<<16 || !inside(start/(2*size)*2*size, 2*size)) {
				fewest++
			}
		}
	}
	if len(blocks) != fewest || fewest > 30 {
		t.Fatalf("%d-%d: %d blocks, but %d are enough", first, last, len(blocks), fewest)
	}
}

func TestBlocks(t *testing.T) {
	for first := range uint16(64) {
		for last := first; last < 64; last++ {
			checkBlocks(t, first, last)
			checkBlocks(t, 65535-last, 65535-first)
		}
	}
	random := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		a, b := uint16(random.Uint32()), uint16(random.Uint32())
		checkBlocks(t, min(a, b), max(a, b))
	}
	for _, ends := range [][2]uint16{{0, 65535}, {1, 65535}, {0, 65534}, {1024, 65535}, {32767, 32768}, {65535, 65535}} {
		checkBlocks(t, ends[0], ends[1])
	}
	if n := len(Range{true, 1, 65534}.Blocks()); n != 30 {
		t.Errorf("the worst range has %d blocks", n)
	}
	if blocks := (Range{}).Blocks(); len(blocks) != 1 || blocks[0].Given {
		t.Errorf("any is %v", blocks)
	}
}

// TestRanges: ranges as they are written, meant, printed and stored.
func TestRanges(t *testing.T) {
	tcp := func(change func(s *Selector)) Selector {
		return sel("0.0.0.0/0", "0.0.0.0/0", func(s *Selector) {
			s.Proto = 6
			change(s)
		})
	}
	for _, test := range []struct {
		words string
		want  Selector
		text  string
	}{
		{"proto tcp sport 1024-65535 dport 80-443", tcp(func(s *Selector) { s.SPort, s.DPort = Range{true, 1024, 65535}, Range{true, 80, 443} }), "sport 1024-65535 dport 80-443"},
		{"proto tcp dport 0x10-020", tcp(func(s *Selector) { s.DPort = One(16) }), "dport 16"},
		{"proto tcp dport 0-1", tcp(func(s *Selector) { s.DPort = Range{true, 0, 1} }), "dport 0-1"},
		// One number is that number; port 0 alone is any, as in iproute2, but not the range of it.
		{"proto tcp dport 80-80", tcp(func(s *Selector) { s.DPort = One(80) }), "dport 80"},
		{"proto tcp dport 0-0 sport 0", tcp(func(s *Selector) { s.DPort = One(0) }), "dport 0-0"},
		{"proto tcp sport 0-65535 dport 0", tcp(func(*Selector) {}), ""},
		{"proto tcp sport 0-65534", tcp(func(s *Selector) { s.SPort = Range{true, 0, 65534} }), "sport 0-65534"},
	} {
		checkSelector(t, test.words, test.want, strings.TrimSpace("src 0.0.0.0/0 dst 0.0.0.0/0 proto tcp "+test.text))
	}
	checkSelector(t, "proto icmp type 3 code 0-4", sel("0.0.0.0/0", "0.0.0.0/0", func(s *Selector) { s.Proto, s.Type, s.Code = 1, One(3), Range{true, 0, 4} }),
		"src 0.0.0.0/0 dst 0.0.0.0/0 proto icmp type 3 code 0-4")
	checkSelector(t, "src ::/0 proto ipv6-icmp type 1-4 code 0-255", sel("::/0", "::/0", func(s *Selector) { s.Proto, s.Type = 58, Range{true, 1, 4} }),
		"src ::/0 dst ::/0 proto ipv6-icmp type 1-4")
	for words, types := range map[string]Range{"proto 135 type 1-4": {true, 1, 4}, "proto mobility-header type 5": One(5), "proto 135 type 0": One(0), "proto 135 type 0-255": {}} {
		text := "src ::/0 dst ::/0 proto 135"
		if types.Given {
			text += " type " + types.text(false)
		}
		checkSelector(t, "src ::/0 "+words, sel("::/0", "::/0", func(s *Selector) { s.Proto, s.Type = 135, types }), text)
	}
}

func checkSelector(t *testing.T, words string, want Selector, text string) {
	t.Helper()
	policy := parseOne(t, "xfrm policy add "+words+" dir out").(PolicyAdd).Policy
	state := parseOne(t, "xfrm state add "+sa+"mode tunnel sel "+words+" "+gcm).(StateAdd).State
	if policy.Selector != want || *state.Sel != want {
		t.Errorf("%s\n policy %+v\n state %+v\n want %+v", words, policy.Selector, *state.Sel, want)
	}
	if got := want.String(); got != text {
		t.Errorf("%s prints as %q, want %q", words, got, text)
	}
	stored, err := json.Marshal(want)
	var again Selector
	if err != nil || json.Unmarshal(stored, &again) != nil || again != want {
		t.Errorf("%s comes back from %s as %+v", words, stored, again)
	}
}
