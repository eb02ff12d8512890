package box

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// report collects what the administrator should know although it is no error.
type report struct{ warnings []string }

func (r *report) warn(pos xfrm.Pos, format string, args ...any) {
	text := xfrm.Errorf(pos, format, args...).Error()
	if !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

// Sizes are the capacities of the chips' tables.
type Sizes struct {
	SAs, FlowRows, SADRows, InnerRules, OuterRules, RedHops, BlackHops, Window int
	Suites                                                                     uint32
}

// placed is a row that still needs its place in a table.
type placed struct {
	owner    string
	row      Row
	sel      xfrm.Selector
	priority uint32
	age      uint64
	pos      xfrm.Pos
}

// target is what the tables should hold.
type target struct {
	flows, sad                   []placed // in order of age
	innerRules, outerRules       []placed
	selectors, tunnels           map[int]Row
	hops                         map[string]map[int]Hop // by device
	bypassEncrypt, bypassDecrypt bool
}

// compiler works out the target from the model.
type compiler struct {
	m        *Model
	old      *Image
	sizes    Sizes
	report   *report
	out      target
	hopRows  map[string]map[netip.Addr]int
	reuse    bool // rows of what is going may be taken at once
	selector map[*SA]xfrm.Selector
}

func compile(m *Model, old *Image, sizes Sizes, reuse bool, r *report) (*target, error) {
	c := &compiler{m: m, old: old, sizes: sizes, report: r, reuse: reuse, hopRows: map[string]map[netip.Addr]int{}, selector: map[*SA]xfrm.Selector{}}
	c.out = target{selectors: map[int]Row{}, tunnels: map[int]Row{}, hops: map[string]map[int]Hop{}}
	for _, dev := range devices {
		c.hopRows[dev] = map[netip.Addr]int{}
	}
	for _, step := range []func() error{c.checkSAs, c.placeSAs, c.outPolicies, c.inPolicies, c.outboundSAs, c.inboundSAs} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.hops()
	return &c.out, nil
}

func (c *compiler) checkSAs() error {
	seen := map[[32]byte]*SA{}
	for _, sa := range c.m.SAs {
		if !sa.fresh {
			continue
		}
		if c.sizes.Suites>>suites[sa.Aead.KeyBits]&1 == 0 {
			return xfrm.Errorf(sa.pos, "%s with a %d-bit key is not built into this crypto chip", sa.Aead.Name, sa.Aead.KeyBits)
		}
		if int(sa.ReplayWindow) > c.sizes.Window {
			return xfrm.Errorf(sa.pos, "replay-window %d is too large: this inner chip was built for at most %d packets", sa.ReplayWindow, c.sizes.Window)
		}
		digest := sha256.Sum256(slices.Concat(sa.Aead.Key, sa.Aead.Salt))
		if other := seen[digest]; other != nil && (sa.Way == xfrm.DirOut || other.Way == xfrm.DirOut) {
			c.report.warn(sa.pos, "the SAs spi 0x%08x and 0x%08x have one key and salt: their GCM nonces repeat, which breaks secrecy and authenticity alike (RFC 4106, section 2)", other.SPI, sa.SPI)
		}
		seen[digest] = sa
	}
	return nil
}

// placeSAs gives each new SA the lowest free row of its direction.
func (c *compiler) placeSAs() error {
	for _, way := range []xfrm.Dir{xfrm.DirOut, xfrm.DirIn} {
		taken := map[int]bool{}
		if !c.reuse {
			for _, row := range *c.old.keys(way) {
				taken[row] = true
			}
		}
		for _, sa := range c.m.SAs {
			if sa.Way == way && !sa.fresh {
				taken[sa.Row] = true
			}
		}
		next := 0
		for _, sa := range c.m.SAs {
			if sa.Way != way || !sa.fresh {
				continue
			}
			for taken[next] {
				next++
			}
			if next >= c.sizes.SAs {
				return &fullError{xfrm.Errorf(sa.pos, "no room for the %sbound SA spi 0x%08x: the table of %d is full", way, sa.SPI, c.sizes.SAs)}
			}
			sa.Row = next
			taken[next] = true
		}
	}
	return nil
}

// fullError says that a table has no room; it may have some once old rows are gone.
type fullError struct{ error }

func (e *fullError) Unwrap() error { return e.error }

// hop gives the next-hop row of a device for everything in a prefix.
func (c *compiler) hop(dev string, to netip.Prefix, pos xfrm.Pos) (row int, p path, err error) {
	p = c.m.lookup(dev, to)
	if p.many {
		c.report.warn(pos, "parts of %s have different next hops on %s, but one entry has one: all of it goes to %s", to, dev, hopText(p.hop))
	}
	if !p.hop.IsValid() {
		return 0, p, nil
	}
	row, ok := c.hopRows[dev][p.hop]
	if ok {
		return row, p, nil
	}
	old := c.old.hops(dev)
	for index, h := range old {
		if h.IP == p.hop {
			row = index
		}
	}
	if row == 0 {
		taken := map[int]bool{0: true}
		for _, index := range c.hopRows[dev] {
			taken[index] = true
		}
		for index := range old {
			taken[index] = taken[index] || !c.reuse
		}
		for row = 1; taken[row]; row++ {
		}
		size := c.sizes.RedHops
		if dev == xfrm.Black {
			size = c.sizes.BlackHops
		}
		if row >= min(size, 256) {
			return 0, p, &fullError{xfrm.Errorf(pos, "no room for the next hop %s: the table of %s has %d rows, row 0 being the default", p.hop, dev, size)}
		}
	}
	c.hopRows[dev][p.hop] = row
	return row, p, nil
}

func hopText(hop netip.Addr) string {
	if !hop.IsValid() {
		return "the default next hop"
	}
	return hop.String()
}

// hops fills the next-hop tables: a hop whose neighbour is not known yet goes to the default one.
func (c *compiler) hops() {
	for _, dev := range devices {
		rows := map[int]Hop{}
		fallback := c.m.Links[dev].Default
		if fallback != nil {
			rows[0] = Hop{Row: hopRow(*fallback)}
		}
		for ip, index := range c.hopRows[dev] {
			mac := fallback
			for _, n := range c.m.Neighs {
				if n.Dev == dev && n.IP == ip {
					mac = &n.MAC
				}
			}
			h := Hop{IP: ip}
			if mac != nil {
				h.Row = hopRow(*mac)
			}
			rows[index] = h
		}
		c.out.hops[dev] = rows
	}
}

// exact says whether a selector is one 5-tuple, which the flow table holds.
func exact(s xfrm.Selector) bool {
	ports := s.SPort != 0 && s.DPort != 0
	if !xfrm.HasPorts(s.Proto) {
		ports = true // such packets have ports 0
	}
	return s.Src.IsSingleIP() && s.Dst.IsSingleIP() && s.Proto != 0 && ports
}

// outPolicies become flows and rules of the inner chip.
func (c *compiler) outPolicies() error {
	for _, p := range c.m.Policies {
		if p.Dir != xfrm.DirOut {
			continue
		}
		action, argument := uint64(regs.ActionDiscard), 0
		switch {
		case p.Template != nil:
			sa := c.m.outboundSA(p.Template)
			if sa == nil {
				c.report.warn(p.pos, "no outbound SA fits the tmpl src %s dst %s: what the policy matches is discarded until there is one", p.Template.Src, p.Template.Dst)
				break
			}
			if sa.Sel != nil && !covers(*sa.Sel, p.Selector) {
				return xfrm.Errorf(p.pos, "the policy is wider than the sel of its SA spi 0x%08x", sa.SPI)
			}
			action, argument = regs.ActionProtect, sa.Row
		case p.Action == xfrm.ActionAllow:
			row, _, err := c.hop(xfrm.Black, p.Dst, p.pos)
			if err != nil {
				return err
			}
			action, argument = regs.ActionBypass, row
			c.out.bypassEncrypt = true
		case p.Action == xfrm.ActionPunt:
			action = regs.ActionPunt
		}
		entry := placed{owner: p.Selector.String(), sel: p.Selector, priority: p.Priority, age: p.Age, pos: p.pos}
		if exact(p.Selector) {
			entry.row = flowRow(p.Selector, action, uint64(argument), p.Priority)
			c.out.flows = append(c.out.flows, entry)
		} else {
			entry.row = ruleRow(p.Selector, action, uint64(argument), p.Priority)
			c.out.innerRules = append(c.out.innerRules, entry)
		}
	}
	return nil
}

// covers says whether every packet of inner is one of outer.
func covers(outer, inner xfrm.Selector) bool {
	return within(outer.Src, inner.Src) && within(outer.Dst, inner.Dst) && (outer.Proto == 0 || outer.Proto == inner.Proto) &&
		(outer.SPort == 0 || outer.SPort == inner.SPort) && (outer.DPort == 0 || outer.DPort == inner.DPort)
}

// overlap says whether some packet is of both.
func overlap(a, b xfrm.Selector) bool {
	return a.Src.Overlaps(b.Src) && a.Dst.Overlaps(b.Dst) && (a.Proto == 0 || b.Proto == 0 || a.Proto == b.Proto) &&
		(a.SPort == 0 || b.SPort == 0 || a.SPort == b.SPort) && (a.DPort == 0 || b.DPort == 0 || a.DPort == b.DPort)
}

// inPolicies become selectors of inbound SAs, or rules of the outer chip. What is written for `in` and again for `fwd` is one.
func (c *compiler) inPolicies() error {
	rules := map[xfrm.Selector]*Policy{}
	var order []*Policy
	for _, p := range c.m.Policies {
		if p.Dir == xfrm.DirOut {
			continue
		}
		if p.Template != nil {
			if err := c.nameInbound(p); err != nil {
				return err
			}
		}
		key := p.Selector
		key.Dev = ""
		first, twice := rules[key]
		if !twice {
			rules[key] = p
			order = append(order, p)
			continue
		}
		if first.Action != p.Action || (first.Template == nil) != (p.Template == nil) {
			return xfrm.Errorf(p.pos, "the in and fwd policies with selector %s differ: the box has one rule for both", p.Selector)
		}
	}
	for _, p := range order {
		if err := c.inRule(p, order); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) inRule(p *Policy, all []*Policy) error {
	action, argument := uint64(regs.ActionDiscard), 0
	switch {
	case p.Template != nil:
		// Clear packets that should have come through the tunnel are discarded. That is the default, unless a rule that
		// comes later would let them in.
		if !slices.ContainsFunc(all, func(q *Policy) bool {
			return q.Template == nil && q.Action != xfrm.ActionBlock && overlap(p.Selector, q.Selector) && (q.Priority > p.Priority || q.Priority == p.Priority && q.Age > p.Age)
		}) {
			return nil
		}
	case p.Action == xfrm.ActionAllow:
		row, _, err := c.hop(xfrm.Red, p.Dst, p.pos)
		if err != nil {
			return err
		}
		action, argument = regs.ActionBypass, row
		c.out.bypassDecrypt = true
	case p.Action == xfrm.ActionPunt:
		action = regs.ActionPunt
	default:
		for _, q := range all {
			if q.Template != nil && overlap(p.Selector, q.Selector) && (p.Priority < q.Priority || p.Priority == q.Priority && p.Age < q.Age) {
				return xfrm.Errorf(p.pos, "this block comes before the protected policy %s, but decrypted packets are held to their SA's one selector alone: narrow that instead", q.Selector)
			}
		}
	}
	c.out.outerRules = append(c.out.outerRules, placed{
		owner: p.Selector.String(), row: ruleRow(p.Selector, action, uint64(argument), p.Priority),
		sel: p.Selector, priority: p.Priority, age: p.Age, pos: p.pos,
	})
	return nil
}

// nameInbound notes a policy's selector at every inbound SA that its template asks for.
func (c *compiler) nameInbound(p *Policy) error {
	found := false
	sel := p.Selector
	sel.Dev = ""
	for _, sa := range c.m.SAs {
		if sa.Way != xfrm.DirIn || !names(p.Template, sa) {
			continue
		}
		found = true
		if other, twice := c.selector[sa]; twice && other != sel {
			return xfrm.Errorf(p.pos, "the inbound SA spi 0x%08x has a policy with another selector already (%s): an SA has one", sa.SPI, other)
		}
		c.selector[sa] = sel
	}
	if !found {
		c.report.warn(p.pos, "no inbound SA fits the tmpl src %s dst %s yet", p.Template.Src, p.Template.Dst)
	}
	return nil
}

func (c *compiler) outboundSAs() error {
	for _, sa := range c.m.SAs {
		if sa.Way != xfrm.DirOut {
			continue
		}
		row, p, err := c.hop(xfrm.Black, netip.PrefixFrom(sa.Dst, 32), sa.pos)
		if err != nil {
			return err
		}
		c.out.tunnels[sa.Row] = tunnelRow(sa, row, p.mtu)
	}
	return nil
}

func (c *compiler) inboundSAs() error {
	for _, sa := range c.m.SAs {
		if sa.Way != xfrm.DirIn {
			continue
		}
		c.out.sad = append(c.out.sad, placed{row: sadRow(sa), age: sa.Age, pos: sa.pos, owner: fmt.Sprintf("spi 0x%08x", sa.SPI)})
		sel, ok := c.selector[sa]
		if !ok {
			if sa.fresh {
				c.report.warn(sa.pos, "no in or fwd policy names the inbound SA spi 0x%08x: what it decrypts is dropped until one does", sa.SPI)
			}
			continue
		}
		if sa.Sel != nil {
			if !covers(*sa.Sel, sel) && !covers(sel, *sa.Sel) {
				return xfrm.Errorf(sa.pos, "the sel of the SA spi 0x%08x and the selector of its policy (%s) do not contain one another", sa.SPI, sel)
			}
			if covers(sel, *sa.Sel) {
				sel = *sa.Sel
			}
		}
		row, _, err := c.hop(xfrm.Red, sel.Dst, sa.pos)
		if err != nil {
			return err
		}
		c.out.selectors[sa.Row] = selectorRow(sa, sel, row)
	}
	return nil
}
