// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
)

const pool = "src 10.0.0.1-10.0.0.6,10.1.0.0/16 "

// between is how many rows of a rule table take a packet between two hosts.
func (r *rig) between(c transport.Chip, table regs.Table, src, dst netip.Addr) (rows int) {
	f := regs.FlowRow
	key := make([]uint32, 10)
	f.SrcAddr.PutBytes(key, testbox.IpBytes(src.String(), 16))
	f.DstAddr.PutBytes(key, testbox.IpBytes(dst.String(), 16))
	f.Version.Put(key, 4)
	if src.Is6() {
		f.Version.Put(key, 6)
	}
	for _, row := range r.Fake.Table(c, table) {
		if fakebox.Matches(row, key) {
			rows++
		}
	}
	return rows
}

// TestListRows: the rows of a policy take just the packets between the addresses of both lists,
// each once, in either chip; the judge compares addresses.
func TestListRows(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	for _, base := range []string{"10.0.0.0", "2001:db8::"} {
		at := func(n int) netip.Addr {
			octets := netip.MustParseAddr(base).AsSlice()
			octets[len(octets)-2], octets[len(octets)-1] = byte(n>>8), byte(n)
			addr, _ := netip.AddrFromSlice(octets)
			return addr
		}
		for range 8 {
			// Two ranges a side with a gap between.
			var sides [2][4]int
			var words [2]string
			for i := range sides {
				n := 1 + random.IntN(20)
				for j := range sides[i] {
					sides[i][j] = n
					n += 2 + random.IntN(20)
				}
				words[i] = fmt.Sprintf("%s-%s,%s-%s", at(sides[i][2]), at(sides[i][3]), at(sides[i][0]), at(sides[i][1]))
			}
			r := newRig(t, testbox.WithRules(1024))
			selector := "src " + words[0] + " dst " + words[1]
			r.Quiet("xfrm policy add " + selector + " dir out priority 9 action punt\nxfrm policy add " + selector + " dir in priority 9 action punt")
			in := func(ends [4]int, n int) bool { return ends[0] <= n && n <= ends[1] || ends[2] <= n && n <= ends[3] }
			for s := range sides[0][3] + 3 {
				for _, end := range sides[1] {
					for d := end - 1; d <= end+1; d++ {
						want := 0
						if in(sides[0], s) && in(sides[1], d) {
							want = 1
						}
						inner, outer := r.between(transport.Inner, regs.InnerTableRule, at(s), at(d)), r.between(transport.Outer, regs.OuterTableRule, at(s), at(d))
						if inner != want || outer != want {
							t.Fatalf("%s: %s to %s is in %d and %d rows, want %d", selector, at(s), at(d), inner, outer, want)
						}
					}
				}
			}
		}
	}
}

