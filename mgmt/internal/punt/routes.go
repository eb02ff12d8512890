// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// RouteChange is a route that Linux has now, or has no more.
type RouteChange struct {
	Route learned.Route
	Gone  bool
	// Replaces says that it is in place of one of the same metric, and Behind that it comes after
	// those.
	Replaces, Behind bool
	Table            uint32 // of Linux
	// Steers says that the route is one of all those of a VRF's table, which steer its packets. It
	// may be told another time as one that leads out of a VLAN.
	Steers bool
}

// RouteTable takes what Linux tells of its routes: all of them between Begin and Dumped, and then
// each change.
type RouteTable interface {
	Begin()
	Change(RouteChange)
	Dumped()
}

// mostGateways is how many of a route's are read.
const mostGateways = 32

// routeBuffer is how much may wait to be read from Linux: some hundred routes, as far as the system
// allows.
const routeBuffer = 4 << 20

// Routes tells a table a set of the routes of Linux's main table, and then each change: of a port
// those that lead out of its device, and of [learned.Steering] all. Those that lead nowhere are of
// each set. It returns when ctx ends, or when changes were lost. It also does when an address of
// the set's devices comes or goes, or one is set up or down, for Linux then takes routes and
// gateways away, or gives them back, without a word. It needs no rights.
func (d *Devices) Routes(ctx context.Context, set string, to RouteTable) error {
	if set == learned.Steering && len(d.interfaces.taps) == 0 {
		to.Begin()
		to.Dumped() // none: those of an earlier daemon go
		<-ctx.Done()
		return nil
	}
	leads, own := d.routesOf(set)
	up := map[int]bool{} // of the set's devices
	return d.read(ctx, to, reading{
		table: unix.RT_TABLE_MAIN,
		devices: func(all []netlink.Link) {
			for _, link := range all {
				if at := link.Attrs(); own < 0 || at.Index == own {
					up[at.Index] = at.Flags&net.FlagUp != 0
				}
			}
		},
		leads: func(table int) leadsTo {
			if table == unix.RT_TABLE_MAIN {
				return leads
			}
			return nil
		},
		address: func(index int) bool { _, ours := up[index]; return ours },
		device: func(u netlink.LinkUpdate) bool {
			was, ours := up[int(u.Index)]
			return ours && was != (u.Flags&unix.IFF_UP != 0)
		},
	})
}

// TableRoutes tells the routes of the tables of VRFs, likewise. It also returns when a VLAN of red,
// an XFRM interface or a VRF is another in Linux.
func (d *Devices) TableRoutes(ctx context.Context, vrfs []VRF, to RouteTable) error {
	var vlans *vlans
	var now *members
	return d.read(ctx, to, reading{
		table: unix.RT_TABLE_UNSPEC,
		devices: func(all []netlink.Link) {
			vlans = d.vlansOf(all)
			now = vlans.match(vrfs)
			d.members.Store(now)
		},
		leads:   func(table int) leadsTo { return now.leads(vlans, table) },
		steers:  func(table int) leadsTo { return now.steers(vlans, table) },
		address: func(index int) bool { return vlans.has(index) },
		device:  func(u netlink.LinkUpdate) bool { return vlans.follow(u, u.Header.Type == unix.RTM_DELLINK) },
	})
}

// reading is how routes are read, and what makes Linux be asked for all of them again.
type reading struct {
	table   int                                  // that is listed; RT_TABLE_UNSPEC: all
	devices func(all []netlink.Link)             // takes those that there are first
	leads   func(table int) leadsTo              // reads routes of a table; nil: none
	steers  func(table int) leadsTo              // likewise all that steer packets of a VRF
	address func(index int) bool                 // an address of a device came or went
	device  func(update netlink.LinkUpdate) bool // a device is another
}

