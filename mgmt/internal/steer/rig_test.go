// SPDX-License-Identifier: Apache-2.0

package steer_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// sized are chips with a tree of so many leaves and so many policies by prefix, as log2.
func sized(leaves, policies uint32) fakebox.Sizes {
	sizes := testbox.WithRules(256)
	sizes.FlowBits, sizes.PrefixBits, sizes.PolicyBits = 10, leaves, policies
	return sizes
}

// box is a fake box whose session is held.
type box struct{ *testbox.Held }

func newBox(t *testing.T, sizes fakebox.Sizes) *box { return &box{testbox.Hold(t, sizes)} }

func (b *box) model() *model.Model {
	b.T.Helper()
	v, err := b.Daemon.Look()
	if err != nil {
		b.T.Fatal(err)
	}
	return v.Model()
}

func (b *box) learn(changes ...learned.Change) {
	b.T.Helper()
	if taken, err := b.Daemon.LearnRoutes(learned.Steering, changes); err != nil || !taken {
		b.T.Fatal(taken, err)
	}
}

// learnIn has Linux tell routes of the table of a VRF, or of the main one.
func (b *box) learnIn(vrf string, changes ...learned.Change) {
	b.T.Helper()
	if taken, err := b.Daemon.LearnRoutes(b.model().SteeringSet(vrf), changes); err != nil || !taken {
		b.T.Fatal(taken, err)
	}
}

// toward is a route of Linux: to an interface, to "red", to "other" devices, nowhere ("blackhole"),
// or none any more ("").
func toward(prefix, dev string) learned.Change {
	r := &learned.Route{Prefix: netip.MustParsePrefix(prefix), Protocol: "bgp"}
	switch dev {
	case "":
		r = nil
	case "red":
	case "other":
		r.Elsewhere = true
	case "blackhole":
		r.Type = dev
	default:
		r.Dev = dev
	}
	return learned.Change{Prefix: netip.MustParsePrefix(prefix), Route: r}
}

// decision is what a row says of a packet: the row of counters of its policy and the action. The
// end of packets that no policy is for has neither.
func decision(row []uint32) string {
	f := regs.FlowRow
	if row == nil || f.Usage.Get(row) == 0 && f.Action.Get(row) == regs.ActionDiscard {
		return "dropped"
	}
	return fmt.Sprintf("policy %d action %d SA %d", f.Usage.Get(row), f.Action.Get(row), f.Sa.Get(row))
}

// found is what the chip decides.
func (b *box) found(rules fakebox.Ternary, p testbox.Packet) string {
	b.T.Helper()
	row, err := b.Decide(rules, p)
	if err != nil {
		b.T.Fatal(err)
	}
	if row != nil && regs.FlowRow.Action.Get(row) == regs.ActionBypass && !b.clear(rules, p) {
		return "shut"
	}
	return decision(row)
}

// goes says how a packet from 10.1.0.9 leaves: by the SA of an SPI, or "dropped", "punted" or
// "clear".
func (b *box) goes(to string) string { return b.goesIn(0, to) }

// goesIn is the same of a packet in a VLAN.
func (b *box) goesIn(vlan int, to string) string {
	b.T.Helper()
	src := "10.1.0.9"
	if strings.Contains(to, ":") {
		src = "2001:db8:1::9"
	}
	row, err := b.Decide(b.RulesNow(), testbox.Packet{VLAN: vlan, Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(to), Proto: 6, SPort: 7, DPort: 80})
	if err != nil {
		b.T.Fatal(err)
	}
	f := regs.FlowRow
	switch {
	case row == nil || f.Action.Get(row) == regs.ActionDiscard:
		return "dropped "
	case f.Action.Get(row) == regs.ActionPunt:
		return "punted "
	case f.Action.Get(row) == regs.ActionBypass:
		return "clear "
	}
	return fmt.Sprintf("0x%x ", b.model().SAs.At(xfrm.DirOut, int(f.Sa.Get(row))).SPI)
}

// wants fails unless a packet leaves so.
func (b *box) wants(to, want string) {
	b.T.Helper()
	if got := b.goes(to); got != want+" " {
		b.T.Errorf("packets to %s are %s, want %s", to, got, want)
	}
}

// wantsIn fails unless a packet in a VLAN leaves so.
func (b *box) wantsIn(vlan int, to, want string) {
	b.T.Helper()
	if got := b.goesIn(vlan, to); got != want+" " {
		b.T.Errorf("packets of VLAN %d to %s are %s, want %s", vlan, to, got, want)
	}
}

