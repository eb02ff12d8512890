// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
	"strings"

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

// bucket is one of a port, and what it is after reset.
type bucket struct {
	Dev   string
	Group string
	reset Limit
}

var (
	punted  = Limit{1000, 1024}
	unknown = Limit{100, 256}
	inject  = Limit{10000, 16}
)

var Buckets = []bucket{
	{xfrm.Red, "other", punted},
	{xfrm.Red, "arp", punted},
	{xfrm.Red, "nd", punted},
	{xfrm.Red, "resolution", unknown},
	{xfrm.Red, "link_local", punted},
	{xfrm.Red, "mtu", punted},
	{xfrm.Red, "ttl", punted},
	{xfrm.Red, "local", punted},
	{xfrm.Red, "tunnel", punted},
	{xfrm.Red, "clear", punted},
	{xfrm.Red, "tunnel_mtu", punted},
	{xfrm.Red, "clear_mtu", punted},
	{xfrm.Red, "tunnel_ttl", punted},
	{xfrm.Red, "clear_ttl", punted},
	{xfrm.Red, "tunnel_host", punted},
	{xfrm.Red, "clear_host", punted},
	{xfrm.Red, "tunnel_route", punted},
	{xfrm.Red, "clear_route", punted},
	{xfrm.Red, "hairpin", punted},
	{xfrm.Red, xfrm.InjectGroup, inject},
	{xfrm.Red, xfrm.InjectPolicy, inject},
	{xfrm.Black, "other", punted},
	{xfrm.Black, "ike", punted},
	{xfrm.Black, "ike_cookie", punted},
	{xfrm.Black, "ike_init", punted},
	{xfrm.Black, "arp", punted},
	{xfrm.Black, "nd", punted},
	{xfrm.Black, "resolution", unknown},
	{xfrm.Black, "link_local", punted},
	{xfrm.Black, "icmp", punted},
	{xfrm.Black, "unknown_spi", unknown},
	{xfrm.Black, "reasm", unknown},
	{xfrm.Black, "clear_host", punted},
	{xfrm.Black, "clear_route", punted},
	{xfrm.Black, xfrm.InjectGroup, inject},
}

// Limit is what a bucket has.
func (m *Model) Limit(b bucket) Limit {
	if set, ok := m.Punt[b.Dev][b.Group]; ok {
		return set
	}
	return b.reset
}

// setPunt changes the buckets that a command is of.
func (m *Model) setPunt(c xfrm.PuntSet) error {
	found := false
	for _, b := range Buckets {
		whole := c.Group == xfrm.AllGroups && b.Group != xfrm.InjectGroup && b.Group != xfrm.InjectPolicy
		if !whole && b.Group != c.Group || c.Dev != "" && b.Dev != c.Dev {
			continue
		}
		found = true
		limit := m.Limit(b)
		if c.Rate != nil {
			limit.Rate = *c.Rate
		}
		if c.Burst != nil {
			limit.Burst = *c.Burst
		}
		m.setBucket(b, limit)
	}
	if !found {
		return xfrm.Errorf(c.Pos, "%s has no trap group %s: there are %s", c.Dev, c.Group, strings.Join(groupsOf(c.Dev), ", "))
	}
	return nil
}

func (m *Model) setBucket(b bucket, limit Limit) {
	if m.Punt == nil {
		m.Punt = map[string]map[string]Limit{}
	}
	if m.Punt[b.Dev] == nil {
		m.Punt[b.Dev] = map[string]Limit{}
	}
	m.Punt[b.Dev][b.Group] = limit
}

func groupsOf(dev string) []string {
	var names []string
	for _, b := range Buckets {
		if b.Dev == dev && !slices.Contains(names, b.Group) {
			names = append(names, b.Group)
		}
	}
	return names
}

// showPunt prints the limits as lines that could be given again.
func (m *Model) showPunt() string {
	var out strings.Builder
	for _, b := range Buckets {
		fmt.Fprintf(&out, "punt set %s %s dev %s\n", b.Group, m.Limit(b), b.Dev)
	}
	return out.String()
}
