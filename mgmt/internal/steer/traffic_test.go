// SPDX-License-Identifier: Apache-2.0

package steer_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// network has three interfaces; Linux may have a fourth one, which the box has not.
const network = `addr add 10.1.0.1/24 dev red
addr add 192.0.2.1/24 dev black
link add ipsec1 type xfrm dev black if_id 1
link add ipsec2 type xfrm dev black if_id 2
link add ipsec3 type xfrm dev black if_id 3
`

// right is the decision on a packet by a search of all routes, and then of all policies.
func right(m *model.Model, p testbox.Packet) string {
	one := func(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }
	packet := xfrm.Selector{VRF: m.VRFOf(uint16(p.VLAN)), Src: one(p.Src), Dst: one(p.Dst), Proto: p.Proto, SPort: xfrm.One(p.SPort), DPort: xfrm.One(p.DPort)}
	var plain, routed *model.Policy
	clear := ^uint32(0)
	ifID, to := where(m, p)
	for q := range m.Policies.All() {
		switch {
		case q.Dir != xfrm.DirOut:
		case q.IfID == 0:
			if q.Template == nil && q.Action == xfrm.ActionAllow && packet.VRF == "" {
				clear = min(clear, q.Priority-1)
			}
			first := plain == nil || q.Priority < plain.Priority || q.Priority == plain.Priority && (model.Exact(q.Selector) && !model.Exact(plain.Selector) || model.Exact(q.Selector) == model.Exact(plain.Selector) && q.Age < plain.Age)
			if q.Covers(packet) && first {
				plain = q
			}
		case q.IfID == ifID && q.Covers(packet) && (routed == nil || q.Before(routed)):
			routed = q
		}
	}
	if to == "" || plain != nil && (plain.Priority < clear || plain.Priority == clear && model.Exact(plain.Selector)) {
		return said(m, plain)
	}
	return said(m, routed)
}

// where is the interface to which a packet is routed, or "nowhere", or "" for all else.
func where(all *model.Model, p testbox.Packet) (ifID uint32, to string) {
	best, rank, dst, vrf := -1, -1, p.Dst, all.VRFOf(uint16(p.VLAN))
	m := all.Inside(vrf)
	if to = "nowhere"; dst.IsMulticast() || m.FromLinux[learned.Steering].Refused() > 0 {
		return 0, ""
	}
	take := func(p netip.Prefix, of int, id uint32, is string) {
		if p.Contains(dst) && (p.Bits() > best || p.Bits() == best && of > rank) {
			best, rank, ifID, to = p.Bits(), of, id, is
		}
	}
	ids := map[string]uint32{}
	for _, i := range all.Interfaces {
		if i.VRF == vrf {
			ids[i.Name] = i.IfID
		}
	}
	for _, r := range m.Routes {
		if id := ids[r.Dev]; id != 0 {
			take(r.Prefix, 4, id, r.Dev)
		} else {
			take(r.Prefix, 2, 0, "")
		}
	}
	for _, a := range m.Addrs {
		take(a.Prefix.Masked(), 2, 0, "")
	}
	for r := range m.FromLinux[learned.Steering].All() {
		switch {
		case r.Dev != "" && ids[r.Dev] != 0:
			take(r.Prefix, 3, ids[r.Dev], r.Dev)
		case r.Dev != "":
			take(r.Prefix, 3, 0, "nowhere")
		case r.Type != "":
			take(r.Prefix, 1, 0, "nowhere")
		default:
			take(r.Prefix, 1, 0, "")
		}
	}
	return ifID, to
}

// said is what a policy decides, in the words of decision.
func said(m *model.Model, p *model.Policy) string {
	if p == nil {
		return "dropped"
	}
	action, sa := map[xfrm.Action]int{xfrm.ActionBlock: regs.ActionDiscard, xfrm.ActionPunt: regs.ActionPunt, xfrm.ActionAllow: regs.ActionBypass}[p.Action], 0
	if p.Template != nil {
		action = regs.ActionPunt
		for _, choice := range m.Choices(p) {
			action, sa = regs.ActionProtect, choice.All.Row
		}
	}
	return fmt.Sprintf("policy %d action %d SA %d", p.Usage, action, sa)
}

