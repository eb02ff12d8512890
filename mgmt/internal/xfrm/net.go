// SPDX-License-Identifier: Apache-2.0

package xfrm

import "net/netip"

func (p *parser) verb(object string, verbs ...string) (string, error) {
	if !p.more() {
		return "show", nil
	}
	word := p.skip()
	verb := choose(string(word.Text), append(verbs, "show", "list", "lst")...)
	switch verb {
	case "":
		return "", word.errorf("%s %s is not supported: use %s or show", object, word.quoted(), verbs[0])
	case "list", "lst":
		return "show", nil
	}
	return verb, nil
}

// show ends a listing command, which may name a device but lists all.
func (p *parser) show(what string) (Command, error) {
	if p.peek() == "dev" {
		p.skip()
		if _, err := p.networkDevice(); err != nil {
			return nil, err
		}
	}
	return Show{p.at(), what}, nil
}

// addr reads `addr add|replace|change|del [local] ADDR/LEN [brd X] [scope X] dev D`.
func (p *parser) addr() (Command, error) {
	verb, err := p.verb("addr", "add", "change", "replace", "delete")
	if err != nil || verb == "show" {
		return p.showOr(err, "addr")
	}
	a := Addr{At: p.at(), Del: verb == "delete"}
	for p.more() {
		switch p.peek() {
		case "dev":
			p.skip()
			a.Dev, err = p.networkDevice()
		case "broadcast", "brd", "scope", "label":
			p.skip()
			_, err = p.take("a value")
		case "noprefixroute", "nodad":
			p.skip()
		default:
			if a.Prefix.IsValid() {
				return nil, p.unknown()
			}
			if p.peek() == "local" {
				p.skip()
			}
			var word Token
			a.Prefix, word, err = p.interfacePrefix("the address")
			if err == nil && (a.Prefix.Addr().IsUnspecified() || a.Prefix.Addr().IsMulticast()) {
				err = word.errorf("%s cannot be the address of a device", word.quoted())
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if !a.Prefix.IsValid() || a.Dev == "" {
		return nil, Errorf(p.start, "an address line is `addr add ADDR/LEN dev red|black`")
	}
	return a, nil
}

func (p *parser) showOr(err error, what string) (Command, error) {
	if err != nil {
		return nil, err
	}
	return p.show(what)
}

// The range of an MTU: IPv4's least (RFC 791), IPv6's (RFC 8200, 5), and the largest frame less its
// Ethernet header and FCS.
const (
	MinMTU  = 68
	MinMTU6 = 1280
	MaxMTU  = 9582
)

func (p *parser) mtu() (uint32, error) {
	mtu, err := p.number32("the MTU")
	if err == nil && (mtu < MinMTU || mtu > MaxMTU) {
		err = p.words[p.next-1].errorf("mtu must be %d to %d, not %d", MinMTU, MaxMTU, mtu)
	}
	return mtu, err
}

// neigh reads `neigh add|replace|change|del ADDR lladdr MAC [nud permanent] dev D`.
func (p *parser) neigh() (Command, error) {
	verb, err := p.verb("neigh", "add", "change", "replace", "delete")
	if err != nil || verb == "show" {
		return p.showOr(err, "neigh")
	}
	n := Neigh{At: p.at(), Del: verb == "delete", Replace: verb == "replace" || verb == "change"}
	hasMAC := false
	for p.more() {
		switch p.peek() {
		case "lladdr":
			p.skip()
			n.MAC, err = p.mac("the address after lladdr")
			hasMAC = true
		case "dev":
			p.skip()
			n.Dev, err = p.networkDevice()
		case "nud":
			p.skip()
			_, err = p.take("a state")
		case "router", "permanent":
			p.skip()
		default:
			if n.IP.IsValid() {
				return nil, p.unknown()
			}
			if p.peek() == "to" {
				p.skip()
			}
			n.IP, err = p.address("the neighbour's address")
		}
		if err != nil {
			return nil, err
		}
	}
	if n.IP == (netip.Addr{}) || n.Dev == "" || !hasMAC && !n.Del {
		return nil, Errorf(p.start, "a neighbour line is `neigh add ADDR lladdr MAC dev red|black`")
	}
	return n, nil
}

// nextHop reads `next-hop default dev D lladdr MAC`.
func (p *parser) nextHop() (Command, error) {
	word, err := p.take("default")
	if err == nil && string(word.Text) != "default" {
		err = word.errorf("next-hop must be followed by default, not %s", word.quoted())
	}
	hop := NextHop{At: p.at()}
	hasMAC := false
	for err == nil && p.more() {
		switch p.peek() {
		case "dev":
			p.skip()
			hop.Dev, err = p.device()
		case "lladdr":
			p.skip()
			hop.MAC, err = p.mac("the address after lladdr")
			hasMAC = true
		default:
			err = p.unknown()
		}
	}
	if err != nil {
		return nil, err
	}
	if hop.Dev == "" || !hasMAC {
		return nil, Errorf(p.start, "write `next-hop default dev red|black lladdr MAC`")
	}
	return hop, nil
}
