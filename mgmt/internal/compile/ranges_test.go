// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// takes is how many rows of a rule table take a packet of TCP over IPv4 with such ports.
func (r *rig) takes(c transport.Chip, table regs.Table, sport, dport int) (rows int) {
	f := regs.FlowRow
	key := make([]uint32, 10)
	f.SrcPort.Put(key, uint64(sport))
	f.DstPort.Put(key, uint64(dport))
	f.Protocol.Put(key, 6)
	f.Version.Put(key, 4)
	f.Upper.Put(key, regs.UpperPorts)
	for _, row := range r.Fake.Table(c, table) {
		if fakebox.Matches(row, key) {
			rows++
		}
	}
	return rows
}

// TestRangeRows: the rows of a policy take just the packets of both ranges, each once, in
// either chip.
func TestRangeRows(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	port := func() int { return random.IntN(1 << (1 + random.IntN(16))) }
	for range 40 {
		a, b, c, d := port(), port(), port(), port()
		sport, dport := [2]int{min(a, b), max(a, b)}, [2]int{min(c, d), max(c, d)}
		r := newRig(t, testbox.WithRules(1024))
		words := fmt.Sprintf("proto tcp sport %d-%d dport %d-%d", sport[0], sport[1], dport[0], dport[1])
		r.Quiet("xfrm policy add " + words + " dir out priority 9 action punt\nxfrm policy add " + words + " dir in priority 9 action punt")
		around := func(ends [2]int) (ports []int) {
			for _, p := range []int{0, ends[0] - 1, ends[0], ends[0] + 1, (ends[0] + ends[1]) / 2, ends[1] - 1, ends[1], ends[1] + 1, 65535, port()} {
				ports = append(ports, min(max(p, 0), 65535))
			}
			return ports
		}
		for _, s := range around(sport) {
			for _, d := range around(dport) {
				want := 0
				if sport[0] <= s && s <= sport[1] && dport[0] <= d && d <= dport[1] {
					want = 1
				}
				inner, outer := r.takes(transport.Inner, regs.InnerTableRule, s, d), r.takes(transport.Outer, regs.OuterTableRule, s, d)
				if inner != want || outer != want {
					t.Fatalf("%s: ports %d and %d are in %d and %d rows, want %d", words, s, d, inner, outer, want)
				}
			}
		}
	}
}

// TestRangeIsOnePolicy: it is listed, changed and deleted as one, and its rows stand together in
// their order.
func TestRangeIsOnePolicy(t *testing.T) {
	r := newRig(t, fakebox.Small)
	rows := func() string { return r.Rules(transport.Inner, regs.InnerTableRule) }
	r.Quiet("xfrm policy add proto tcp dport 1-6 dir out priority 5 action punt\nxfrm policy add proto tcp dport 4-5 dir out priority 5 action block\nxfrm policy add dir out priority 1 action block")
	r.Want("rules", rows(), "0:discard/0/1 1:punt/0/5 2:punt/0/5 3:punt/0/5 4:punt/0/5 5:discard/0/5")
	if flows := len(r.Fake.Table(transport.Inner, regs.InnerTableFlow)); flows != 0 {
		t.Errorf("%d flows", flows)
	}
	var firsts []uint64
	for _, row := range r.Fake.Table(transport.Inner, regs.InnerTableRule) {
		firsts = append(firsts, regs.RuleRow.DstPort.Get(row)<<16|regs.RuleRow.DstPortMask.Get(row))
	}
	slices.Sort(firsts)
	if want := []uint64{0, 1<<16 | 0xFFFF, 2<<16 | 0xFFFE, 4<<16 | 0xFFFE, 4<<16 | 0xFFFE, 6<<16 | 0xFFFF}; !slices.Equal(firsts, want) {
		t.Errorf("values and masks are %x", firsts)
	}
	r.Quiet("xfrm policy count\nxfrm policy list proto tcp")
	if !strings.Contains(r.Out, "OUT 3") || strings.Count(r.Out, "proto tcp dport 1-6 \n") != 1 {
		t.Errorf("lists say %s", r.Out)
	}
	r.Quiet("xfrm policy get proto tcp dport 1-6 dir out")
	if strings.Count(r.Out, "dport") != 1 {
		t.Errorf("get says %s", r.Out)
	}
	r.Quiet("xfrm policy list proto tcp dport 2-5")
	if strings.Count(r.Out, "dport") != 1 || !strings.Contains(r.Out, "dport 4-5") {
		t.Errorf("a list of a range says %s", r.Out)
	}
	// A result alone changes in its rows; an order moves all of them.
	r.Quiet("xfrm policy update proto tcp dport 1-6 dir out priority 5 action block")
	r.Want("updated", rows(), "0:discard/0/1 1:discard/0/5 2:discard/0/5 3:discard/0/5 4:discard/0/5 5:discard/0/5")
	if writes := r.Fake.LogOf(regs.InnerTableRule); len(writes) != 4 {
		t.Errorf("the update wrote %d rows", len(writes))
	}
	r.Quiet("xfrm policy update proto tcp dport 1-6 dir out priority 9 action punt")
	if got := strings.Join(strings.Fields(rows())[2:], ""); strings.Count(got, "punt/0/9") != 4 || strings.Contains(got, "discard") {
		t.Errorf("moved: %s", rows())
	}
	for _, line := range []string{"xfrm policy add proto tcp dport 1-6 dir out", "xfrm policy delete proto tcp dport 1-5 dir out", "xfrm policy delete proto tcp dport 1 dir out"} {
		if err := r.Run(line); err == nil || !session.IsInput(err) {
			t.Errorf("%s gave %v", line, err)
		}
	}
	r.Quiet("xfrm policy delete proto tcp dport 1-6 dir out\nxfrm policy delete proto tcp dport 4-5 dir out")
	r.Want("deleted", rows(), "0:discard/0/1")
}

