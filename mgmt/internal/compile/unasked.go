// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"net/netip"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

var (
	linkLocal = netip.MustParsePrefix("fe80::/10")
	multicast = netip.MustParsePrefix("ff00::/8")
	// discovery are the types of neighbour discovery (RFC 4861).
	discovery = xfrm.Range{Given: true, First: 133, Last: 137}
)

// warnUnasked says of a new policy for clear packets that both chips punt all of them before they
// ask a policy (docs/explanation/encrypt-path.md), or, of neighbour discovery, let them pass a
// bridge. It is no mistake: a Linux peer needs policies that let neighbour discovery pass, and one
// file may be for both.
func (c *compiler) warnUnasked(p *model.Policy) {
	within := func(outer, inner netip.Prefix) bool { return inner.IsValid() && xfrm.Within(outer, inner) }
	s := p.Selector
	asksNeighbours := xfrm.HasCode(s.Proto, 6) && s.Type.Given && discovery.Covers(s.Type)
	if c.m.Bump() {
		if p.Fresh && asksNeighbours {
			c.report.Warn(p.Pos, "the policy %s has no effect: neighbour discovery always passes a bridge", s)
		}
		return
	}
	if p.Fresh && (within(linkLocal, s.Src) || within(linkLocal, s.Dst) || within(multicast, s.Dst) || asksNeighbours) {
		c.report.Warn(p.Pos, "the policy %s has no effect: IPv6 of link-local and to multicast addresses, and neighbour discovery, stay on their link and are always punted", s)
	}
}

// checkExtensions refuses selectors of headers that are skipped.
func (c *compiler) checkExtensions() error {
	skipped := c.m.SkippedHeaders()
	for _, p := range c.m.Touched() {
		if err := p.CheckExtensions(skipped, p.Pos); err != nil {
			return err
		}
	}
	for sa := range c.m.TouchedSAs() {
		if sa.Sel != nil {
			if err := sa.Sel.CheckExtensions(skipped, sa.Pos); err != nil {
				return err
			}
		}
	}
	return nil
}