// TestListIsOnePolicy: it is counted, listed, changed and deleted as one, under any order of its
// words, and its rows share their usage row.
func TestListIsOnePolicy(t *testing.T) {
	r := newRig(t, fakebox.Small)
	rows := func() string { return r.Rules(transport.Inner, regs.InnerTableRule) }
	r.Quiet("xfrm policy add dir out priority 1 action block\nxfrm policy add " + pool + "dir out priority 5 action punt\nxfrm policy add src 10.0.0.2-10.0.0.3 dir out priority 7 action block")
	r.Want("rules", rows(), "0:discard/0/1 1:punt/0/5 2:punt/0/5 3:punt/0/5 4:punt/0/5 5:punt/0/5 6:discard/0/7")
	usage := map[uint64]int{}
	for _, row := range r.Fake.Table(transport.Inner, regs.InnerTableRule) {
		usage[regs.RuleRow.Usage.Get(row)]++
	}
	if len(usage) != 3 || usage[2] != 5 {
		t.Errorf("usage rows are %v", usage)
	}
	name := "src 10.0.0.1-10.0.0.6,10.1.0.0/16 dst 0.0.0.0/0 \n"
	for _, command := range []string{"list src 10.0.0.0/15", "list src 10.1.0.0/16,10.0.0.0-10.0.0.6", "get src 10.1.0.0/16,10.0.0.4-10.0.0.6,10.0.0.1-10.0.0.3 dir out", "list dst 0.0.0.0/0"} {
		r.Quiet("xfrm policy " + command)
		if strings.Count(r.Out, name) != 1 {
			t.Errorf("%s says %s", command, r.Out)
		}
	}
	r.Quiet("xfrm policy list src 10.0.0.1-10.0.0.6")
	if strings.Contains(r.Out, name) || !strings.Contains(r.Out, "src 10.0.0.2/31 ") {
		t.Errorf("a narrower list says %s", r.Out)
	}
	r.Quiet("xfrm policy count")
	if !strings.Contains(r.Out, "OUT 3") {
		t.Errorf("count says %s", r.Out)
	}
	for _, line := range []string{"xfrm policy add src 10.1.0.0/16,10.0.0.1-10.0.0.6 dir out", "xfrm policy delete src 10.0.0.1-10.0.0.6 dir out", "xfrm policy delete src 10.0.0.0/15 dir out", "xfrm policy get src 10.1.0.0/16 dir out"} {
		before := r.Snapshot()
		if err := r.Run(line); err == nil || !session.IsInput(err) || strings.Contains(err.Error(), "\n") || r.Snapshot() != before {
			t.Errorf("%s gave %v", line, err)
		}
	}
	r.Quiet("xfrm policy update src 10.1.0.0/16,10.0.0.1-10.0.0.6 dir out priority 5 action block")
	r.Want("updated", rows(), "0:discard/0/1 1:discard/0/5 2:discard/0/5 3:discard/0/5 4:discard/0/5 5:discard/0/5 6:discard/0/7")
	r.Quiet("xfrm policy delete src 10.1.0.0/16,10.0.0.1-10.0.0.6 dir out\nxfrm policy deleteall src 10.0.0.1-10.0.0.4")
	r.Want("deleted", rows(), "0:discard/0/1")
	// Two addresses are no exact 5-tuple; one is, however it is written.
	r.Quiet("xfrm policy add src 10.0.0.1,10.0.0.3 dst 10.2.0.1 proto udp sport 7 dport 9 dir out action punt\nxfrm policy add src 10.0.0.5-10.0.0.5 dst 10.2.0.1 proto udp sport 7 dport 9 dir out action punt")
	r.Want("hosts", rows(), "0:punt/0/0 1:punt/0/0 2:discard/0/1")
	if flows := len(r.Fake.Table(transport.Inner, regs.InnerTableFlow)); flows != 1 {
		t.Errorf("%d flows", flows)
	}
}

// TestFullOfLists: a list whose rules do not all fit is refused with the number that it needs, and
// nothing is written.
func TestFullOfLists(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Quiet("xfrm policy add dst 10.0.0.0/8 dir out priority 5 action block")
	lists := "src 10.0.0.1-10.0.0.6 dst 10.2.0.1-10.2.0.254 "
	for text, reason := range map[string]string{
		"xfrm policy add " + lists + "dir out action block":                 "no room for the policy src 10.0.0.1-10.0.0.6 dst 10.2.0.1-10.2.0.254: it needs 56 of the 32 rules of the inner chip, and 31 are free",
		"xfrm policy add " + lists + "dir in action punt":                   "it needs 56 of the 32 rules of the outer chip, and 32 are free",
		ends6 + setPolicy("add", lists, 1):                                  "it needs 56 of the 32 inbound rules of the inner chip, and 32 are free",
		"xfrm policy add src 10.0.0.9-10.0.0.1 dir out":                     "the wrong way round",
		"addr add 192.0.2.1/24 dev black\nxfrm policy add src 1.0.0.1, dir": "f:2: a comma after src",
	} {
		before, state, writes := r.Snapshot(), testbox.ReadFile(t, r.State), r.Fake.Writes
		err := r.Run(text)
		if err == nil || !strings.Contains(err.Error(), reason) || !session.IsInput(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n gave %v\n want %s", text, err, reason)
		}
		if r.Snapshot() != before || testbox.ReadFile(t, r.State) != state || r.Fake.Writes != writes {
			t.Errorf("%s: something was written", text)
		}
	}
	// 14 by 2, and one of the first policy: three rows are left.
	r.Quiet("xfrm policy add src 10.2.0.1-10.2.0.254 dst 10.0.0.1,10.0.0.3 dir out action block")
	if rows := len(r.Fake.Table(transport.Inner, regs.InnerTableRule)); rows != 29 {
		t.Errorf("%d rows", rows)
	}
}

