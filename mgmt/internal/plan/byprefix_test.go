// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// named are chips with policies by prefix, 2^bits - 1 of them.
func named(bits uint32) fakebox.Sizes {
	sizes := testbox.WithRules(1024)
	sizes.FlowBits, sizes.PrefixBits, sizes.PolicyBits = 10, 8, bits
	return sizes
}

// heldRig is a rig whose session is held.
type heldRig struct{ *testbox.Held }

func newHeld(t *testing.T, sizes fakebox.Sizes) *heldRig { return &heldRig{testbox.Hold(t, sizes)} }

func (h *heldRig) model() *model.Model {
	h.T.Helper()
	v, err := h.Daemon.Look()
	if err != nil {
		h.T.Fatal(err)
	}
	return v.Model()
}

// spdChanger makes random changes of an SPD for out.
type spdChanger struct {
	*rand.Rand
	dense     bool     // few destinations, and many updates
	vrfs      []string // with the VLANs from firstVLAN on; policies are of these and of none
	selectors []string
	last      string
	keys      int
}

func (c *spdChanger) net(six bool) netip.Prefix {
	addr, bits := netip.AddrFrom4([4]byte{10, byte(c.IntN(16) << 4), byte(c.IntN(2)), byte(c.IntN(2))}), []int{0, 8, 9, 10, 12, 24, 32}[c.IntN(7)]
	if six {
		addr, bits = netip.AddrFrom16([16]byte{0x20, 1, byte(c.IntN(16) << 4), 8: byte(c.IntN(2) << 7)}), []int{0, 16, 17, 20, 48, 64, 128}[c.IntN(7)]
	}
	if c.dense {
		addr, bits = netip.AddrFrom4([4]byte{10, byte(c.IntN(2) << 4)}), []int{0, 8, 11, 12}[c.IntN(4)]
	}
	p, _ := addr.Prefix(bits)
	return p
}

func (c *spdChanger) selector() string {
	if len(c.selectors) > 0 && c.IntN(2) == 0 {
		return c.selectors[c.IntN(len(c.selectors))]
	}
	six := !c.dense && c.IntN(3) == 0
	sel := fmt.Sprintf("src %s dst %s", c.net(six), c.net(six))
	if c.dense && c.IntN(8) > 0 {
		return fmt.Sprintf("src %s dst 10.%d.0.0/12", c.net(false), 16*c.IntN(2))
	}
	switch c.IntN(12) {
	case 0:
		sel += " proto tcp"
	case 1:
		sel += " proto udp dport 80-81"
	case 2:
		sel = fmt.Sprintf("src 10.0.0.0 dst %s proto udp sport 7 dport 80", netip.AddrFrom4([4]byte{10, byte(c.IntN(16) << 4)}))
	case 3:
		sel = "src 10.0.0.0/8 dst 10.0.0.1-10.0.0.3,10.16.0.0/12"
	case 4:
		sel = "src 10.0.0.0/8 dst 224.0.0.0/" + []string{"4", "8"}[c.IntN(2)]
	}
	c.selectors = append(c.selectors, sel)
	return sel
}

// policy is a change of one policy.
func (c *spdChanger) policy() string {
	sel, of := c.selector(), c.network()
	if of > 0 {
		sel += " dev " + c.vrfs[of-1]
	}
	c.last = sel
	rest := []string{" action block", " action allow", " action punt", " action allow"}[c.IntN(4)]
	if of > 0 && strings.HasSuffix(rest, "allow") {
		rest = " action block" // of a VRF none leaves in clear
	}
	if c.IntN(3) > 0 {
		rest = fmt.Sprintf(" tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid %d mode tunnel", 10*of+1+c.IntN(3))
	}
	kind := c.IntN(5)
	if c.dense {
		kind = c.IntN(8)
	}
	switch kind {
	case 0, 1:
		return "xfrm policy delete " + sel + " dir out\n"
	case 2, 5, 6, 7:
		return fmt.Sprintf("xfrm policy update %s dir out priority %d%s\n", sel, c.IntN(4), rest)
	}
	return fmt.Sprintf("xfrm policy add %s dir out priority %d%s\n", sel, c.IntN(4), rest)
}

const firstVLAN = 7

// network is 0, or the place of a VRF from 1 on.
func (c *spdChanger) network() int {
	if len(c.vrfs) == 0 {
		return 0
	}
	return c.IntN(len(c.vrfs) + 1)
}

// state is a new outbound SA, or the end of those of a policy.
func (c *spdChanger) state() string {
	reqid := 10*c.network() + 1 + c.IntN(3)
	if c.IntN(2) == 0 {
		return fmt.Sprintf("xfrm state deleteall reqid %d\n", reqid)
	}
	c.keys++
	return fmt.Sprintf("xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi %d reqid %d mode tunnel dir out aead 'rfc4106(gcm(aes))' 0x%032x%08x 128\n", 0x1000+c.keys, reqid, c.keys, c.keys)
}

