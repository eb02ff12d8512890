// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"strings"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/xfrm"
)

// DescribeSAs prints SAs as DescribeSA does, each by itself.
func (m *Model) DescribeSAs(sas iter.Seq[*SA], meter Meter) ([]string, error) {
	return described(sas, meter, m.DescribeSA)
}

// DescribePolicies prints policies as DescribePolicy does, each by itself.
func (m *Model) DescribePolicies(policies iter.Seq[*Policy], meter Meter) ([]string, error) {
	return described(policies, meter, m.DescribePolicy)
}

func described[V any](all iter.Seq[V], meter Meter, describe func(V, Meter) (string, error)) (texts []string, err error) {
	for v := range all {
		text, err := describe(v, meter)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// DescribeSA prints as `ip xfrm state list`, with the key redacted; with statistics as
// `ip -s xfrm state list`, without times.
func (m *Model) DescribeSA(sa *SA, meter Meter) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "src %s dst %s\n\tproto %s spi 0x%08x reqid %d mode %s\n", sa.Src, sa.Dst, sa.Proto, sa.SPI, sa.ReqID, sa.Mode)
	if sa.Name != "" {
		fmt.Fprintf(&b, "\tname %s\n", sa.Name)
	}
	fmt.Fprintf(&b, "\treplay-window %d ", sa.ReplayWindow)
	if flags := flagsOf(sa); len(flags) > 0 {
		fmt.Fprintf(&b, "flag %s ", strings.Join(flags, " "))
	}
	if flags := extraFlagsOf(sa); len(flags) > 0 {
		fmt.Fprintf(&b, "extra_flag %s ", strings.Join(flags, " "))
	}
	if sa.DF != "" {
		fmt.Fprintf(&b, "df %s ", sa.DF)
	}
	if sa.DSCP.Given {
		fmt.Fprintf(&b, "dscp %s ", sa.DSCP)
	}
	if sa.TFCPad != 0 {
		fmt.Fprintf(&b, "tfcpad %d ", sa.TFCPad)
	}
	if sa.Dummy != nil {
		fmt.Fprintf(&b, "%s ", sa.Dummy)
	}
	if sa.Node.Of != 0 {
		fmt.Fprintf(&b, "%s ", sa.Node)
	}
	if sa.ForDSCP != 0 {
		fmt.Fprintf(&b, "for-dscp %s ", sa.ForDSCP.Words())
	}
	b.WriteByte('\n')
	if sa.Aead.Given() {
		fmt.Fprintf(&b, "\taead %s %s %d\n", sa.Aead.Name, xfrm.Redacted, sa.Aead.ICVBits)
	} else {
		fmt.Fprintf(&b, "\tauth-trunc %s %s %d\n\tenc %s %s\n", sa.Auth.Name, xfrm.Redacted, sa.Auth.ICVBits, sa.Enc.Name, xfrm.Redacted)
	}
	if sa.Encap != nil {
		fmt.Fprintf(&b, "\t%s\n", sa.Encap)
	}
	if sa.Sel != nil {
		fmt.Fprintf(&b, "\tsel %s \n", sa.Sel)
	}
	if sa.Limited() || meter != nil {
		fmt.Fprintf(&b, "\tlifetime config:\n\t  limit: soft %s(bytes), hard %s(bytes)\n\t  limit: soft %s(packets), hard %s(packets)\n",
			limitText(sa.ByteSoft), limitText(sa.ByteHard), limitText(sa.PacketSoft), limitText(sa.PacketHard))
	}
	if t := sa.Time; t.Given() {
		fmt.Fprintf(&b, "\t  expire add: soft %d(sec), hard %d(sec)\n\t  expire use: soft %d(sec), hard %d(sec)\n", t.Soft, t.Hard, t.UseSoft, t.UseHard)
	}
	if meter != nil {
		used, err := sa.UsageOf(meter)
		if err != nil {
			return "", err
		}
		b.WriteString(used.String())
	}
	if sa.IfID != 0 {
		fmt.Fprintf(&b, "\tif_id %s\n", ifIDText(sa.IfID))
	}
	fmt.Fprintf(&b, "\tdir %s\n", m.wayOf(sa))
	return b.String(), nil
}

// wayOf is the direction of an SA, of one that is new too.
func (m *Model) wayOf(sa *SA) xfrm.Dir {
	if !sa.Fresh {
		return sa.Way
	}
	way, _ := m.direction(sa, m.asked(sa))
	return way
}

func limitText(n uint64) string {
	if n == 0 {
		return "(INF)"
	}
	return fmt.Sprint(n)
}

// DescribePolicy prints as `ip xfrm policy list`; with statistics also what it has carried, if that
// is counted.
func (m *Model) DescribePolicy(p *Policy, meter Meter) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s \n\tdir %s ", p.Selector, p.Dir)
	if p.Action != xfrm.ActionAllow {
		fmt.Fprintf(&b, "action %s ", p.Action)
	}
	fmt.Fprintf(&b, "index %d priority %d ", p.Index, p.Priority)
	if flags := flagsOfPolicy(p); len(flags) > 0 {
		fmt.Fprintf(&b, "flag %s ", strings.Join(flags, " "))
	}
	if p.Name != "" {
		fmt.Fprintf(&b, "name %s ", p.Name)
	}
	b.WriteByte('\n')
	if t := p.Template; t != nil {
		fmt.Fprintf(&b, "\ttmpl src %s dst %s\n\t\tproto %s ", xfrm.AddrText(t.Src), xfrm.AddrText(t.Dst), t.Proto)
		if t.SPI != 0 {
			fmt.Fprintf(&b, "spi 0x%08x ", t.SPI)
		}
		fmt.Fprintf(&b, "reqid %d mode %s\n", t.ReqID, t.Mode)
	}
	if p.IfID != 0 {
		fmt.Fprintf(&b, "\tif_id %s\n", ifIDText(p.IfID))
	}
	if meter != nil {
		used, known, err := m.UsageOfPolicy(p, meter)
		if err != nil {
			return "", err
		}
		if known {
			b.WriteString(used.String())
		}
	}
	return b.String(), nil
}

