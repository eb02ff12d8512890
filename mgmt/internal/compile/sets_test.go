// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

// setPolicy is a policy of the inbound SAs of ends6, or of the SAs of another reqid.
func setPolicy(verb, words string, reqid int) string {
	return "xfrm policy " + verb + " " + words + " dir in" + strings.Replace(testbox.InTmpl, "reqid 1", fmt.Sprintf("reqid %d", reqid), 1)
}

// secondIn is an inbound SA of reqid 2 between the same ends.
var secondIn = strings.NewReplacer("reqid 1", "reqid 2", "0x2001", "0x2002").Replace(ends6[strings.Index(ends6, "xfrm state add src 192.0.2.2"):])

// inboundRules lists the inbound rules of the inner chip as "row:action/group".
func (r *rig) inboundRules() string {
	var out []string
	for _, index := range slices.Sorted(maps.Keys(r.Fake.Table(transport.Inner, regs.InnerTableInboundRule))) {
		row := r.Fake.Table(transport.Inner, regs.InnerTableInboundRule)[index]
		out = append(out, fmt.Sprintf("%s/%d", regs.ActionNames[uint32(regs.RuleRow.Action.Get(row))], regs.RuleRow.Sa.Get(row)))
	}
	return strings.Join(out, " ")
}

// sa is how an inbound SA's row has its selectors: "one" or the group.
func (r *rig) selectedBy(row int) string {
	f, words := regs.SelectorRow, r.Fake.Table(transport.Inner, regs.InnerTableSelector)[row]
	switch {
	case words == nil:
		return "none"
	case f.ByRules.Get(words) == 1:
		return fmt.Sprintf("group %d", f.Group.Get(words))
	}
	return "one"
}

// TestSets: a second policy of an inbound SA makes rules of both; what one selector says, by
// policies one inside the other or of every address of either version, costs none.
func TestSets(t *testing.T) {
	r := newRig(t, fakebox.Small)
	step := func(text, row, rules string) {
		t.Helper()
		r.Quiet(text)
		r.Want(text+" row", r.selectedBy(0), row)
		r.Want(text+" rules", r.inboundRules(), rules)
	}
	step(ends6+setPolicy("add", "src 10.2.0.0/16 dst 10.1.0.0/16 priority 20", 1), "one", "")
	step(setPolicy("add", "src 10.2.5.0/24 dst 10.1.0.0/16 priority 10", 1), "one", "")
	step(setPolicy("add", "src 10.3.0.0/16 dst 10.1.0.0/16 priority 30", 1), "group 0", "protect/0 protect/0 protect/0")
	if row := r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0]; regs.SelectorRow.WindowKeep.Get(row) != 1 || regs.SelectorRow.WindowSize.Get(row) != 64 {
		t.Errorf("the row says of the window %x", row)
	}
	rules, rows := r.Fake.LogOf(regs.InnerTableInboundRule), r.Fake.LogOf(regs.InnerTableSelector)
	if len(rules) != 3 || len(rows) != 1 || r.Fake.Log[len(r.Fake.Log)-1].Table != regs.InnerTableSelector.Name {
		t.Errorf("%d rules and %d rows were written, the row not last", len(rules), len(rows))
	}
	// As strongSwan does: the same for fwd.
	step(strings.ReplaceAll(setPolicy("add", "src 10.3.0.0/16 dst 10.1.0.0/16 priority 30", 1), "dir in", "dir fwd"), "group 0", "protect/0 protect/0 protect/0")
	step("xfrm policy delete src 10.3.0.0/16 dst 10.1.0.0/16 dir fwd\nxfrm policy delete src 10.3.0.0/16 dst 10.1.0.0/16 dir in", "one", "")
	step("xfrm policy flush\n"+setPolicy("add", "dst 0.0.0.0/0", 1)+setPolicy("add", "dst ::/0", 1), "one", "")
	step("xfrm policy flush\n"+setPolicy("add", "dst 10.0.0.0/8", 1)+setPolicy("add", "dst ::/0", 1), "group 0", "protect/0 protect/0")
	step("xfrm state flush\nxfrm policy flush", "none", "")
}