// packets are at the edges of the policies' prefixes.
func (c *spdChanger) packets() (out []testbox.Packet) {
	for range 24 {
		six := c.IntN(3) == 0
		p := testbox.Packet{Src: c.net(six).Addr(), Dst: c.net(six).Addr(), Proto: []byte{6, 17}[c.IntN(2)], SPort: 7, DPort: 80 + uint16(c.IntN(3))}
		if c.IntN(12) == 0 {
			p.Src, p.Dst = netip.AddrFrom4([4]byte{10}), netip.AddrFrom4([4]byte{224, 0, 0, 1})
		}
		if of := c.network(); of > 0 {
			p.VLAN = firstVLAN + of - 1
		}
		out = append(out, p)
	}
	return out
}

// says names the policy whose row decides: by its own row of counters, and its priority.
func says(p *model.Policy) string {
	if p == nil {
		return "none"
	}
	return fmt.Sprintf("%d/%d", p.Usage, p.Priority)
}

// right is that of the first policy of the SPD of the packet's network. The box's own addresses in
// a VRF come before it.
func right(m *model.Model, p testbox.Packet) string {
	one := func(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }
	vrf := m.VRFOf(uint16(p.VLAN))
	if vrf != "" && m.Inside(vrf).Owns(p.Dst) {
		return "0/0"
	}
	return says(m.OutPolicy(xfrm.Selector{Src: one(p.Src), Dst: one(p.Dst), Proto: p.Proto, SPort: xfrm.One(p.SPort), DPort: xfrm.One(p.DPort), VRF: vrf}))
}

// found is that of the row that the chip takes.
func (h *heldRig) found(rules fakebox.Ternary, p testbox.Packet) string {
	h.T.Helper()
	row, err := h.Decide(rules, p)
	switch {
	case err != nil:
		h.T.Fatal(err)
	case row == nil:
		return "none"
	}
	return fmt.Sprintf("%d/%d", regs.FlowRow.Usage.Get(row), regs.FlowRow.Priority.Get(row))
}

// sameAgain fails unless a new computation of everything writes nothing, as the next daemon's does.
func (h *heldRig) sameAgain(seed uint64) {
	h.T.Helper()
	h.Restart()
	h.Fake.Log = nil
	h.Must("link set red up\n")
	if len(h.Fake.Log) > 0 {
		h.T.Fatalf("seed %d: the next daemon writes %v", seed, h.Fake.Log)
	}
}

// TestNamedUnderTraffic changes SPDs at random, a policy or an SA at a time, some thousand of them.
// At each moment every packet finds the policy of before or the one of after, which a search of the
// SPD in its order finds. Rows that nothing leads to are cleared, and the next daemon finds all as
// it is.
func TestNamedUnderTraffic(t *testing.T) { namedUnderTraffic(t, 12) }

// TestNamedInVRFs: the same of two VRFs beside network 0, in which the box has the address of a
// destination's first host.
func TestNamedInVRFs(t *testing.T) {
	namedUnderTraffic(t, 8, "blue", "green")
}

func namedUnderTraffic(t *testing.T, seeds uint64, vrfs ...string) {
	most, changes := 0, 0
	for seed := range seeds {
		h := newHeld(t, named(7))
		c := &spdChanger{Rand: rand.New(rand.NewPCG(seed, 282)), dense: seed%2 == 1, vrfs: vrfs}
		h.Must("addr add 192.0.2.1/24 dev black\n")
		for n, vrf := range vrfs {
			h.Must(fmt.Sprintf("link add link red name red.%d type vlan id %[1]d\nlink add %s type vrf table %[1]d\nlink set red.%[1]d master %[2]s\naddr add 10.16.0.0/31 dev red.%[1]d\n", firstVLAN+n, vrf))
		}
		for round := range 120 {
			text := c.policy()
			if round%8 == 7 {
				text = c.state()
			}
			before, rules, packets := h.model(), h.RulesNow(), c.packets()
			var all [][]string
			h.Fake.OnRow = func(w fakebox.Row) {
				look := func() {
					var now []string
					for _, p := range packets {
						now = append(now, h.found(rules, p))
					}
					all = append(all, now)
				}
				if w.Table == regs.InnerTableRule.Name {
					rules.Write(w.Index, w.Words, look)
				} else if w.Chip == transport.Inner {
					look()
				}
			}
			err := h.Change(text)
			h.Fake.OnRow = nil
			if err != nil {
				continue // there is no such policy, or there is one
			}
			after := h.model()
			for n, p := range packets {
				was, is := right(before, p), right(after, p)
				for step, now := range all {
					if now[n] != was && now[n] != is {
						t.Fatalf("seed %d round %d step %d of %d: %v finds %s, not %s or %s\n%s%s", seed, round, step, len(all), p, now[n], was, is, text, listed(after))
					}
				}
				if got := h.found(h.RulesNow(), p); got != is {
					t.Fatalf("seed %d round %d: %v finds %s, must find %s\n%s%s", seed, round, p, got, is, text, listed(after))
				}
			}
			count := 0
			for range after.Policies.Named() {
				count++
			}
			if rows := len(h.Fake.Table(transport.Inner, regs.InnerTablePrefixPolicy)); rows != count {
				t.Fatalf("seed %d round %d: %d rows for %d policies\n%s%s", seed, round, rows, count, text, listed(after))
			}
			if most = max(most, count); round%30 == 29 {
				h.sameAgain(seed)
			}
			changes++
		}
	}
	if t.Log("changes", changes, "most by prefix", most); changes < 600 || most < 8 {
		t.Error("too few to show anything")
	}
}

