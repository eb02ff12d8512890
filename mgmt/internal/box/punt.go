package box

import (
	"fmt"
	"slices"
	"strings"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// Limit is a token bucket: packets/s (0 is no limit) and how many may pass at once.
type Limit struct {
	Rate  uint32 `json:"rate"`
	Burst uint32 `json:"burst"`
}

func (l Limit) String() string {
	if l.Rate == 0 {
		return fmt.Sprintf("rate unlimited burst %d", l.Burst)
	}
	return fmt.Sprintf("rate %d burst %d", l.Rate, l.Burst)
}

// Of a token bucket: the cycles in which it gains its rate, and cycles/s.
const (
	bucketInterval = 1 << 26
	cyclesPerSec   = chip.CyclesPerSecond
)

// register is what the limit is on the chips; every token_bucket has the same layout.
func (l Limit) register() uint32 {
	rate := (uint64(l.Rate)*bucketInterval + cyclesPerSec/2) / cyclesPerSec
	return uint32(rate)<<regs.InnerLimitInjectRate.LSB | l.Burst<<regs.InnerLimitInjectBurst.LSB
}

// bucket is one of a port: its register, and what that is after reset.
type bucket struct {
	dev      string
	group    string
	chip     transport.Chip
	register regs.Register
	reset    Limit
}

var (
	punted  = Limit{1000, 1024}
	unknown = Limit{100, 256}
	inject  = Limit{10000, 16}
)

var buckets = []bucket{
	{xfrm.Red, "other", transport.Inner, regs.InnerLimitOther, punted},
	{xfrm.Red, "arp", transport.Inner, regs.InnerLimitArp, punted},
	{xfrm.Red, "nd", transport.Inner, regs.InnerLimitNd, punted},
	{xfrm.Red, "mtu", transport.Inner, regs.InnerLimitMtu, punted},
	{xfrm.Red, xfrm.InjectGroup, transport.Inner, regs.InnerLimitInject, inject},
	{xfrm.Black, "other", transport.Outer, regs.OuterLimitOther, punted},
	{xfrm.Black, "ike", transport.Outer, regs.OuterLimitIke, punted},
	{xfrm.Black, "arp", transport.Outer, regs.OuterLimitArp, punted},
	{xfrm.Black, "nd", transport.Outer, regs.OuterLimitNd, punted},
	{xfrm.Black, "icmp", transport.Outer, regs.OuterLimitIcmp, punted},
	{xfrm.Black, "unknown_spi", transport.Outer, regs.OuterLimitSpi, unknown},
	{xfrm.Black, "reasm", transport.Outer, regs.OuterLimitReasm, unknown},
	{xfrm.Black, xfrm.InjectGroup, transport.Outer, regs.OuterLimitInject, inject},
}

// limit is what a bucket has.
func (m *Model) limit(b bucket) Limit {
	if set, ok := m.Punt[b.dev][b.group]; ok {
		return set
	}
	return b.reset
}

// setPunt changes the buckets that a command is of.
func (m *Model) setPunt(c xfrm.PuntSet) error {
	found := false
	for _, b := range buckets {
		whole := c.Group == xfrm.AllGroups && b.group != xfrm.InjectGroup
		if !whole && b.group != c.Group || c.Dev != "" && b.dev != c.Dev {
			continue
		}
		found = true
		limit := m.limit(b)
		if c.Rate != nil {
			limit.Rate = *c.Rate
		}
		if c.Burst != nil {
			limit.Burst = *c.Burst
		}
		if m.Punt == nil {
			m.Punt = map[string]map[string]Limit{}
		}
		if m.Punt[b.dev] == nil {
			m.Punt[b.dev] = map[string]Limit{}
		}
		m.Punt[b.dev][b.group] = limit
	}
	if !found {
		return xfrm.Errorf(c.Pos, "%s has no trap group %s: there are %s", c.Dev, c.Group, strings.Join(groupsOf(c.Dev), ", "))
	}
	return nil
}

func groupsOf(dev string) []string {
	var names []string
	for _, b := range buckets {
		if b.dev == dev && !slices.Contains(names, b.group) {
			names = append(names, b.group)
		}
	}
	return names
}

// showPunt prints the limits as lines that could be given again.
func (m *Model) showPunt() string {
	var out strings.Builder
	for _, b := range buckets {
		fmt.Fprintf(&out, "punt set %s %s dev %s\n", b.group, m.limit(b), b.dev)
	}
	return out.String()
}

// limits writes the buckets that were ever set, or, where nothing is known of the chips, all.
func (s *Session) limits(m *Model, all bool) error {
	for _, b := range buckets {
		if _, set := m.Punt[b.dev][b.group]; !set && !all {
			continue
		}
		if err := s.Box.Write32(b.chip, b.register, m.limit(b).register()); err != nil {
			return err
		}
	}
	return nil
}
