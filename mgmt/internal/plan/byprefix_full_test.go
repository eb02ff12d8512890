// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// site is a policy for the n-th network of a site, and its end.
func site(n int) string {
	return fmt.Sprintf("xfrm policy add src 10.0.0.0/8 dst 172.%d.%d.0/24 dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel\n", 16+n/256, n%256)
}

func noSite(n int) string {
	return fmt.Sprintf("xfrm policy delete src 10.0.0.0/8 dst 172.%d.%d.0/24 dir out\n", 16+n/256, n%256)
}

func sites(from, to int) string {
	var text strings.Builder
	for n := from; n < to; n++ {
		text.WriteString(site(n))
	}
	return text.String()
}

func (h *heldRig) named() int {
	return len(h.Fake.Table(transport.Inner, regs.InnerTablePrefixPolicy))
}

// refused is a change for which there is no room.
func (h *heldRig) refused(text, reason string) {
	h.T.Helper()
	before, writes := h.Snapshot(), h.Fake.Writes
	if err := h.Change(text); err == nil || !strings.Contains(err.Error(), reason) || !session.IsInput(err) || strings.Contains(err.Error(), "\n") {
		h.T.Errorf("%v, want %q", err, reason)
	}
	if h.Fake.Writes != writes || h.Snapshot() != before {
		h.T.Error("something was written")
	}
}

// TestNamedFull: the table of policies by prefix says when it is full. A policy that comes
// in the place of another one has room.
func TestNamedFull(t *testing.T) {
	h := newHeld(t, named(4))
	h.Must("addr add 192.0.2.1/24 dev black\n" + sites(0, 15))
	const full = "no room for the policy src 10.0.0.0/8 dst 172.16.15.0/24: it goes by prefix, and all 15 of the 15 rows of the inner chip's table prefix_policy for such policies are in use"
	h.refused(site(15), "f:1: "+full)
	h.refused(noSite(3)+site(15)+site(16), "no room for the policy src 10.0.0.0/8 dst 172.16.16.0/24: it goes by prefix")
	h.Must(noSite(3) + site(15))
	if h.named() != 15 {
		t.Errorf("%d rows", h.named())
	}
	h.Must(noSite(15) + site(3))
	h.refused(site(15), full)
	h.Must("xfrm policy add dst 172.16.0.0/12 dir out priority 9 action block\n") // a rule
	h.Must("xfrm policy flush\n")
	if h.named() != 0 || len(h.RulesNow()) != 0 {
		t.Errorf("%d rows and %d rules are left", h.named(), len(h.RulesNow()))
	}
}

// TestNamedTight changes SPDs of several policies at once in a table that is too small. In the end
// every packet finds its policy.
func TestNamedTight(t *testing.T) {
	full, tight := 0, 0
	for seed := range uint64(6) {
		h := newHeld(t, named(2))
		c := &spdChanger{Rand: rand.New(rand.NewPCG(seed, 83))}
		h.Must("addr add 192.0.2.1/24 dev black\n")
		for round := range 80 {
			text := ""
			for range 1 + c.IntN(6) {
				text += c.policy()
			}
			if err := h.Change(text); err != nil {
				if strings.Contains(err.Error(), "no room") {
					full++
				}
				continue
			}
			after := h.model()
			for _, p := range c.packets() {
				if got, want := h.found(h.RulesNow(), p), right(after, p); got != want {
					t.Fatalf("seed %d round %d: %v finds %s, must find %s\n%s%s", seed, round, p, got, want, text, listed(after))
				}
			}
			if h.named() == 3 {
				tight++
			}
			if round%20 == 19 {
				h.sameAgain(seed)
			}
		}
	}
	if t.Log("full", full, "to the last row", tight); full < 10 || tight < 10 {
		t.Error("too few to show anything")
	}
}