// clear says whether a packet leaves in clear, by the rows and by what the crypto chip lets pass.
func (b *box) clear(rules fakebox.Ternary, p testbox.Packet) bool {
	b.T.Helper()
	row, err := b.Decide(rules, p)
	if err != nil {
		b.T.Fatal(err)
	}
	opens := b.Fake.Get(transport.Crypto, regs.CryptoControl)>>regs.CryptoControlBypassEncrypt.LSB&1 == 1
	return opens && row != nil && regs.FlowRow.Action.Get(row) == regs.ActionBypass
}

// state is an outbound SA of an if_id.
func state(n, ifID int) string {
	return fmt.Sprintf("xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi %d reqid %d if_id %d mode tunnel dir out aead 'rfc4106(gcm(aes))' 0x%032x%08x 128\n", 0x1000+n, ifID, ifID, n, n)
}

// tunnel is the tmpl of those.
func tunnel(ifID int) string {
	return fmt.Sprintf(" if_id %d tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid %d mode tunnel\n", ifID, ifID)
}

// changer makes random changes.
type changer struct {
	*rand.Rand
	keys int
}

func (c *changer) net(six bool) netip.Prefix {
	addr, bits := netip.AddrFrom4([4]byte{10, byte(c.IntN(8) << 5), byte(c.IntN(2)), byte(c.IntN(2))}), []int{0, 8, 9, 11, 12, 24, 32}[c.IntN(7)]
	if six {
		addr, bits = netip.AddrFrom16([16]byte{0x20, 1, byte(c.IntN(8) << 5), 7: byte(c.IntN(2))}), []int{0, 16, 17, 20, 48, 64, 64}[c.IntN(7)]
	}
	p, _ := addr.Prefix(bits)
	return p
}

// policy is a change of a policy of an interface, or without if_id.
func (c *changer) policy() string {
	six := c.IntN(4) == 0
	all := map[bool]string{false: "0.0.0.0/0", true: "::/0"}[six]
	src, dst := all, all
	if c.IntN(3) == 0 {
		src = c.net(six).String()
	}
	if c.IntN(3) == 0 {
		dst = c.net(six).String()
	}
	sel := fmt.Sprintf("src %s dst %s", src, dst)
	verb := []string{"add", "add", "update", "delete"}[c.IntN(4)]
	if ifID := c.IntN(4); ifID > 0 {
		if verb == "delete" {
			return fmt.Sprintf("xfrm policy delete %s dir out if_id %d\n", sel, ifID)
		}
		rest := tunnel(ifID)
		if c.IntN(4) == 0 {
			rest = fmt.Sprintf(" if_id %d action %s\n", ifID, []string{"block", "punt"}[c.IntN(2)])
		}
		return fmt.Sprintf("xfrm policy %s %s dir out priority %d%s", verb, sel, c.IntN(4), rest)
	}
	switch c.IntN(4) {
	case 0:
		sel += " proto tcp"
	case 1:
		sel = "src 10.0.0.0 dst 10.32.0.0 proto tcp sport 7 dport 80"
	}
	if verb == "delete" {
		return "xfrm policy delete " + sel + " dir out\n"
	}
	rest := []string{" action block\n", " action allow\n", " action allow\n", tunnel(0)}[c.IntN(4)]
	return fmt.Sprintf("xfrm policy %s %s dir out priority %d%s", verb, sel, 1+c.IntN(3), rest)
}

// packets are at the edges of the prefixes.
func (c *changer) packets() (out []testbox.Packet) {
	for range 24 {
		six := c.IntN(4) == 0
		p := testbox.Packet{Src: c.net(six).Addr(), Dst: c.net(six).Addr(), Proto: []byte{6, 17}[c.IntN(2)], SPort: 7, DPort: 80}
		if c.IntN(12) == 0 {
			p.Src, p.Dst = netip.AddrFrom4([4]byte{10}), netip.AddrFrom4([4]byte{224, 0, 0, 1})
		}
		out = append(out, p)
	}
	return out
}

// routes are changes of routes of Linux.
func (c *changer) routes(most int) (out []learned.Change) {
	seen := map[netip.Prefix]bool{}
	for range 1 + c.IntN(most) {
		p := c.net(c.IntN(4) == 0)
		if !seen[p] {
			seen[p] = true
			out = append(out, toward(p.String(), []string{"ipsec1", "ipsec2", "ipsec3", "ipsec4", "red", "other", "blackhole", "", ""}[c.IntN(9)]))
		}
	}
	return out
}

// written is a change of a written route.
func (c *changer) written() string {
	p := c.net(c.IntN(4) == 0)
	dev := []string{"ipsec1", "ipsec2", "red", "black"}[c.IntN(4)]
	if c.IntN(2) == 0 {
		return fmt.Sprintf("route del %s dev %s\n", p, dev)
	}
	return fmt.Sprintf("route add %s dev %s\n", p, dev)
}
