// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sallyport/mgmt/internal/xfrm"
)

// Lines are the configuration without its SAs, as commands of sallyctl that Replace takes: one for
// each setting that is not that of the reset. They have no index of a policy, which the box gives.
func (m *Model) Lines() []string {
	out := m.networkLines()
	policies := slices.Collect(m.Policies.All())
	slices.SortFunc(policies, func(p, q *Policy) int { return cmp.Compare(p.Age, q.Age) })
	for _, p := range policies {
		out = append(out, "xfrm policy add "+p.line())
	}
	return out
}

// networkLines are those of all but policies. A device may be named like a word of a command, so
// `name` or `dev` stands before it.
func (m *Model) networkLines() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if m.Bridge != "" {
		add("link add name %s type bridge", m.Bridge)
	}
	for _, v := range m.VLANs {
		add("link add link %s name %s type vlan protocol %s id %d", cmp.Or(v.Parent, v.Dev), v.VLAN, xfrm.VLAN{Protocol: v.Protocol}.ProtocolName(), v.ID)
	}
	for _, v := range m.VRFs {
		add("link add name %s type vrf table %d", v.Name, v.Table)
	}
	for _, v := range m.VLANs {
		if v.VRF != "" {
			add("link set dev %s master %s", v, v.VRF)
		}
	}
	for _, i := range m.Interfaces {
		add("link add name %s type xfrm dev black if_id %s", i.Name, ifIDText(i.IfID))
	}
	for _, i := range m.Interfaces {
		if i.VRF != "" {
			add("link set dev %s master %s", i.Name, i.VRF)
		}
	}
	out = append(out, m.portLines()...)
	for _, net := range m.networks() {
		for _, a := range net.Addrs {
			add("addr add %s dev %s", a.Prefix, a.Place)
		}
		for _, n := range net.Neighs {
			add("neigh add %s lladdr %s dev %s", n.IP, n.MAC, n.Place)
		}
		for _, r := range net.Routes {
			out = append(out, "route add "+r.line()+net.vrfText())
		}
	}
	return append(out, m.limitLines()...)
}

// networks are that of no VRF, and those of the VRFs.
func (m *Model) networks() []VRF {
	return append([]VRF{{Addrs: m.Addrs, Routes: m.Routes, Neighs: m.Neighs}}, m.VRFs...)
}

// vrfText names the VRF of a route.
func (v *VRF) vrfText() string {
	if v.Name == "" {
		return ""
	}
	return " vrf " + v.Name
}

func (m *Model) portLines() (out []string) {
	for _, dev := range Devices {
		l := m.Links[dev]
		set := func(what string) { out = append(out, fmt.Sprintf("link set dev %s %s", dev, what)) }
		if l.MTU != 0 {
			set(fmt.Sprintf("mtu %d", l.MTU))
		}
		if l.Address != nil {
			set("address " + l.Address.String())
		}
		if l.Promisc {
			set("promisc on")
		}
		if l.Master != "" {
			set("master " + l.Master)
		}
		if l.Default != nil {
			out = append(out, fmt.Sprintf("next-hop default dev %s lladdr %s", dev, *l.Default))
		}
		if l.Down {
			set("down")
		}
	}
	return out
}

func (m *Model) limitLines() (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if m.Reassembly.Timeout != 0 {
		add("reassembly set timeout %s", timeoutText(m.Reassembly.Timeout))
	}
	if m.Reassembly.PerSource != 0 {
		add("reassembly set per-source %d", m.Reassembly.PerSource)
	}
	for _, b := range Buckets {
		if limit := m.Limit(b); limit != b.reset {
			add("punt set %s %s dev %s", b.Group, limit, b.Dev)
		}
	}
	if m.Priority != nil {
		add("qos set dscp %s", m.PriorityDSCPs())
	}
	if m.Skipped != nil {
		add("skip-headers set %s", m.SkippedHeaders())
	}
	return out
}

// line is a route as it is added.
func (r Route) line() string {
	out := r.Prefix.String()
	if r.Via.IsValid() {
		out += viaText(r)
	}
	out += fmt.Sprintf(" dev %s", r.Place)
	if r.MTU != 0 {
		out += fmt.Sprintf(" mtu %d", r.MTU)
	}
	return out
}

// line is a policy as it is added. One with an if_id is in the VRF of its interface, whichever that
// is when the line is read.
func (p *Policy) line() string {
	var b strings.Builder
	sel := p.Selector
	if p.IfID != 0 {
		sel.VRF = ""
	}
	fmt.Fprintf(&b, "%s dir %s action %s priority %d", sel, p.Dir, p.Action, p.Priority)
	if flags := flagsOfPolicy(p); len(flags) > 0 {
		fmt.Fprintf(&b, " flag %s", strings.Join(flags, " "))
	}
	if p.Name != "" {
		fmt.Fprintf(&b, " name %s", p.Name)
	}
	if t := p.Template; t != nil {
		fmt.Fprintf(&b, " tmpl src %s dst %s proto %s", xfrm.AddrText(t.Src), xfrm.AddrText(t.Dst), t.Proto)
		if t.SPI != 0 {
			fmt.Fprintf(&b, " spi 0x%08x", t.SPI)
		}
		fmt.Fprintf(&b, " reqid %d mode %s", t.ReqID, t.Mode)
	}
	if p.IfID != 0 {
		fmt.Fprintf(&b, " if_id %s", ifIDText(p.IfID))
	}
	return b.String()
}