// TestRangeForInAndFwd: the same range for both is one rule.
func TestRangeForInAndFwd(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet("xfrm policy add src ::/0 proto ipv6-icmp type 1-4 dir in action punt\nxfrm policy add src ::/0 proto ipv6-icmp type 1-4 dir fwd action punt")
	r.Want("outer", r.Rules(transport.Outer, regs.OuterTableRule), "0:punt/0/0 1:punt/0/0 2:punt/0/0")
	f := regs.RuleRow
	for index, want := range [][3]uint64{{1, 0xFFFF, 2}, {2, 0xFFFE, 2}, {4, 0xFFFF, 2}} {
		row := r.Fake.Table(transport.Outer, regs.OuterTableRule)[index]
		if got := [3]uint64{f.SrcPort.Get(row), f.SrcPortMask.Get(row), f.Upper.Get(row)}; got != want || f.DstPortMask.Get(row) != 0 {
			t.Errorf("row %d has %x, want %x", index, got, want)
		}
	}
}

// TestFullOfRanges: a policy whose rows do not all fit is refused with how many it needs and how
// many there are, and the rest stays.
func TestFullOfRanges(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet("xfrm policy add dst 10.0.0.0/8 dir out priority 5 action block\nxfrm policy add proto tcp dport 1-6 dir out priority 6 action punt")
	for _, test := range []struct{ text, reason string }{
		{"xfrm policy add proto udp dport 1-65534 dir out priority 1 action block",
			"f:1: no room for the policy src 0.0.0.0/0 dst 0.0.0.0/0 proto udp dport 1-65534: it needs 30 of the 32 rules of the inner chip, and 27 are free"},
		{"xfrm policy add proto udp sport 1-65534 dport 1-65534 dir out priority 9 action block", "it needs 900 of the 32 rules of the inner chip, and 27 are free"},
		{"xfrm policy add proto udp dport 1-6 dir out action block\nxfrm policy add proto udp dport 7-65534 dir out action block", "f:2: no room for the policy src 0.0.0.0/0 dst 0.0.0.0/0 proto udp dport 7-65534: it needs 28 of the 32 rules of the inner chip, and 23 are free"},
		{"xfrm policy add proto udp dport 1-65534 dir in action block\nxfrm policy add proto udp dport 3-12 dir in action block", "f:2: no room for the policy src 0.0.0.0/0 dst 0.0.0.0/0 proto udp dport 3-12: it needs 4 of the 32 rules of the outer chip, and 2 are free"},
	} {
		before, state, writes := r.Snapshot(), testbox.ReadFile(t, r.State), r.Fake.Writes
		err := r.Run(test.text)
		if err == nil || !strings.Contains(err.Error(), test.reason) || !session.IsInput(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n gave %v\n want %s", test.text, err, test.reason)
		}
		if r.Snapshot() != before || testbox.ReadFile(t, r.State) != state || r.Fake.Writes != writes {
			t.Errorf("%s: something was written", test.text)
		}
	}
	// 13 blocks up to 16383, and 14 from there: as many as are free.
	r.Quiet("xfrm policy add proto udp dport 2-32766 dir out priority 1 action block")
	if rows := len(r.Fake.Table(transport.Inner, regs.InnerTableRule)); rows != 32 {
		t.Errorf("%d rows", rows)
	}
}

// TestRangesOfSAs: what an SA's sel and its policy's selector say of ports is held against each
// other as ranges.
func TestRangesOfSAs(t *testing.T) {
	in := func(sel, policy string) string {
		return "addr add 192.0.2.1/24 dev black\n" + testbox.WindowedState("add", 1, 64, "sel "+sel) + inPolicy(policy)
	}
	r := newRig(t, fakebox.Small)
	r.Quiet(in("proto tcp dport 80-443", "proto tcp dport 1-1023"))
	row := r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0]
	if f := regs.SelectorRow; f.DstPort.Get(row) != 80 || f.DstPortLast.Get(row) != 443 {
		t.Errorf("the selector row takes ports %d to %d", f.DstPort.Get(row), f.DstPortLast.Get(row))
	}
	for text, reason := range map[string]string{
		in("proto tcp dport 80-443", "proto tcp dport 100-500"): "do not contain one another",
		"xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x79 mode tunnel dir out sel proto tcp dport 80-443 aead 'rfc4106(gcm(aes))' " + testbox.Key128 +
			" 128\nxfrm policy add proto tcp dport 80-444 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode tunnel": "wider than the sel",
	} {
		if err := newRig(t, fakebox.Small).Run(text); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("gave %v, want %s", err, reason)
		}
	}
}
