// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"math"

	"sallyport/mgmt/internal/xfrm"
)

// Protocols whose numbers are types and codes.
const (
	icmp     = 1
	icmpv6   = 58
	mobility = 135
)

// selector reads a traffic-selector: local is the source, remote the destination
// (docs/reference/yang.md).
func (o *object) selector() (sel xfrm.Selector) {
	s := o.child("traffic-selector")
	local, remote := s.leaf("local-prefix"), s.leaf("remote-prefix")
	sel.Src, sel.Dst = local.required().prefix(), remote.required().prefix()
	if sel.Src.IsValid() && sel.Dst.IsValid() && sel.Src.Addr().Is4() != sel.Dst.Addr().Is4() {
		s.fail(remote.path, "is of another IP version than local-prefix: write an entry for each version")
	}
	protocol := s.leaf("inner-protocol")
	if protocol.v == nil || protocol.v.kind != aString || protocol.enum("any") != "any" {
		sel.Proto = uint8(protocol.number(math.MaxUint8, 0))
	}
	if protocol.v != nil && protocol.v.kind == aNumber && sel.Proto == 0 {
		s.fail(protocol.path, "the box cannot select hop-by-hop options: write \"any\" or another protocol")
	}
	sel.SPort, sel.DPort = s.ports("local-ports", sel.Proto), s.ports("remote-ports", sel.Proto)
	s.end()
	return sel
}

// ports reads a list of ports of one entry at most. 0 to 0 is any port.
func (o *object) ports(name string, protocol uint8) (r xfrm.Range) {
	entries, path := o.list(name), o.path+"/"+name
	for _, e := range entries {
		first, last := e.leaf("start"), e.leaf("end")
		r.First, r.Last = uint16(first.required().number(math.MaxUint16, 0)), uint16(last.required().number(math.MaxUint16, 0))
		if r.Last < r.First {
			o.fail(last.path, "is below start: write the higher port as end")
		}
		e.end()
	}
	r.Given = r.First != 0 || r.Last != 0
	switch {
	case len(entries) > 1:
		o.fail(path, "has %d ranges, and a policy of the box one: write an entry for each range", len(entries))
	case r.Given && (protocol == icmp || protocol == icmpv6 || protocol == mobility):
		o.fail(path, "the module does not say which list has the type and which the code of protocol %d: leave the lists out", protocol)
	case r.Given && protocol != 0 && !xfrm.HasPorts(protocol):
		o.fail(path, "the box finds no ports in protocol %d: leave the list out, or write TCP (6), UDP (17) or SCTP (132)", protocol)
	case r == xfrm.Range{Given: true, First: 0, Last: math.MaxUint16}:
		r = xfrm.Range{}
	}
	return r
}