// TestSetsInOrder: a block, and a policy of another SA, that come before a set are rules before it;
// those that come behind are none.
func TestSetsInOrder(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(ends6 + secondIn + setPolicy("add", "src 10.2.0.0/16 priority 50", 1) + setPolicy("add", "src 10.2.7.0/24 priority 60", 2) +
		"xfrm policy add src 10.2.0.0/17 dir in priority 70 action block")
	r.Want("a block behind both, and the first SA's policy before the second's", r.selectedBy(0)+" "+r.selectedBy(1)+" "+r.inboundRules(), "one group 0 discard/0 protect/0")
	r.Quiet("xfrm policy update src 10.2.0.0/17 dir in priority 40 action block")
	r.Want("a block before both", r.selectedBy(0)+", "+r.selectedBy(1)+", "+r.inboundRules(), "group 1, group 0, discard/0 protect/1 protect/0")
	// The rule of the first SA keeps its number until the SA's row is written, and is DISCARD then.
	r.Quiet("xfrm policy delete src 10.2.0.0/17 dir in\n" + setPolicy("add", "src 10.9.0.0/16", 2))
	r.Want("another SA's policy before both sets", r.selectedBy(0)+", "+r.selectedBy(1)+", "+r.inboundRules(), "one, group 0, protect/0 discard/0 protect/0")
	r.Quiet("xfrm policy add src 10.2.7.1 dst 10.1.0.1 dir in priority 1 action punt\nxfrm policy add src 10.6.0.0/16 dir in priority 1 action punt")
	r.Want("a punt before a set", r.inboundRules(), "protect/0 discard/0 protect/1 protect/0")
}

// TestRekeyedSets: SAs of the same policies, a rekeyed one among them, share their rules, which are
// not written again.
func TestRekeyedSets(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(ends6 + setPolicy("add", "src 10.2.0.0/16 priority 20", 1) + setPolicy("add", "src 10.3.0.0/16 priority 30", 1))
	fresh := strings.NewReplacer("0x2001", "0x2009").Replace(ends6[strings.Index(ends6, "xfrm state add src 192.0.2.2"):])
	r.Quiet(fresh)
	r.Want("both", r.selectedBy(0)+", "+r.selectedBy(1)+", "+r.inboundRules(), "group 0, group 0, protect/0 protect/0")
	if got := len(r.Fake.LogOf(regs.InnerTableInboundRule)); got != 0 {
		t.Errorf("%d rules are written", got)
	}
	// No packet meets the new SA before its selectors are there.
	if last := r.Fake.Log[len(r.Fake.Log)-1]; last.Table != regs.OuterTableSad.Name {
		t.Errorf("the SAD row is not last: %s", last.Table)
	}
	r.Quiet("xfrm state delete dst 192.0.2.1 proto esp spi 0x2001")
	r.Want("the new one", r.selectedBy(0)+", "+r.selectedBy(1)+", "+r.inboundRules(), "none, group 0, protect/0 protect/0")
	if got := len(r.Fake.LogOf(regs.InnerTableInboundRule)); got != 0 {
		t.Errorf("%d rules are written", got)
	}
}

// TestSharedSet: one policy is not of two different lists of sets; the sentence says how to tell
// them apart.
func TestSharedSet(t *testing.T) {
	r := newRig(t, fakebox.Small)
	both := strings.Replace(setPolicy("add", "src 10.2.0.0/16", 1), "reqid 1 ", "", 1)
	r.Quiet(ends6 + secondIn + both + setPolicy("add", "src 10.3.0.0/16", 1))
	r.Want("one of them", r.selectedBy(0)+", "+r.selectedBy(1), "group 0, one")
	before, writes := r.Snapshot(), r.Fake.Writes
	err := r.Run(setPolicy("add", "src 10.4.0.0/16", 2))
	if err == nil || !session.IsInput(err) || !strings.Contains(err.Error(), "the inbound SAs spi 0x2001 and 0x2002 share the policy src 10.2.0.0/16 dst 0.0.0.0/0") || strings.Contains(err.Error(), "\n") {
		t.Errorf("gave %v", err)
	}
	if r.Snapshot() != before || r.Fake.Writes != writes {
		t.Error("something was written")
	}
}

