// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/xfrm"
)

// The objects of `sallyctl -j addr|link|route|neigh` have the keys of `ip -j`, as far as the box
// has something to say under them.
type (
	deviceJSON struct {
		Link           string         `json:"link,omitempty"`
		Name           string         `json:"ifname"`
		Flags          []string       `json:"flags"`
		MTU            uint32         `json:"mtu,omitempty"`
		Master         string         `json:"master,omitempty"`
		Type           string         `json:"link_type"`
		Address        *xfrm.MAC      `json:"address,omitempty"`
		LinkInfo       *linkInfoJSON  `json:"linkinfo,omitempty"`
		DefaultNextHop *xfrm.MAC      `json:"default_next_hop,omitempty"` // not iproute2's
		Addresses      *[]addressJSON `json:"addr_info,omitempty"`        // of addr
	}
	linkInfoJSON struct {
		Kind string `json:"info_kind"`
		Data any    `json:"info_data,omitempty"`
	}
	vlanDataJSON struct {
		Protocol string `json:"protocol"`
		ID       uint16 `json:"id"`
	}
	vrfDataJSON struct {
		Table uint32 `json:"table"`
	}
	interfaceDataJSON struct {
		IfID string `json:"if_id"`
	}
	addressJSON struct {
		Family    string     `json:"family"`
		Local     netip.Addr `json:"local"`
		PrefixLen int        `json:"prefixlen"`
	}
	routeJSON struct {
		Type     string        `json:"type,omitempty"` // of one that leads nowhere
		Dst      string        `json:"dst"`
		Gateway  *netip.Addr   `json:"gateway,omitempty"`
		Via      *viaJSON      `json:"via,omitempty"` // a gateway of the other family
		Dev      string        `json:"dev,omitempty"`
		Encap    string        `json:"encap,omitempty"`
		Table    string        `json:"table,omitempty"`
		Protocol string        `json:"protocol,omitempty"`
		Metric   uint32        `json:"metric,omitempty"`
		Flags    []string      `json:"flags"`
		Metrics  []metricsJSON `json:"metrics,omitempty"`
		NextHops []nextHopJSON `json:"nexthops,omitempty"`
	}
	nextHopJSON struct {
		Gateway *netip.Addr `json:"gateway,omitempty"`
		Via     *viaJSON    `json:"via,omitempty"`
		Dev     string      `json:"dev"`
		Weight  int         `json:"weight"`
		Flags   []string    `json:"flags"`
	}
	viaJSON struct {
		Family string     `json:"family"`
		Host   netip.Addr `json:"host"`
	}
	metricsJSON struct {
		MTU uint32 `json:"mtu"`
	}
	neighJSON struct {
		Dst    netip.Addr `json:"dst"`
		Dev    string     `json:"dev"`
		LLAddr xfrm.MAC   `json:"lladdr"`
		State  []string   `json:"state"`
	}
)

func family(a netip.Addr) string {
	if a.Is6() {
		return "inet6"
	}
	return "inet"
}

// deviceObjects are the ports, the bridge, the VLANs and the XFRM interfaces.
func (m *Model) deviceObjects() (out []deviceJSON) {
	for _, dev := range Devices {
		l, mac := m.Links[dev], m.PortMAC(dev)
		out = append(out, deviceJSON{
			Name: dev, Flags: names(flag{l.Promisc, "PROMISC"}, flag{!l.Down, "UP"}), MTU: m.Mtu(dev), Master: l.Master, Type: "ether", Address: &mac, DefaultNextHop: l.Default,
		})
	}
	if m.Bridge != "" {
		out = append(out, deviceJSON{Name: m.Bridge, Flags: []string{"UP"}, Type: "ether", LinkInfo: &linkInfoJSON{Kind: "bridge"}})
	}
	for _, v := range m.VLANs {
		out = append(out, deviceJSON{
			Link: cmp.Or(v.Parent, v.Dev), Name: v.VLAN, Master: v.VRF, Flags: names(flag{!m.Links[v.Dev].Down, "UP"}), Type: "ether",
			LinkInfo: &linkInfoJSON{"vlan", vlanDataJSON{xfrm.VLAN{Protocol: v.Protocol}.ProtocolName(), v.ID}},
		})
	}
	for _, v := range m.VRFs {
		out = append(out, deviceJSON{Name: v.Name, Flags: []string{"NOARP", "MASTER", "UP"}, Type: "ether", LinkInfo: &linkInfoJSON{"vrf", vrfDataJSON{v.Table}}})
	}
	for _, i := range m.Interfaces {
		out = append(out, deviceJSON{
			Link: xfrm.Black, Name: i.Name, Master: i.VRF, Flags: []string{"NOARP", "UP"}, Type: "none", LinkInfo: &linkInfoJSON{"xfrm", interfaceDataJSON{ifIDText(i.IfID)}},
		})
	}
	return out
}