// TestNamedBeforeRoutes: policies find room in the tree that routes of Linux had taken, which are
// refused then. Without such routes the tree says that it is full.
func TestNamedBeforeRoutes(t *testing.T) {
	h := newHeld(t, named(13))
	h.Must("addr add 192.0.2.1/24 dev black\naddr add 10.1.0.1/16 dev red\n")
	var changes []learned.Change
	for n := range 3000 {
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, byte(n >> 7), byte(2 * n)}), 24)
		changes = append(changes, learned.Change{Prefix: p, Route: &learned.Route{Prefix: p, Via: []netip.Addr{netip.MustParseAddr("10.1.0.9")}, Protocol: "bgp"}})
	}
	if taken, err := h.Daemon.LearnRoutes(xfrm.Red, changes); err != nil || !taken {
		t.Fatal(taken, err)
	}
	refused := h.refusedRoutes()
	if refused == 0 {
		t.Fatal("all routes have room")
	}
	h.Must(sites(0, 300))
	if now := h.refusedRoutes(); h.named() != 300 || now <= refused || now > refused+1200 {
		t.Errorf("%d policies by prefix, %d routes refused, %d before", h.named(), now, refused)
	}
	h.agree()
	h.Restart()
	h.agree()
	h.Must("link set red up\n")
	if len(h.Fake.Log) > 0 {
		t.Errorf("the next daemon writes %d rows", len(h.Fake.Log))
	}
	h.refused(sites(300, 5000), "it goes by prefix, and the chip's trees of prefixes have 256 rows on level 4, and changes need those that are left: remove prefixes")
	h.Must("xfrm policy flush\n")
	h.agree()
	if taken, err := h.Daemon.LearnRoutes(xfrm.Red, changes); err != nil || !taken || h.refusedRoutes() > refused {
		t.Error(taken, err, h.refusedRoutes())
	}
	h.agree()
}

func (h *heldRig) refusedRoutes() int {
	m := h.model()
	return m.FromLinux[xfrm.Red].Refused()
}

// agree holds the chip's tree against the routes and policies of the model.
func (h *heldRig) agree() {
	h.T.Helper()
	m := h.model()
	for r := range m.FromLinux[xfrm.Red].All() {
		way, err := h.Fake.Route(transport.Inner, r.Prefix.Addr())
		if err != nil || (way == "") != r.Refused {
			h.T.Fatalf("%s goes to %q: %v; refused is %t", r.Prefix, way, err, r.Refused)
		}
	}
	for _, p := range m.Policies.Named() {
		if got, want := h.found(h.RulesNow(), packetOf(p)), says(p); got != want {
			h.T.Fatalf("%s finds %s, must find %s", p.Selector, got, want)
		}
	}
}

func packetOf(p *model.Policy) testbox.Packet {
	return testbox.Packet{Src: p.Src.Addr(), Dst: p.Dst.Addr(), Proto: 17, SPort: 1, DPort: 2}
}

// TestNamedCutShort: wherever a change is cut short, no row leads to half of a tree, and the next
// daemon undoes the change, or has it whole.
func TestNamedCutShort(t *testing.T) {
	const before = "addr add 192.0.2.1/24 dev black\nxfrm policy add src 10.0.0.0/8 dst 10.2.0.0/16 dir out priority 5 action block\nxfrm policy add src 10.0.0.0/8 dst 10.4.0.0/16 dir out priority 5 action block\n"
	const change = "xfrm policy add src 10.0.0.0/8 dst 10.2.1.0/24 dir out priority 4 action punt\nxfrm policy delete src 10.0.0.0/8 dst 10.4.0.0/16 dir out\n"
	packet := func(dst string) testbox.Packet {
		return testbox.Packet{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr(dst), Proto: 17, SPort: 1, DPort: 2}
	}
	for at := 1; ; at += 7 {
		h := newHeld(t, named(5))
		h.Must(before)
		finds := func() (out string) {
			for _, dst := range []string{"10.2.0.1", "10.2.1.1", "10.4.0.1"} {
				out += h.found(h.RulesNow(), packet(dst)) + " "
			}
			return out
		}
		old := finds()
		h.Fake.FailAfter = at
		err := h.Change(change)
		h.Fake.FailAfter = 0
		now := finds()
		if err == nil {
			if now != "1/5 3/4 none " || at < 100 {
				t.Errorf("after %d accesses packets find %s", at, now)
			}
			return
		}
		if !strings.HasPrefix(now, "1/5 ") {
			t.Fatalf("cut short at %d packets find %s", at, now)
		}
		h.Restart()
		if _, err := h.Daemon.Undo(func([]xfrm.ID) {}); err != nil {
			t.Fatal(at, err)
		}
		h.Must("link set red up\n")
		if now := finds(); now != old {
			t.Fatalf("cut short at %d packets find %s behind it, not %s", at, now, old)
		}
		h.Must(change)
		h.sameAgain(0)
	}
}