func listed(m *model.Model) (text string) {
	for p := range m.Policies.All() {
		text += fmt.Sprintf("%s priority %d age %d usage %d by prefix %t\n", p.Selector, p.Priority, p.Age, p.Usage, m.Policies.ByPrefix(p))
	}
	return text
}

// batch changes several policies, or deletes all.
func (c *spdChanger) batch(m *model.Model) (text string) {
	if c.IntN(8) == 0 {
		return "xfrm policy flush\n"
	}
	there := map[string]bool{}
	for p := range m.Policies.All() {
		there[p.Selector.String()] = true
	}
	for n := 2 + c.IntN(6); n > 0; n-- {
		line := c.policy()
		comes, goes := strings.Contains(line, " add "), strings.Contains(line, " delete ")
		if is := there[c.last]; comes && is || goes && !is || !goes && !is && len(there) >= 14 {
			continue
		}
		there[c.last] = !goes
		text += line
	}
	return text
}

// clear says whether a packet leaves in clear, by the rows and by what the crypto chip lets pass.
func (h *heldRig) clear(rules fakebox.Ternary, p testbox.Packet) bool {
	h.T.Helper()
	row, err := h.Decide(rules, p)
	if err != nil {
		h.T.Fatal(err)
	}
	opens := h.Fake.Get(transport.Crypto, regs.CryptoControl)>>regs.CryptoControlBypassEncrypt.LSB&1 == 1
	return opens && row != nil && regs.FlowRow.Action.Get(row) == regs.ActionBypass
}

// TestNamedLeaksNothing: of batches of several policies, too, no packet leaves in clear meanwhile
// that leaves in clear neither before nor after.
func TestNamedLeaksNothing(t *testing.T) {
	changes, opened := 0, 0
	for seed := uint64(24); seed < 36; seed++ {
		h := newHeld(t, named(7))
		c := &spdChanger{Rand: rand.New(rand.NewPCG(seed, 4301)), dense: seed%2 == 1}
		h.Must("addr add 192.0.2.1/24 dev black\n")
		for round := range 60 {
			text := c.batch(h.model())
			rules, packets, leaks := h.RulesNow(), c.packets(), map[testbox.Packet]string{}
			before := map[testbox.Packet]bool{}
			for _, p := range packets {
				before[p] = h.clear(rules, p)
			}
			h.Fake.OnRow = func(w fakebox.Row) {
				look := func() {
					for _, p := range packets {
						if h.clear(rules, p) {
							leaks[p] = fmt.Sprintf("once row %d of %s is %x", w.Index, w.Table, w.Words)
						}
					}
				}
				if w.Table == regs.InnerTableRule.Name {
					rules.Write(w.Index, w.Words, look)
				} else if w.Chip == transport.Inner {
					look()
				}
			}
			err := h.Change(text)
			h.Fake.OnRow = nil
			if err != nil {
				continue
			}
			changes++
			for p, when := range leaks {
				if opened++; !before[p] && !h.clear(h.RulesNow(), p) {
					t.Fatalf("seed %d round %d: %v leaves in clear %s\n%s%s", seed, round, p, when, text, listed(h.model()))
				}
			}
		}
	}
	if t.Log("changes", changes, "packets in clear", opened); changes < 300 || opened < 100 {
		t.Error("too few to show anything")
	}
}