// addrObjects are the devices with their addresses.
func (m *Model) addrObjects() []deviceJSON {
	out := m.deviceObjects()
	for i := range out {
		own := []addressJSON{}
		for _, net := range m.networks() {
			for _, a := range net.Addrs {
				if a.String() == out[i].Name {
					own = append(own, addressJSON{family(a.Prefix.Addr()), a.Prefix.Addr(), a.Prefix.Bits()})
				}
			}
		}
		out[i].Addresses, out[i].DefaultNextHop = &own, nil
	}
	return out
}

func (m *Model) routeObjects() []routeJSON {
	out := []routeJSON{}
	for _, net := range m.networks() {
		for _, r := range net.Routes {
			o := routeJSON{Dst: destination(r.Prefix), Dev: r.String(), Flags: []string{}}
			if r.Dev == Tunnels {
				o.Dev, o.Encap = xfrm.Black, "xfrm"
			}
			if net.Name != "" {
				o.Table = fmt.Sprint(net.Table)
			}
			o.Gateway, o.Via = gatewayOf(r.Prefix, r.Via)
			if r.MTU != 0 {
				o.Metrics = []metricsJSON{{r.MTU}}
			}
			out = append(out, o)
		}
	}
	for dev, r := range m.linuxRoutes() {
		out = append(out, linuxRoute(dev, r))
	}
	for v, r := range m.apartRoutes() {
		o := linuxRoute(m.Inside(v.Name).VLANOf(r), r)
		o.Table = fmt.Sprint(v.Table)
		out = append(out, o)
	}
	return out
}

// apartRoutes are Linux's routes of VRFs, those out of VLANs and then those to XFRM interfaces.
func (m *Model) apartRoutes() iter.Seq2[VRF, *learned.Route] {
	return func(yield func(VRF, *learned.Route) bool) {
		for _, v := range m.VRFs {
			if routes := m.FromLinux[learned.OfTable(v.Table, v.Name)]; routes != nil {
				for r := range routes.All() {
					if !yield(v, r) {
						return
					}
				}
			}
			if routes := m.FromLinux[learned.SteeringOf(v.Table, v.Name)]; routes != nil {
				for r := range routes.ToInterfaces() {
					if !yield(v, r) {
						return
					}
				}
			}
		}
	}
}

// VLANOf is the VLAN that a route of Linux leads out of, in the VRF whose inside the model is, or
// the XFRM interface that it leads to.
func (m *Model) VLANOf(r *learned.Route) string {
	if r.Dev != "" {
		return r.Dev
	}
	if len(r.Via) > 0 {
		return m.HopVLAN(xfrm.Red, r.Via[0])
	}
	return m.ownVLAN(r.VLAN)
}

// linuxRoutes are those behind both ports and to XFRM interfaces, each with its device. One that
// leads nowhere is of all sets, and is given once.
func (m *Model) linuxRoutes() iter.Seq2[string, *learned.Route] {
	return func(yield func(string, *learned.Route) bool) {
		for _, dev := range Devices {
			for r := range m.FromLinux[dev].All() {
				if dev == xfrm.Black && r.Type != "" {
					if twin := m.FromLinux[xfrm.Red].Find(r.Prefix); twin != nil && twin.Same(r) {
						continue
					}
				}
				if !yield(dev, r) {
					return
				}
			}
		}
		for r := range m.FromLinux[learned.Steering].ToInterfaces() {
			if !yield(r.Dev, r) {
				return
			}
		}
	}
}

// gatewayOf are a gateway's keys: the one is of the destination's family, the other is not.
func gatewayOf(to netip.Prefix, via netip.Addr) (*netip.Addr, *viaJSON) {
	switch {
	case !via.IsValid():
		return nil, nil
	case via.Is6() == to.Addr().Is6():
		return &via, nil
	}
	return nil, &viaJSON{family(via), via}
}

// linuxRoute is a route that Linux has. Like a switch's, it has the flag rt_offload_failed if it is
// not on the chip.
func linuxRoute(dev string, r *learned.Route) routeJSON {
	o := routeJSON{Type: r.Type, Dst: destination(r.Prefix), Protocol: r.Protocol, Metric: r.Metric, Flags: names(flag{!r.OnChip(), "rt_offload_failed"})}
	if r.Type == "" && len(r.Via) <= 1 {
		o.Dev = dev
	}
	if len(r.Via) == 1 {
		o.Gateway, o.Via = gatewayOf(r.Prefix, r.Via[0])
	}
	if len(r.Via) > 1 {
		for _, via := range r.Via {
			hop := nextHopJSON{Dev: dev, Weight: 1, Flags: []string{}}
			hop.Gateway, hop.Via = gatewayOf(r.Prefix, via)
			o.NextHops = append(o.NextHops, hop)
		}
	}
	return o
}