// TestSetsOfHosts: in transport mode each SA has its hosts' share of the policies.
func TestSetsOfHosts(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet(testbox.Bridged + testbox.HostSA("10.2.0.1", "10.1.0.1", 0x2001, 1, "dir in") + testbox.HostSA("10.2.0.2", "10.1.0.1", 0x2002, 1, "dir in") +
		"xfrm policy add src 10.2.0.0/24 proto tcp dir in" + testbox.AnyTmpl + "xfrm policy add src 10.2.0.0/24 proto udp dir in" + testbox.AnyTmpl)
	r.Want("two SAs", r.selectedBy(0)+", "+r.selectedBy(1)+", "+r.inboundRules(), "group 0, group 1, protect/0 protect/1 protect/0 protect/1")
}

// TestSelOfSets: the SA's own selector leaves out policies that it does not overlap, and a selector
// that cuts across a policy is refused.
func TestSelOfSets(t *testing.T) {
	r := newRig(t, fakebox.Small)
	sel := func(words string) string { return strings.Replace(ends6, "spi 0x2001", "spi 0x2001 sel "+words, 1) }
	policies := setPolicy("add", "dst 10.1.0.0/16", 1) + setPolicy("add", "dst 10.2.0.0/16", 1) + setPolicy("add", "dst ::/0", 1)
	r.Quiet(sel("dst 10.1.5.0/24") + policies)
	r.Want("one", r.selectedBy(0)+" "+r.inboundRules(), "one ")
	if row := r.Fake.Table(transport.Inner, regs.InnerTableSelector)[0]; regs.SelectorRow.DstPrefix.Get(row) != 120 {
		t.Errorf("the selector has %d bits", regs.SelectorRow.DstPrefix.Get(row))
	}
	r = newRig(t, fakebox.Small)
	r.Quiet(sel("dst 10.0.0.0/8") + policies)
	r.Want("two", r.selectedBy(0)+" "+r.inboundRules(), "group 0 protect/0 protect/0")
	err := newRig(t, fakebox.Small).Run(sel("src 10.3.0.0/16 proto udp") + policies)
	if err == nil || !session.IsInput(err) || !strings.Contains(err.Error(), "do not contain one another") {
		t.Errorf("gave %v", err)
	}
}

// TestHopOfSets: an SA has one next hop; sets that want several get the default one, and a warning.
func TestHopOfSets(t *testing.T) {
	r := newRig(t, fakebox.Small)
	routes := "neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev red\nroute add 10.5.0.0/16 via 10.1.0.9 dev red\nroute add 10.6.0.0/16 via 10.1.0.10 dev red\n"
	r.Quiet(ends6 + routes + setPolicy("add", "dst 10.5.0.0/17", 1) + setPolicy("add", "dst 10.5.128.0/17 proto udp", 1))
	if hop := r.hop(transport.Inner, regs.InnerTableNextHop, r.selectorHop()); hop != 9 {
		t.Errorf("what is decrypted goes to %x", hop)
	}
	// one station by two names
	r.Quiet("neigh add 10.1.0.10 lladdr 02:00:00:00:00:09 dev red\n" + setPolicy("add", "dst 10.6.0.0/16", 1))
	if hop := r.hop(transport.Inner, regs.InnerTableNextHop, r.selectorHop()); hop != 9 {
		t.Errorf("what is decrypted goes to %x", hop)
	}
	r.Must("neigh replace 10.1.0.10 lladdr 02:00:00:00:00:10 dev red")
	if !strings.Contains(r.Notes, "the selector sets of the inbound SA spi 0x2001 have different next hops on red") || r.selectorHop() != 0 {
		t.Errorf("notes %q, hop %d", r.Notes, r.selectorHop())
	}
}

