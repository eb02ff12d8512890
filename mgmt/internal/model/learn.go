// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
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