// show prints addresses, links, routes, neighbours, or the limits of reassembly or of punted
// frames, as lines that could be added again.
func (m *Model) show(what string) string {
	var b strings.Builder
	switch what {
	case "qos":
		fmt.Fprintf(&b, "dscp %s\n", m.PriorityDSCPs())
	case "skip-headers":
		fmt.Fprintf(&b, "%s\n", m.SkippedHeaders())
	case "addr":
		for _, net := range m.networks() {
			for _, a := range net.Addrs {
				fmt.Fprintf(&b, "%s dev %s\n", a.Prefix, a.Place)
			}
		}
	case "link":
		for _, dev := range Devices {
			l := m.Links[dev]
			state := "up"
			if l.Down {
				state = "down"
			}
			fmt.Fprintf(&b, "%s %s mtu %d address %s", dev, state, m.Mtu(dev), m.PortMAC(dev))
			if l.Default != nil {
				fmt.Fprintf(&b, " default-next-hop %s", *l.Default)
			}
			if l.Promisc {
				b.WriteString(" promisc on")
			}
			if l.Master != "" {
				fmt.Fprintf(&b, " master %s", l.Master)
			}
			b.WriteByte('\n')
		}
		if m.Bridge != "" {
			fmt.Fprintf(&b, "%s type bridge\n", m.Bridge)
		}
		for _, v := range m.VLANs {
			fmt.Fprintf(&b, "link %s name %s type vlan protocol %s id %d", cmp.Or(v.Parent, v.Dev), v, xfrm.VLAN{Protocol: v.Protocol}.ProtocolName(), v.ID)
			if v.VRF != "" {
				fmt.Fprintf(&b, " master %s", v.VRF)
			}
			b.WriteByte('\n')
		}
		for _, v := range m.VRFs {
			fmt.Fprintf(&b, "%s type vrf table %d\n", v.Name, v.Table)
		}
		for _, i := range m.Interfaces {
			fmt.Fprintf(&b, "%s type xfrm dev black if_id %s", i.Name, ifIDText(i.IfID))
			if i.VRF != "" {
				fmt.Fprintf(&b, " master %s", i.VRF)
			}
			b.WriteByte('\n')
		}
	case "route":
		for _, net := range m.networks() {
			for _, r := range net.Routes {
				fmt.Fprintln(&b, r.line()+net.vrfText())
			}
		}
		for dev, r := range m.linuxRoutes() {
			b.WriteString(linuxLine(dev, "", r))
		}
		for v, r := range m.apartRoutes() {
			b.WriteString(linuxLine(m.Inside(v.Name).VLANOf(r), v.vrfText(), r))
		}
	case "reassembly":
		fmt.Fprintf(&b, "timeout %s per-source %d\n", timeoutText(m.Reassembly.TimeoutOrDefault()), m.Reassembly.PerSourceOrDefault())
	case "punt":
		return m.showPunt()
	case "neigh":
		for _, net := range m.networks() {
			for _, n := range net.Neighs {
				fmt.Fprintf(&b, "%s dev %s lladdr %s\n", n.IP, n.Place, n.MAC)
			}
		}
		for hop, dev := range m.learnedHosts() {
			fmt.Fprintf(&b, "%s dev %s lladdr %s nud reachable\n", hop.IP.WithZone(""), dev, m.Learned[hop])
		}
	}
	return b.String()
}

// viaText prints a gateway, with its family where that is not the destination's.
func viaText(r Route) string {
	switch {
	case r.Prefix.Addr().Is6() == r.Via.Is6():
		return fmt.Sprintf(" via %s", r.Via)
	case r.Via.Is6():
		return fmt.Sprintf(" via inet6 %s", r.Via)
	}
	return fmt.Sprintf(" via inet %s", r.Via)
}

// linuxLine prints a route of Linux as `ip route` does.
func linuxLine(dev, vrf string, r *learned.Route) string {
	var b strings.Builder
	if r.Type != "" {
		b.WriteString(r.Type + " ")
	}
	b.WriteString(destination(r.Prefix))
	via := func(hop netip.Addr) string {
		return viaText(Route{Prefix: r.Prefix, Via: hop.WithZone("")}) + " dev " + dev
	}
	switch {
	case r.Type != "":
	case len(r.Via) == 0:
		b.WriteString(" dev " + dev)
	case len(r.Via) == 1:
		b.WriteString(via(r.Via[0]))
	}
	fmt.Fprintf(&b, "%s proto %s", vrf, r.Protocol)
	if r.Metric != 0 {
		fmt.Fprintf(&b, " metric %d", r.Metric)
	}
	if !r.OnChip() {
		b.WriteString(" rt_offload_failed")
	}
	b.WriteByte('\n')
	if len(r.Via) > 1 {
		for _, hop := range r.Via {
			fmt.Fprintf(&b, "\tnexthop%s weight 1\n", via(hop))
		}
	}
	return b.String()
}