// TestListsOfSAs: an inbound SA under a list is held to all of it by rules, alone or besides
// others; under a sel of one prefix inside it, by its row.
func TestListsOfSAs(t *testing.T) {
	r := newRig(t, fakebox.Small)
	step := func(what, text, row, rules string) {
		t.Helper()
		r.Quiet(text)
		r.Want(what, r.selectedBy(0)+": "+r.inboundRules(), row+": "+rules)
	}
	list := pool + "dst 10.2.0.0/16 priority 20"
	held := strings.TrimSpace(strings.Repeat("protect/0 ", 5))
	step("a list", ends6+setPolicy("add", list, 1), "group 0", held)
	if last := r.Fake.Log[len(r.Fake.Log)-1]; last.Table != regs.OuterTableSad.Name {
		t.Errorf("the SAD row is not last: %s", last.Table)
	}
	step("the same for fwd", strings.ReplaceAll(setPolicy("add", list, 1), "dir in", "dir fwd"), "group 0", held)
	for _, test := range []struct {
		src  string
		want int
	}{{"10.0.0.0", 0}, {"10.0.0.1", 1}, {"10.0.0.6", 1}, {"10.0.0.7", 0}, {"10.0.255.255", 0}, {"10.1.0.0", 1}, {"10.1.255.255", 1}, {"10.2.0.0", 0}} {
		if got := r.between(transport.Inner, regs.InnerTableInboundRule, netip.MustParseAddr(test.src), netip.MustParseAddr("10.2.0.9")); got != test.want {
			t.Errorf("%s is in %d rules", test.src, got)
		}
	}
	step("a block inside", "xfrm policy add src 10.0.0.4-10.0.0.9 dir in priority 10 action block", "group 0", "discard/0 discard/0 "+held)
	step("a block in the gap", "xfrm policy delete src 10.0.0.4-10.0.0.9 dir in\nxfrm policy add src 10.0.0.7-10.0.0.9 dir in priority 10 action block", "group 0", held)
	step("rekeyed", strings.NewReplacer("0x2001", "0x2009").Replace(ends6[strings.Index(ends6, "xfrm state add src 192.0.2.2"):])+"xfrm state delete src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001", "none", held)
	r.Want("the new SA", r.selectedBy(1), "group 0")
	r.Quiet("xfrm policy flush\n" + setPolicy("add", list, 1) + setPolicy("add", "src 10.0.0.0/8 dst 10.2.0.0/16 priority 30", 1))
	r.Want("a prefix around the list", r.selectedBy(1)+": "+r.inboundRules(), "one: ")
	r.Quiet("xfrm policy flush\nxfrm state flush")
	r.Want("emptied", r.inboundRules(), "")

	own := func(sel string) string { return testbox.WindowedState("add", 1, 64, "sel "+sel) }
	r = newRig(t, fakebox.Small)
	step("a sel inside", "addr add 192.0.2.1/24 dev black\n"+own("src 10.1.7.0/24")+inPolicy(pool), "one", "")
	err := newRig(t, fakebox.Small).Run("addr add 192.0.2.1/24 dev black\n" + own("src 10.0.0.0/29") + inPolicy(pool))
	if err == nil || !strings.Contains(err.Error(), "the selector of its policy (src 10.0.0.1-10.0.0.6,10.1.0.0/16 dst 0.0.0.0/0) do not contain one another") {
		t.Errorf("a sel across the end gave %v", err)
	}
}