// TestNamedListed: lists say where each out policy stands.
func TestNamedListed(t *testing.T) {
	r := newRig(t, named(5))
	r.Statistics = true
	r.Must("addr add 192.0.2.1/24 dev black\n" + site(1) + "xfrm policy add src 10.0.0.1 dst 10.0.0.2 proto udp sport 1 dport 2 dir out action block\nxfrm policy add proto tcp dir out action block\n")
	r.Must("xfrm policy list\n")
	var found []string
	for line := range strings.Lines(r.Out) {
		if strings.Contains(line, "found by") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	r.Want("places", strings.Join(found, ", "), "found by prefix, found by flow, found by rule")
	r.Statistics = false
	r.Must("xfrm policy list\n")
	r.Want("a list as ip has it", fmt.Sprint(strings.Contains(r.Out, "found by")), "false")
}

// TestNamedCost: a change of one policy writes as many rows among 16,000 policies by prefix as
// among few. With -v it says how long one takes, its records in the state file included.
func TestNamedCost(t *testing.T) {
	if testing.Short() {
		t.Skip("16,000 policies take long")
	}
	const most = 60
	sizes := named(14)
	sizes.FlowBits, sizes.PrefixBits = 16, 12
	const nested = "xfrm policy %s src 10.0.0.0/8 dst 172.16.0.128/25 dir out"
	const wide = "xfrm policy %s src 10.0.0.0/8 dst 0.0.0.0/0 dir out"
	for _, count := range []int{1, 1000, 16000} {
		h := newHeld(t, sizes)
		h.Must("addr add 192.0.2.1/24 dev black\n")
		h.Must(sites(0, count))
		if h.named() != count {
			t.Fatalf("%d rows for %d policies", h.named(), count)
		}
		for name, pair := range map[string][2]string{
			"a policy comes or goes":             {site(count), noSite(count)},
			"another SA of one":                  {strings.Replace(site(0), "add", "update", 1), strings.Replace(strings.Replace(site(0), "add", "update", 1), "priority 5", "priority 6", 1)},
			"one becomes a rule, or ceases":      {fmt.Sprintf(nested, "add") + " priority 4 action block\n", fmt.Sprintf(nested, "delete") + "\n"},
			"a rule around all comes or goes":    {fmt.Sprintf(wide, "add") + " priority 9 action block\n", fmt.Sprintf(wide, "delete") + "\n"},
			"a rule of their priority, likewise": {fmt.Sprintf(wide, "add") + " priority 5 action block\n", fmt.Sprintf(wide, "delete") + "\n"},
		} {
			rows := 0
			for _, text := range pair {
				h.Must(text)
				rows = max(rows, len(h.Fake.Log))
			}
			if rows > most {
				t.Errorf("%s among %d policies: %d rows are written", name, count, rows)
			}
			if !testing.Verbose() {
				continue
			}
			result := testing.Benchmark(func(bench *testing.B) {
				for n := range bench.N {
					h.Must(pair[n%2])
				}
				if bench.N%2 == 1 {
					h.Must(pair[1])
				}
			})
			t.Logf("%d policies: %s: %d µs, and at most %d rows are written", count, name, result.NsPerOp()/1000, rows)
		}
	}
}