// TestSetsUnderTraffic changes policies of three SAs, policies that let clear packets in and blocks
// at random. Take a packet that the same SA's SPD entry, or one for clear packets, decides before
// and after a change. If an SA may carry it before and after, or it may come in clear, it may at
// each moment; if neither before nor after, it never may. The SPD says which packets an SA may
// carry: those that the first policy gives it. An SA whose policies are one selector that no block
// cuts may carry all packets of its policies.
func TestSetsUnderTraffic(t *testing.T) {
	const peers, clearOwner = 3, 4
	sizes := testbox.WithRules(256)
	r := newRig(t, sizes)
	text := ""
	for i := range peers {
		text += testbox.State(i, "in")
	}
	r.Must(text)
	random := rand.New(rand.NewPCG(7, 7))
	type policy struct {
		src             netip.Prefix
		proto           byte
		first, last     int
		priority, owner int // owner 0 is none: a block; clearOwner is none, in clear
	}
	var packets []compile.Row
	type packet struct {
		src   netip.Addr
		proto byte
		port  int
	}
	var all []packet
	for n := range 16 {
		p := packet{netip.AddrFrom4([4]byte{10, byte(n%4) << 6, 1, 1}), []byte{6, 17}[n/4%2], []int{5, 80}[n/8]}
		key := make([]uint32, 10)
		f := regs.FlowRow
		f.SrcAddr.PutBytes(key, testbox.IpBytes(p.src.String(), 16))
		f.DstPort.Put(key, uint64(p.port))
		f.Protocol.Put(key, uint64(p.proto))
		f.Version.Put(key, 4)
		f.Upper.Put(key, regs.UpperPorts)
		all, packets = append(all, p), append(packets, key)
	}
	holds := func(p policy, x packet) bool {
		return p.src.Contains(x.src) && (p.proto == 0 || p.proto == x.proto && p.first <= x.port && x.port <= p.last)
	}
	rules, rows := fakebox.Ternary{}, map[int][]uint32{}
	maps.Copy(rows, r.Fake.Table(transport.Inner, regs.InnerTableSelector))
	allows := func(sa int, key compile.Row) bool {
		f, row := regs.SelectorRow, rows[sa]
		switch {
		case sa+1 == clearOwner:
			rule := rules.First(func(row []uint32) bool { return fakebox.Matches(row, key) })
			return rule != nil && regs.RuleRow.Action.Get(rule) == regs.ActionBypass
		case row == nil:
			return false
		case f.ByRules.Get(row) == 1:
			rule := rules.First(func(row []uint32) bool { return fakebox.Matches(row, key) })
			return rule != nil && regs.RuleRow.Action.Get(rule) == regs.ActionProtect && regs.RuleRow.Sa.Get(rule) == f.Group.Get(row)
		}
		for bit := range 128 {
			word, mask := f.SrcAddr.LSB+127-bit, uint32(1)<<((127-bit)%32)
			if bit < int(f.SrcPrefix.Get(row)) && (row[word/32]^key[word/32])&mask != 0 {
				return false
			}
		}
		port := regs.FlowRow.DstPort.Get(key)
		return (regs.FlowRow.Protocol.Get(key)^f.Protocol.Get(row))&f.ProtocolMask.Get(row) == 0 && f.DstPort.Get(row) <= port && port <= f.DstPortLast.Get(row)
	}
	decide := func(ordered []policy, x packet) int {
		if i := slices.IndexFunc(ordered, func(p policy) bool { return holds(p, x) }); i >= 0 {
			return ordered[i].owner
		}
		return -1
	}
	var spd, old []policy
	grouped := 0
	for round := range 300 {
		batch := ""
		for range 1 + random.IntN(3) {
			p := policy{
				src: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(random.IntN(4)) << 6}), 8+random.IntN(3)).Masked(),
				// The owner and the protocol are by the network, for a policy that goes from one SA
				// to another is a change of both.
				priority: random.IntN(3), last: 65535,
			}
			p.owner = int(p.src.Addr().As4()[1]>>6+byte(p.src.Bits())) % (clearOwner + 1)
			if p.proto = []byte{0, 17}[random.IntN(2)]; p.proto == 17 && p.owner > 1 {
				p.last = 79
			}
			words := "src " + p.src.String()
			if p.proto == 17 {
				words += fmt.Sprintf(" proto udp dport 0-%d", p.last)
			}
			at := slices.IndexFunc(spd, func(q policy) bool { return q.src == p.src && q.proto == p.proto })
			verb := "add"
			if at >= 0 {
				p.priority = spd[at].priority
				spd = slices.Delete(spd, at, at+1)
				batch += "xfrm policy delete " + words + " dir in\n"
				continue
			}
			spd = append(spd, p)
			switch p.owner {
			case 0:
				batch += fmt.Sprintf("xfrm policy %s %s dir in priority %d action block\n", verb, words, p.priority)
			case clearOwner:
				batch += fmt.Sprintf("xfrm policy %s %s dir in priority %d action allow\n", verb, words, p.priority)
			default:
				batch += fmt.Sprintf("xfrm policy %s %s dir in priority %d tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid %d mode tunnel\n", verb, words, p.priority, p.owner)
			}
		}
		before := make([][]bool, clearOwner)
		for sa := range clearOwner {
			for _, key := range packets {
				before[sa] = append(before[sa], allows(sa, key))
			}
		}
		r.Must(batch)
		type moment struct{ seen [clearOwner][]bool }
		var moments []moment
		look := func() {
			var m moment
			for sa := range clearOwner {
				for _, key := range packets {
					m.seen[sa] = append(m.seen[sa], allows(sa, key))
				}
			}
			moments = append(moments, m)
		}
		for _, w := range r.Fake.Log {
			switch w.Table {
			case regs.InnerTableInboundRule.Name:
				rules.Write(w.Index, w.Words, look)
			case regs.InnerTableSelector.Name:
				if rows[w.Index] = w.Words; regs.SelectorRow.Valid.Get(w.Words) == 0 {
					rows[w.Index] = nil
				}
			}
			look()
		}
		ordered := slices.Clone(spd)
		slices.SortStableFunc(ordered, func(a, b policy) int { return a.priority - b.priority })
		for sa := range clearOwner {
			byRules := rows[sa] != nil && regs.SelectorRow.ByRules.Get(rows[sa]) == 1
			if byRules {
				grouped++
			}
			for n, x := range all {
				first := decide(ordered, x)
				want := first == sa+1
				if got := allows(sa, packets[n]); got != want {
					t.Fatalf("round %d: SA %d, by rules %t, has %v: %t, want %t\n%v", round, sa, byRules, x, got, want, ordered)
				}
				for at, m := range moments {
					if m.seen[sa][n] != want && before[sa][n] == want && decide(old, x) == first {
						t.Fatalf("round %d: SA %d loses or gains %v for a moment, %d of %d\n%s%v", round, sa, x, at, len(moments), batch, ordered)
					}
				}
			}
		}
		old = ordered
	}
	if grouped < 100 || grouped > 800 {
		t.Errorf("%d of 900 times an SA had rules: the test needs both kinds", grouped)
	}
}