// TestRoutesUnderTraffic changes routes, policies and SAs at random, one at a time. At each moment
// every packet finds the decision of before or the one of after, which a search of all routes and
// policies finds. The next daemon finds all as it is, and everything computed anew is the same.
func TestRoutesUnderTraffic(t *testing.T) {
	changes, protected, most := 0, 0, 0
	for seed := range uint64(10) {
		b := newBox(t, sized(8, 7))
		c := &changer{Rand: rand.New(rand.NewPCG(seed, 28))}
		b.Must(network)
		for round := range 150 {
			packets := c.packets()
			text, routes := "", []learned.Change(nil)
			switch round % 5 {
			case 0, 1:
				text = c.policy()
			case 2:
				text = c.written()
			case 3:
				if c.keys++; c.IntN(3) == 0 {
					text = fmt.Sprintf("xfrm state deleteall reqid %d\n", c.IntN(4))
				} else {
					text = state(c.keys, 1+c.IntN(3))
				}
			default:
				routes = c.routes(4)
				text = fmt.Sprint(routes)
			}
			change := func() error { return b.Change(text) }
			if round%5 == 4 {
				change = func() error {
					_, err := b.Daemon.LearnRoutes(learned.Steering, routes)
					return err
				}
			}
			after := b.watched(packets, fmt.Sprintf("seed %d round %d: %s", seed, round, text), change)
			if after == nil {
				continue // there is no such one, or there is one, or it does not go with the others
			}
			changes++
			for _, p := range packets {
				if ifID, _ := where(after, p); ifID != 0 && right(after, p) != "dropped" {
					protected++
				}
			}
			most = max(most, len(b.Fake.Table(transport.Inner, regs.InnerTablePrefixPolicy)))
			if round%10 == 9 {
				b.sameAgain(fmt.Sprintf("seed %d round %d", seed, round))
			}
		}
	}
	if t.Log("changes", changes, "packets to interfaces that a policy is for", protected, "most rows", most); changes < 700 || protected < 1000 || most < 6 {
		t.Error("too few to show anything")
	}
}

// watched makes a change. At each moment of it every packet must find the decision of before or the
// one of after, and in the end the latter. It gives the model of after, or nil if it was refused.
func (b *box) watched(packets []testbox.Packet, text string, change func() error) *model.Model {
	b.T.Helper()
	before, rules := b.model(), b.RulesNow()
	var all [][]string
	b.Fake.OnRow = func(w fakebox.Row) {
		look := func() {
			var now []string
			for _, p := range packets {
				now = append(now, b.found(rules, p))
			}
			all = append(all, now)
		}
		if w.Table == regs.InnerTableRule.Name {
			rules.Write(w.Index, w.Words, look)
		} else if w.Chip == transport.Inner {
			look()
		}
	}
	err := change()
	b.Fake.OnRow = nil
	if err != nil {
		return nil
	}
	after := b.model()
	for n, p := range packets {
		was, is := right(before, p), right(after, p)
		for step, now := range all {
			if now[n] != was && now[n] != is && now[n] != "shut" {
				b.T.Fatalf("%s step %d of %d: %v: %s, not %s or %s\n%s", text, step, len(all), p, now[n], was, is, listed(after))
			}
		}
		if got := b.found(b.RulesNow(), p); got != is {
			b.T.Fatalf("%s: %v: %s, must be %s\n%s", text, p, got, is, listed(after))
		}
		if _, to := where(after, p); to != "" && b.clear(b.RulesNow(), p) {
			b.T.Fatalf("%s: %v leaves in clear\n%s", text, p, listed(after))
		}
	}
	return after
}

// sameAgain fails unless everything computed anew writes nothing, here and in the next daemon.
func (b *box) sameAgain(when string) {
	b.T.Helper()
	for _, next := range []bool{false, true} {
		if next {
			b.Restart()
		}
		b.Must("link set red up\n")
		if len(b.Fake.Log) > 0 {
			b.T.Fatalf("%s: all anew, by the next daemon %t, writes %v\n%s", when, next, b.Fake.Log, listed(b.model()))
		}
	}
}

func listed(m *model.Model) (text string) {
	for p := range m.Policies.All() {
		text += fmt.Sprintf("%s if_id %d priority %d age %d usage %d %s\n", p.Selector, p.IfID, p.Priority, p.Age, p.Usage, p.Action)
	}
	for network, own := range m.Insides() {
		for _, r := range own.Routes {
			text += fmt.Sprintf("route %s dev %s in network %d\n", r.Prefix, r.Place, network)
		}
	}
	for set, routes := range m.FromLinux {
		for r := range routes.All() {
			text += fmt.Sprintf("Linux's %+v in %s\n", *r, set)
		}
	}
	return text
}