func (d *Devices) read(ctx context.Context, to RouteTable, r reading) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	updates := make(chan netlink.RouteUpdate)
	addrs := make(chan netlink.AddrUpdate)
	links := make(chan netlink.LinkUpdate)
	// errors later close the channel
	if err := netlink.RouteSubscribeWithOptions(updates, ctx.Done(), netlink.RouteSubscribeOptions{ReceiveBufferSize: routeBuffer}); err != nil {
		return fmt.Errorf("cannot watch Linux's routes: %w", err)
	}
	defer drainAll(cancel, updates, addrs, links)
	if err := netlink.AddrSubscribe(addrs, ctx.Done()); err != nil {
		close(addrs)
		close(links)
		return fmt.Errorf("cannot watch Linux's addresses: %w", err)
	}
	if err := netlink.LinkSubscribe(links, ctx.Done()); err != nil {
		close(links)
		return fmt.Errorf("cannot watch Linux's devices: %w", err)
	}
	all, err := devicesNow()
	if err != nil {
		return err
	}
	r.devices(all)
	to.Begin()
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		filter := &netlink.Route{Table: r.table}
		err := netlink.RouteListFilteredIter(family, filter, netlink.RT_FILTER_TABLE, func(route netlink.Route) bool {
			r.tell(to, route, func(change *RouteChange) { change.Behind = true })
			return ctx.Err() == nil
		})
		if errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil // a change came between: the next list is whole
		}
		if err != nil {
			return fmt.Errorf("cannot list Linux's routes: %w", err)
		}
	}
	if ctx.Err() != nil {
		return nil // the list ends in the middle
	}
	to.Dumped()
	for {
		select {
		case u, ok := <-updates:
			if !ok {
				return nil
			}
			r.tell(to, u.Route, func(change *RouteChange) {
				change.Gone = u.Type == unix.RTM_DELROUTE
				change.Replaces = u.NlFlags&unix.NLM_F_REPLACE != 0
				change.Behind = u.NlFlags&unix.NLM_F_APPEND != 0
			})
		case u, ok := <-addrs:
			if !ok || r.address(u.LinkIndex) {
				return nil
			}
		case u, ok := <-links:
			if !ok || r.device(u) {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// tell tells a table what Linux says of a route.
func (r *reading) tell(to RouteTable, route netlink.Route, how func(change *RouteChange)) {
	for n, reads := range []func(table int) leadsTo{r.leads, r.steers} {
		if reads == nil {
			continue
		}
		if change, ok := routeChange(reads, route); ok {
			change.Steers = n == 1
			how(&change)
			to.Change(change)
		}
	}
}

// drainAll ends subscriptions: the library's goroutines wait for a reader until they are closed.
func drainAll(cancel func(), updates chan netlink.RouteUpdate, addrs chan netlink.AddrUpdate, links chan netlink.LinkUpdate) {
	cancel()
	go drain(updates)
	go drain(addrs)
	go drain(links)
}

func drain[T any](from <-chan T) {
	for range from {
	}
}

// nowhere are the types of routes that lead nowhere, as `ip route` names them.
var nowhere = map[int]string{unix.RTN_BLACKHOLE: "blackhole", unix.RTN_UNREACHABLE: "unreachable", unix.RTN_PROHIBIT: "prohibit"}

// leadsTo notes where a route with some next hops leads, and says whether it is of the set.
type leadsTo func(to *learned.Route, ways []*netlink.NexthopInfo) bool

// routesOf is how routes of a set are read, and the device that they are of; below 0: any.
func (d *Devices) routesOf(set string) (leadsTo, int) {
	switch set {
	case xfrm.Red:
		return d.byPort(transport.PortRed), d.taps[transport.PortRed].index
	case xfrm.Black:
		return d.byPort(transport.PortBlack), d.taps[transport.PortBlack].index
	}
	return d.interfaces.steer(func(way *netlink.NexthopInfo) bool { return way.LinkIndex == d.taps[transport.PortRed].index }), -1
}

// routeChange reads a route of a table.
func routeChange(reads func(table int) leadsTo, r netlink.Route) (c RouteChange, ok bool) {
	of := reads(r.Table)
	if of == nil || r.Tos != 0 || r.Flags&unix.RTM_F_CLONED != 0 {
		return c, false
	}
	c.Table = uint32(r.Table)
	prefix, ok := prefixOf(r)
	if !ok || prefix.Addr().IsLinkLocalUnicast() || prefix.Addr().IsMulticast() {
		return c, false
	}
	c.Route = learned.Route{Prefix: prefix, Type: nowhere[r.Type], Protocol: r.Protocol.String(), Metric: uint32(r.Priority)}
	switch {
	case c.Route.Type != "":
		return c, of(&c.Route, nil)
	case r.Type != unix.RTN_UNICAST:
		return c, false
	}
	ways := r.MultiPath
	if len(ways) == 0 {
		ways = []*netlink.NexthopInfo{{LinkIndex: r.LinkIndex, Gw: r.Gw, Via: r.Via}}
	}
	ways = slices.DeleteFunc(slices.Clone(ways), func(way *netlink.NexthopInfo) bool { return way.Flags&unix.RTNH_F_DEAD != 0 })
	return c, of(&c.Route, ways)
}

// byPort is how routes out of a port are read.
func (d *Devices) byPort(port uint8) leadsTo {
	own := d.taps[port].index
	return func(to *learned.Route, ways []*netlink.NexthopInfo) (found bool) {
		found = to.Type != ""
		for _, way := range ways {
			if way.LinkIndex != own {
				continue
			}
			found = true
			if via, is := gatewayOf(way); is && !slices.Contains(to.Via, via) {
				to.Via = append(to.Via, via)
			}
		}
		slices.SortFunc(to.Via, netip.Addr.Compare)
		to.Via = to.Via[:min(len(to.Via), mostGateways)]
		return found
	}
}

func gatewayOf(way *netlink.NexthopInfo) (netip.Addr, bool) {
	ip := way.Gw
	if via, other := way.Via.(*netlink.Via); other && via != nil {
		ip = via.Addr
	}
	addr, ok := netip.AddrFromSlice(ip)
	return addr.Unmap(), ok
}

// prefixOf is the destination of a route; Linux names none of the default route.
func prefixOf(r netlink.Route) (netip.Prefix, bool) {
	if r.Dst == nil {
		if r.Family == netlink.FAMILY_V4 {
			return netip.PrefixFrom(netip.IPv4Unspecified(), 0), true
		}
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0), r.Family == netlink.FAMILY_V6
	}
	addr, ok := netip.AddrFromSlice(r.Dst.IP)
	bits, size := r.Dst.Mask.Size()
	if ok && r.Family == netlink.FAMILY_V4 {
		addr = addr.Unmap()
	}
	return netip.PrefixFrom(addr, bits), ok && size == addr.BitLen()
}