// TestOneSetInOrder: what an earlier policy gives to another SA, lets pass in clear, punts or has
// no SA for is not let in by an SA of one wider set; an SA whose set meets nothing earlier costs no
// rule. Where the rules do not fit, the batch is refused.
func TestOneSetInOrder(t *testing.T) {
	r := newRig(t, testbox.WithRules(8))
	r.Must(ends6 + secondIn + setPolicy("add", "src 10.0.0.0/8 priority 50", 1) + setPolicy("add", "src 10.2.7.0/24 priority 40", 2))
	r.Want("another SA's", r.selectedBy(0)+", "+r.selectedBy(1)+", "+r.inboundRules(), "group 0, one, discard/0 protect/0")
	for words, rule := range map[string]string{"action allow": "bypass", "action punt": "discard", "tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 9 mode tunnel": "discard"} {
		r.Must("xfrm policy update src 10.2.7.0/24 dir in priority 40 " + words)
		r.Want(words, r.selectedBy(0)+", "+r.inboundRules(), "group 0, "+rule+"/0 protect/0")
	}
	r.Must("xfrm policy update src 10.2.7.0/24 dir in priority 60 action punt")
	r.Want("a later one", r.selectedBy(0)+", "+r.inboundRules(), "one, ")
	before := r.Snapshot()
	err := r.Run("xfrm policy add src 10.3.0.0/16 proto tcp dport 1-65534 dir in priority 10 tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 2 mode tunnel")
	if err == nil || !session.IsInput(err) || !strings.Contains(err.Error(), "inbound rules") || r.Snapshot() != before {
		t.Errorf("gave %v", err)
	}
}
