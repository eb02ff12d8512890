// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/xfrm"
)

// apply carries a batch out on a model, and settles it.
func apply(t *testing.T, m *model.Model, text string) {
	t.Helper()
	commands, err := xfrm.ParseBatch("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range commands {
		if _, err := m.Apply(command, model.Listing{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Direct(&model.Report{}); err != nil {
		t.Fatal(err)
	}
	for _, sa := range m.Changes.Added() {
		sa.Row = int(sa.SPI)
	}
	m.Settle()
}

// told is all that a model says of itself.
func told(t *testing.T, m *model.Model) string {
	t.Helper()
	var out strings.Builder
	for sa := range m.SAs.All() {
		text, err := m.DescribeSA(sa, nil)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&out, "%d %s", sa.Row, text)
	}
	for p := range m.Policies.All() {
		text, err := m.DescribePolicy(p, nil)
		if err != nil {
			t.Error(err)
		}
		out.WriteString(text)
	}
	for _, dir := range []xfrm.Dir{xfrm.DirIn, xfrm.DirOut, xfrm.DirFwd} {
		fmt.Fprintln(&out, m.SAs.Count(dir), m.Policies.Count(dir))
	}
	return out.String()
}

// TestCopies: while copies change, one after the other, those who read what they were made of find
// it as it was.
func TestCopies(t *testing.T) {
	const tunnels = 200
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	m := model.NewModel()
	line := func(i int) string { return testbox.State(i, "out") + testbox.State(i, "in") + testbox.FlowPolicy(i) }
	has := make([]bool, tunnels)
	var readers sync.WaitGroup
	for range 30 {
		before := told(t, m)
		readers.Add(1)
		go func(m *model.Model) {
			defer readers.Done()
			for range 3 {
				if told(t, m) != before {
					t.Errorf("seed %d: a model was changed by what was made of it", seed)
				}
			}
		}(m)
		m = m.Begin()
		var text strings.Builder
		for range 10 {
			i := random.IntN(tunnels)
			if has[i] = !has[i]; has[i] {
				text.WriteString(line(i))
				continue
			}
			fmt.Fprintf(&text, "xfrm state delete dst 192.0.2.2 proto esp spi %d\nxfrm state delete dst 192.0.2.1 proto esp spi %d\n", 0x1000+i, 0x1000+i)
			text.WriteString(strings.Split(strings.Replace(testbox.FlowPolicy(i), "add", "delete", 1), " tmpl")[0] + "\n")
		}
		apply(t, m, text.String())
	}
	readers.Wait()
	want := 0
	for i := range has {
		if has[i] {
			want++
		}
	}
	if m.SAs.Len() != 2*want || m.Policies.Len() != want || m.SAs.Count(xfrm.DirIn) != want {
		t.Errorf("seed %d: %d SAs and %d policies of %d tunnels", seed, m.SAs.Len(), m.Policies.Len(), want)
	}
}

// TestOverlapping finds the same policies as a search of all does.
func TestOverlapping(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	prefix := func() string {
		address := netip.AddrFrom4([4]byte{10, byte(random.IntN(3)), byte(random.IntN(3)), byte(random.IntN(3))})
		return netip.PrefixFrom(address, 8*random.IntN(5)).Masked().String()
	}
	side := func() string {
		if random.IntN(8) == 0 {
			return fmt.Sprintf("10.1.0.%d-10.1.1.%d", random.IntN(5), random.IntN(5))
		}
		return prefix()
	}
	m := model.NewModel()
	var text strings.Builder
	seen := map[string]bool{}
	for range 300 {
		sel := fmt.Sprintf("src %s dst %s dir %s", side(), side(), []string{"in", "fwd"}[random.IntN(2)])
		command, err := xfrm.ParseBatch("f", []byte("xfrm policy add "+sel+" action block\n"))
		if err != nil {
			t.Fatal(err)
		}
		if p := command[0].(xfrm.PolicyAdd).Policy; !seen[p.Selector.String()+string(p.Dir)] {
			seen[p.Selector.String()+string(p.Dir)] = true
			text.WriteString("xfrm policy add " + sel + " action block\n")
		}
	}
	apply(t, m, text.String())
	for p := range m.Policies.All() {
		var want, got []uint64
		for q := range m.Policies.All() {
			if q.Overlaps(p.Selector) {
				want = append(want, q.At())
			}
		}
		m.Policies.Overlapping(p.Selector, func(q *model.Policy) bool {
			got = append(got, q.At())
			return true
		})
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %s overlaps %v, want %v", seed, p.Selector, got, want)
		}
	}
}