// TestFlushLeaksNothing: a flow or a policy by prefix that protects goes together with the default
// that lets all other packets pass.
func TestFlushLeaksNothing(t *testing.T) {
	packet := testbox.Packet{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.16.0.1"), Proto: 17, SPort: 7, DPort: 80}
	for _, selector := range []string{"src 10.0.0.1 dst 10.16.0.1 proto udp sport 7 dport 80", "src 10.0.0.0/8 dst 10.16.0.0/12"} {
		h := newHeld(t, named(5))
		h.Must("addr add 192.0.2.1/24 dev black\nxfrm policy add proto udp dir out priority 9 action allow\n" +
			"xfrm policy add " + selector + " dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel\n")
		rules, looks := h.RulesNow(), 0
		h.Fake.OnRow = func(w fakebox.Row) {
			if w.Table == regs.InnerTableRule.Name {
				rules.Write(w.Index, w.Words, func() {})
			}
			if looks++; h.clear(rules, packet) {
				t.Errorf("%s: its packet leaves in clear once row %d of %s is %x", selector, w.Index, w.Table, w.Words)
			}
		}
		h.Must("xfrm policy flush\n")
		if looks < 3 || len(h.RulesNow()) > 0 {
			t.Errorf("%d looks, %d rules left", looks, len(h.RulesNow()))
		}
	}
}

// TestNamedParts: what a change of a part gives is what everything computed anew gives.
func TestNamedParts(t *testing.T) {
	h := newHeld(t, named(7))
	c := &spdChanger{Rand: rand.New(rand.NewPCG(1, 2))}
	h.Must("addr add 192.0.2.1/24 dev black\n")
	for range 200 {
		text := ""
		for range 1 + c.IntN(4) {
			text += c.policy()
		}
		if h.Change(text) != nil {
			continue
		}
		now := maps.Clone(h.Fake.Table(transport.Inner, regs.InnerTablePrefixPolicy))
		h.Fake.Log = nil
		h.Must("link set red up\n")
		if len(h.Fake.Log) > 0 {
			t.Fatalf("everything anew writes %v after\n%s", h.Fake.Log, text)
		}
		if !maps.EqualFunc(now, h.Fake.Table(transport.Inner, regs.InnerTablePrefixPolicy), slices.Equal) {
			t.Fatal("the rows differ")
		}
	}
}

// TestNamedOfVRFsComeAndGo: policies by prefix of a VRF become rules while there is an XFRM
// interface, and come back. They go with their VRF, and a VRF that takes its number has its own.
func TestNamedOfVRFsComeAndGo(t *testing.T) {
	h := newHeld(t, named(7))
	policy := func(verb, vrf string, to int) string {
		line := fmt.Sprintf("xfrm policy %s src 10.0.0.0/8 dst 10.%d.0.0/16 dev %s dir out", verb, to, vrf)
		if verb == "add" {
			line += fmt.Sprintf(" priority %d tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid %d mode tunnel", to, len(vrf))
		}
		return line + "\n"
	}
	vrf := func(name string, first, last int) (lines string) {
		lines = fmt.Sprintf("link add %s type vrf table 9\nlink set red.7 master %[1]s\n", name)
		for to := first; to <= last; to++ {
			lines += policy("add", name, to)
		}
		return lines
	}
	check := func(what string, byPrefix int) {
		t.Helper()
		m, rules := h.model(), h.RulesNow()
		for to := range 9 {
			for vlan := range 2 {
				p := testbox.Packet{Src: netip.AddrFrom4([4]byte{10, 9}), Dst: netip.AddrFrom4([4]byte{10, byte(to), 1}), Proto: 17, VLAN: 7 * vlan}
				got, want := h.found(rules, p), right(m, p)
				if got == "0/4294967295" {
					got = "none" // beside interfaces the tree has a row for all others
				}
				if got != want {
					t.Errorf("%s: %v finds %s, want %s", what, p, got, want)
				}
			}
		}
		if rows := len(h.Fake.Table(transport.Inner, regs.InnerTablePrefixPolicy)); rows != byPrefix || len(rules)+byPrefix < 4 {
			t.Errorf("%s: %d rows by prefix and %d rules, want %d", what, rows, len(rules), byPrefix)
		}
		h.sameAgain(0)
	}
	h.Must("addr add 192.0.2.1/24 dev black\nlink add link red name red.7 type vlan id 7\n" + vrf("blue", 1, 4) + strings.ReplaceAll(policy("add", "blue", 2), " dev blue", ""))
	check("a VRF", 5)
	h.Must("link add ipsec0 type xfrm if_id 42\n")
	check("beside an interface", 1)
	h.Must("link delete ipsec0\n")
	check("without it", 5)
	gone := "link set red.7 nomaster\n"
	for to := 1; to <= 4; to++ {
		gone += policy("delete", "blue", to)
	}
	h.Must(gone + "link delete blue\n" + vrf("azure", 3, 6))
	check("another VRF of its number", 5)
	h.Must("xfrm policy flush\nlink set red.7 nomaster\nlink delete azure\n" + vrf("teal", 1, 0))
	if rows := h.Fake.Table(transport.Inner, regs.InnerTablePrefixPolicy); len(rows) > 0 {
		t.Errorf("%d rows stay", len(rows))
	}
}