// destination is a prefix as `ip route` prints it.
func destination(p netip.Prefix) string {
	switch {
	case p.Bits() == 0:
		return "default"
	case p.IsSingleIP():
		return p.Addr().String()
	}
	return p.String()
}

func (m *Model) neighObjects() []neighJSON {
	out := []neighJSON{}
	for _, net := range m.networks() {
		for _, n := range net.Neighs {
			out = append(out, neighJSON{n.IP, n.String(), n.MAC, []string{"PERMANENT"}})
		}
	}
	for hop, dev := range m.learnedHosts() {
		out = append(out, neighJSON{hop.IP.WithZone(""), dev, m.Learned[hop], []string{"REACHABLE"}})
	}
	return out
}

// learnedHosts are those that have no neighbour line, with the devices that they are on.
func (m *Model) learnedHosts() iter.Seq2[NextHop, string] {
	return func(yield func(NextHop, string) bool) {
		insides := m.Insides()
		for _, hop := range slices.SortedFunc(maps.Keys(m.Learned), NextHop.Compare) {
			dev, own := hop.Dev, insides[hop.Network]
			if own != nil && hop.Network != 0 {
				dev = own.HopVLAN(hop.Dev, hop.IP)
			}
			if own != nil && dev != "" && !own.ByHand(hop) && !yield(hop, dev) {
				return
			}
		}
	}
}

// The object of `sallyctl -j vrf show`.
type (
	vrfsJSON struct {
		VRFs    []vrfJSON `json:"vrfs"`
		Ignored []string  `json:"ignored"`
	}
	vrfJSON struct {
		Name    string   `json:"name"`
		Table   uint32   `json:"table"`
		VLANs   []string `json:"vlans"`
		XFRM    []string `json:"xfrm,omitempty"`
		Routes  int      `json:"routes"`
		Refused int      `json:"refused"`
		Hosts   int      `json:"hosts"`
		// ToXFRM is how many of Linux's routes lead to XFRM interfaces. They are Closed, all of
		// them, where the chip has no room for some.
		ToXFRM int  `json:"xfrm_routes,omitempty"`
		Closed bool `json:"xfrm_refused,omitempty"`
	}
)

// showVRFs lists the VRFs with their learned routes and hosts, and what of Linux does not fit.
func (m *Model) showVRFs(l Listing) (string, error) {
	out := vrfsJSON{[]vrfJSON{}, append([]string{}, l.Ignored...)}
	for _, v := range m.VRFs {
		o := vrfJSON{Name: v.Name, Table: v.Table, VLANs: []string{}}
		for _, vlan := range m.VLANs {
			if vlan.VRF == v.Name {
				o.VLANs = append(o.VLANs, vlan.VLANName())
			}
		}
		for _, i := range m.InterfacesOf(v.Name) {
			o.XFRM = append(o.XFRM, i.Name)
		}
		if routes := m.FromLinux[learned.OfTable(v.Table, v.Name)]; routes != nil {
			o.Refused = routes.Refused() + routes.Long()
			o.Routes = routes.Len() - o.Refused
		}
		if routes := m.FromLinux[learned.SteeringOf(v.Table, v.Name)]; routes != nil {
			for range routes.ToInterfaces() {
				o.ToXFRM++
			}
			o.Closed = routes.Refused() > 0
		}
		for hop := range m.Learned {
			if hop.Network == v.Number {
				o.Hosts++
			}
		}
		out.VRFs = append(out.VRFs, o)
	}
	if l.JSON {
		return jsonLine(out)
	}
	var b strings.Builder
	for _, o := range out.VRFs {
		fmt.Fprintf(&b, "%s table %d dev %s\n\tof Linux: routes %d refused %d hosts %d", o.Name, o.Table, strings.Join(append(o.VLANs, o.XFRM...), ","), o.Routes, o.Refused, o.Hosts)
		if o.ToXFRM > 0 {
			fmt.Fprintf(&b, " xfrm %d", o.ToXFRM)
		}
		if o.Closed {
			b.WriteString(" (no room: no packet is routed to an XFRM interface)")
		}
		b.WriteString("\n")
	}
	for _, text := range out.Ignored {
		fmt.Fprintf(&b, "ignored: %s\n", text)
	}
	return b.String(), nil
}
