package box

import (
	"cmp"
	"maps"
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

func (h NextHop) compare(o NextHop) int {
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

// byHand says whether the administrator wrote a host's address.
func (m *Model) byHand(h NextHop) bool {
	return slices.ContainsFunc(m.Neighs, func(n Neigh) bool { return n.Dev == h.Dev && n.IP == h.IP })
}

// want notes a next hop whose address nobody wrote. Those in VLANs have to be written: Linux's device is the whole port's.
func (c *compiler) want(h NextHop) {
	if !c.m.byHand(h) && c.m.hopVLAN(h.Dev, h.IP) == "" {
		c.out.wanted[h] = true
	}
}

// wantHop notes the next hop of a prefix: its gateway, or the one host that it is, if that is on the port's network.
func (c *compiler) wantHop(dev string, to netip.Prefix, p path) {
	switch {
	case p.hop.IsValid():
		c.want(NextHop{dev, p.hop})
	case to.IsValid() && to.IsSingleIP() && c.m.placeOf(to.Addr()).Dev == dev:
		c.want(NextHop{dev, to.Addr()})
	}
}

// NextHops are the hosts that rows of the chips lead to and whose addresses nobody wrote: gateways of routes, and hosts on a port's network that an SA or a policy is for
// alone. learned says what was learned of some of them.
func (s *Session) NextHops() (wanted []NextHop, learned map[NextHop]xfrm.MAC, err error) {
	err = s.reading(func(state *stored) error {
		wanted, learned = state.Hops, maps.Clone(state.Model.Learned)
		return nil
	})
	return wanted, learned, err
}

// Learn makes these the addresses of hosts, in place of what was learned before. Neighbours that the administrator wrote come first.
func (s *Session) Learn(learned map[NextHop]xfrm.MAC) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	state, known, err := s.load()
	if err != nil || !known || maps.Equal(learned, state.Model.Learned) {
		return err
	}
	s.kept = nil // the model changes in place, whether or not all goes well
	state.Model.Learned = learned
	return s.change(state, known)
}