// TestBypassOfLists: clear packets of one policy go to the next hop of their own part of its dst,
// in either direction.
func TestBypassOfLists(t *testing.T) {
	r := newRig(t, fakebox.Small)
	base := "addr add 192.0.2.1/24 dev %[1]s\nneigh add 192.0.2.5 lladdr 02:00:00:00:00:05 dev %[1]s\nneigh add 192.0.2.6 lladdr 02:00:00:00:00:06 dev %[1]s\n" +
		"route add 10.5.0.0/16 via 192.0.2.5 dev %[1]s\nroute add 10.6.0.0/16 via 192.0.2.6 dev %[1]s\n"
	r.Quiet(fmt.Sprintf(base, "black") + "xfrm policy add dst 10.5.0.0/16,10.6.0.1-10.6.0.2 dir out\n")
	r.Want("out", r.Rules(transport.Inner, regs.InnerTableRule), "0:bypass/1/0 1:bypass/2/0 2:bypass/2/0")
	r.Quiet("xfrm policy flush\n")
	r = newRig(t, fakebox.Small)
	r.Quiet(fmt.Sprintf(base, "red") + "xfrm policy add dst 10.5.0.0/16,10.6.0.1-10.6.0.2 dir in\n")
	r.Want("in", r.Rules(transport.Outer, regs.OuterTableRule), "0:bypass/1/0 1:bypass/2/0 2:bypass/2/0")
}

// TestHopOfInboundLists: what an SA decrypts goes to the next hop that all parts of dst have,
// whatever lies between them.
func TestHopOfInboundLists(t *testing.T) {
	hops := "neigh add 10.0.1.5 lladdr 02:00:00:00:00:05 dev red\nneigh add 10.0.1.6 lladdr 02:00:00:00:00:06 dev red\naddr add 10.0.1.1/24 dev red\n" +
		"route add 10.5.0.0/16 via 10.0.1.5 dev red\nroute add 10.6.0.0/16 via 10.0.1.5 dev red\nroute add 10.7.0.0/16 via 10.0.1.6 dev red\n"
	r := newRig(t, fakebox.Small)
	r.Quiet(ends6 + hops + setPolicy("add", "dst 10.5.0.0/16,10.6.0.1-10.6.0.2", 1))
	if hop := r.selectorHop(); r.selectedBy(0) != "group 0" || hop == 0 {
		t.Errorf("%s, next hop %d", r.selectedBy(0), hop)
	}
	r = newRig(t, fakebox.Small)
	r.Must(ends6 + hops + setPolicy("add", "dst 10.5.0.0/16,10.7.0.1-10.7.0.2", 1))
	if hop := r.selectorHop(); hop != 0 || !strings.Contains(r.Notes, "have different next hops on red, but an SA has one") {
		t.Errorf("next hop %d, with %s", hop, r.Notes)
	}
}

// TestListsOfHosts: in transport mode a template without hosts asks for the SAs of hosts in the
// list alone.
func TestListsOfHosts(t *testing.T) {
	r := newRig(t, fakebox.Small)
	state := func(src string, spi int) string {
		return fmt.Sprintf("xfrm state add src %s dst 10.2.0.9 proto esp spi %#x mode transport dir out aead 'rfc4106(gcm(aes))' %s 128\n", src, spi, fmt.Sprintf("%s%04x", testbox.Key128[:len(testbox.Key128)-4], spi))
	}
	r.Must("link add br0 type bridge\nlink set red master br0\nlink set black master br0\n" + state("10.0.0.6", 0x1001) + state("10.0.0.7", 0x1002) +
		"xfrm policy add " + pool + "dst 10.2.0.0/24 dir out tmpl proto esp mode transport")
	if rules := r.Rules(transport.Inner, regs.InnerTableRule); strings.Count(rules, "protect/0/0") != 1 || strings.Count(rules, "punt/") != 5 || strings.Contains(rules, "protect/1") {
		t.Errorf("rules are %s", rules)
	}
}
