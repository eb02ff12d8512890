// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"sallyport/mgmt/internal/xfrm"
)

// NextHop is a host straight behind a port.
type NextHop struct {
	Dev string
	IP  netip.Addr
}

func (h NextHop) Compare(o NextHop) int {
	return cmp.Or(cmp.Compare(h.Dev, o.Dev), h.IP.Compare(o.IP))
}

// MarshalText makes it a key of JSON.
func (h NextHop) MarshalText() ([]byte, error) { return []byte(h.Dev + " " + h.IP.String()), nil }

// UnmarshalText reads it.
func (h *NextHop) UnmarshalText(text []byte) (err error) {
	dev, ip, _ := strings.Cut(string(text), " ")
	h.Dev = dev
	h.IP, err = netip.ParseAddr(ip)
	return err
}

// ByHand says whether the administrator wrote a host's address.
func (m *Model) ByHand(h NextHop) bool {
	return slices.ContainsFunc(m.Neighs, func(n Neigh) bool { return n.Dev == h.Dev && n.IP == h.IP })
}

// Learn takes addresses of hosts in place of those learned before.
func (m *Model) Learn(learned map[NextHop]xfrm.MAC) {
	differ := func(these, those map[NextHop]xfrm.MAC) {
		for host, mac := range these {
			if other, has := those[host]; has && other == mac {
				continue
			}
			// What leads to a gateway depends on its address, and what leads to hosts does not.
			if m.Changes.Hosts = true; !m.HasRow(host) || m.Routed(host.Dev, host.IP) {
				m.Changes.Network = true
			}
		}
	}
	differ(learned, m.Learned)
	differ(m.Learned, learned)
	m.Learned = learned
}

// HasRow says whether a host, if its Ethernet address is known, has a row of its own: it is
// straight behind red. A packet of one link alone reaches no row.
func (m *Model) HasRow(h NextHop) bool {
	return h.Dev == xfrm.Red && !h.IP.IsLinkLocalUnicast() && m.OnLink(h.Dev, h.IP)
}

// Resolves says whether the box looks for a host that packets go to.
func (m *Model) Resolves(h NextHop) bool {
	own := slices.ContainsFunc(m.Addrs, func(a Address) bool { return a.Prefix.Addr() == h.IP })
	return m.HasRow(h) && !own && !m.IsBroadcast(h.IP) && !h.IP.IsMulticast() && !m.Bump() && m.HopVLAN(h.Dev, h.IP) == ""
}
