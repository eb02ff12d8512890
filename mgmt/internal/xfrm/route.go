// SPDX-License-Identifier: Apache-2.0

package xfrm

import "net/netip"

// route reads `route add|replace|append|change|del PREFIX|default [via [inet|inet6] ADDR] dev D
// [encap xfrm] [mtu N] [vrf NAME|table N]`.
func (p *parser) route() (Command, error) {
	verb, err := p.verb("route", "add", "change", "replace", "append", "delete")
	if err != nil || verb == "show" {
		return p.showOr(err, "route")
	}
	r := Route{At: p.at(), Del: verb == "delete", Replace: verb == "replace" || verb == "change"}
	var all, named bool // `default`; `via inet` or `via inet6`
	for p.more() {
		switch p.peek() {
		case "via":
			p.skip()
			r.Via, named, err = p.gateway()
		case "dev":
			p.skip()
			r.Dev, err = p.networkDevice()
		case "mtu":
			p.skip()
			if p.peek() == "lock" {
				p.skip()
			}
			r.MTU, err = p.mtu()
		case "encap":
			p.skip()
			r.Encap, err = true, p.encapXfrm()
		case "vrf":
			p.skip()
			r.VRF, err = p.linkName("the VRF after vrf")
		case "table":
			p.skip()
			r.Table, err = p.table()
		case "src", "metric", "proto", "protocol", "scope":
			p.skip()
			_, err = p.take("a value")
		case "onlink", "unicast":
			p.skip()
		case "default", "any", "all":
			if r.Prefix.IsValid() {
				return nil, p.unknown()
			}
			p.skip()
			r.Prefix, all = Everything, true
		default:
			if r.Prefix.IsValid() {
				return nil, p.unknown()
			}
			if p.peek() == "to" {
				p.skip()
			}
			r.Prefix, err = p.prefix("the destination")
		}
		if err != nil {
			return nil, err
		}
	}
	if !r.Prefix.IsValid() || r.Dev == "" && !r.Via.IsValid() && !r.Del {
		return nil, Errorf(p.start, "a route line is `route add PREFIX via ADDR dev red|black`")
	}
	if all {
		r.Prefix = everything(r.Via)
	}
	if err := r.checkEncap(p.start); err != nil {
		return nil, err
	}
	if r.Via.IsValid() && !named && !r.SameVersion() {
		return nil, Errorf(p.start, "the gateway %s is of another IP version than the destination %s: write `via inet ADDR` or `via inet6 ADDR` if that is meant", r.Via, r.Prefix)
	}
	if r.Prefix.Addr().Is6() && r.MTU != 0 && r.MTU < MinMTU6 {
		return nil, Errorf(p.start, "the mtu of a route to IPv6 must be %d to %d, not %d (RFC 8200, 5)", MinMTU6, MaxMTU, r.MTU)
	}
	return r, nil
}

// encapXfrm reads what follows `encap`.
func (p *parser) encapXfrm() error {
	word, err := p.take("xfrm")
	if err == nil && string(word.Text) != "xfrm" {
		err = word.errorf("the encap of a route must be xfrm, not %s", word.quoted())
	}
	return err
}

// checkEncap refuses what a route of packets out of tunnels for other tunnels cannot have.
func (r Route) checkEncap(pos Pos) error {
	switch {
	case !r.Encap:
		return nil
	case r.Dev != Black:
		return Errorf(pos, "a route with encap xfrm leads packets out of tunnels back to black: write `dev black encap xfrm`")
	case r.Via.IsValid():
		return Errorf(pos, "a route with encap xfrm has no gateway, for the policies say by which tunnel packets go: leave out via %s", r.Via)
	case r.MTU != 0:
		return Errorf(pos, "a route with encap xfrm has no mtu: give it to the route to the other end of the tunnel")
	case r.Prefix.Addr().IsMulticast():
		return Errorf(pos, "packets to groups are never routed into a tunnel: leave the route to %s out", r.Prefix)
	}
	return nil
}

// SameVersion says whether destination and gateway are of one IP version.
func (r Route) SameVersion() bool { return r.Prefix.Addr().Is6() == r.Via.Is6() }

// gateway reads an address, and the name of its family before it, if there is one.
func (p *parser) gateway() (via netip.Addr, named bool, err error) {
	family := p.peek()
	if named = family == "inet" || family == "inet6"; named {
		p.skip()
	}
	via, err = p.address("the gateway after via")
	if err == nil && named && via.Is6() != (family == "inet6") {
		word := p.words[p.next-1]
		err = word.errorf("the gateway after via %s cannot be %s, which is of the other IP version", family, word.quoted())
	}
	return via, named, err
}

// Linux's tables default, main and local, which are of no VRF.
const (
	firstOwnTable = 253
	MainTable     = 254
	lastOwnTable  = 255
)

// vrfOption reads what follows `type vrf`.
func (p *parser) vrfOption(v *VRF) (err error) {
	if p.peek() != "table" {
		return p.unknown()
	}
	p.skip()
	if v.Table, err = p.table(); err == nil && v.Table >= firstOwnTable && v.Table <= lastOwnTable {
		err = p.words[p.next-1].errorf("the table of a VRF must be 1 to 4294967295 and not %d to %d, which are Linux's own tables", firstOwnTable, lastOwnTable)
	}
	return err
}

// table reads the number of a table; `main` is the one of no VRF.
func (p *parser) table() (uint32, error) {
	if p.peek() == "main" {
		p.skip()
		return MainTable, nil
	}
	table, err := p.number32("the table")
	if err == nil && table == 0 {
		err = p.words[p.next-1].errorf("the table must be 1 to 4294967295, not 0")
	}
	return table, err
}
