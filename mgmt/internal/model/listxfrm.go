// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

// stateJSON is an SA in `sallyctl -j xfrm state`. iproute2 has no JSON of it: keys are its words.
type stateJSON struct {
	Name         string            `json:"name,omitempty"`
	Src          netip.Addr        `json:"src"`
	Dst          netip.Addr        `json:"dst"`
	Proto        string            `json:"proto"`
	SPI          uint32            `json:"spi"`
	ReqID        uint32            `json:"reqid"`
	IfID         string            `json:"if_id,omitempty"`
	Mode         string            `json:"mode"`
	ReplayWindow uint32            `json:"replay_window"`
	Flags        []string          `json:"flags"`
	ExtraFlags   []string          `json:"extra_flags,omitempty"`
	DF           xfrm.DF           `json:"df,omitempty"`
	DSCP         string            `json:"dscp,omitempty"`
	TFCPad       uint32            `json:"tfcpad,omitempty"`
	Dummy        *dummyJSON        `json:"dummy,omitempty"`
	Node         *xfrm.Node        `json:"node,omitempty"`
	ForDSCP      []string          `json:"for_dscp,omitempty"`
	Aead         *algorithmJSON    `json:"aead,omitempty"`
	Auth         *algorithmJSON    `json:"auth-trunc,omitempty"`
	Enc          *algorithmJSON    `json:"enc,omitempty"`
	Encap        *encapJSON        `json:"encap,omitempty"`
	Sel          map[string]string `json:"sel,omitempty"`
	Lifetime     *lifetimeJSON     `json:"lifetime,omitempty"`
	Current      *currentJSON      `json:"current,omitempty"`
	Seq          *uint64           `json:"seq,omitempty"`
	Dir          xfrm.Dir          `json:"dir"`
}

type algorithmJSON struct {
	Name    string `json:"name"`
	KeyBits int    `json:"key_bits"`
	ICVBits int    `json:"icv_bits,omitempty"`
}

type dummyJSON struct {
	Length uint32 `json:"length"`
	Every  int64  `json:"every_us"`
}

type encapJSON struct {
	Type  string     `json:"type"`
	SPort uint16     `json:"sport"`
	DPort uint16     `json:"dport"`
	Addr  netip.Addr `json:"addr"`
}

// lifetimeJSON are limits; one that is absent is none.
type lifetimeJSON struct {
	ByteSoft   uint64 `json:"byte_soft,omitempty"`
	ByteHard   uint64 `json:"byte_hard,omitempty"`
	PacketSoft uint64 `json:"packet_soft,omitempty"`
	PacketHard uint64 `json:"packet_hard,omitempty"`
	AddSoft    uint64 `json:"add_soft_seconds,omitempty"`
	AddHard    uint64 `json:"add_hard_seconds,omitempty"`
	UseSoft    uint64 `json:"use_soft_seconds,omitempty"`
	UseHard    uint64 `json:"use_hard_seconds,omitempty"`
}

type currentJSON struct {
	Bytes   uint64 `json:"bytes"`
	Packets uint64 `json:"packets"`
}

func algorithm(a xfrm.Algorithm) *algorithmJSON {
	if !a.Given() {
		return nil
	}
	return &algorithmJSON{a.Name, a.KeyBits, a.ICVBits}
}

func (m *Model) stateObject(sa *SA, l Listing) (any, error) {
	o := &stateJSON{
		Name: sa.Name, Src: sa.Src, Dst: sa.Dst, Proto: sa.Proto, SPI: sa.SPI, ReqID: sa.ReqID, IfID: ifIDText(sa.IfID), Mode: sa.Mode, ReplayWindow: sa.ReplayWindow,
		Flags: flagsOf(sa), ExtraFlags: extraFlagsOf(sa), DF: sa.DF, TFCPad: sa.TFCPad,
		Aead: algorithm(sa.Aead), Auth: algorithm(sa.Auth), Enc: algorithm(sa.Enc), Dir: m.wayOf(sa),
	}
	if sa.DSCP.Given {
		o.DSCP = sa.DSCP.String()
	}
	if sa.Dummy != nil {
		o.Dummy = &dummyJSON{sa.Dummy.Length, sa.Dummy.Every.Microseconds()}
	}
	if sa.Node.Of != 0 {
		o.Node = &sa.Node
	}
	if sa.ForDSCP != 0 {
		o.ForDSCP = words(sa.ForDSCP.String(), " ")
	}
	if e := sa.Encap; e != nil {
		o.Encap = &encapJSON{"espinudp", e.SPort, e.DPort, e.OAddr}
	}
	if sa.Sel != nil {
		o.Sel = selectorObject(*sa.Sel)
	}
	if sa.Limited() {
		t := sa.Time
		o.Lifetime = &lifetimeJSON{sa.ByteSoft, sa.ByteHard, sa.PacketSoft, sa.PacketHard, t.Soft, t.Hard, t.UseSoft, t.UseHard}
	}
	if l.Meter != nil {
		used, err := sa.UsageOf(l.Meter)
		if err != nil {
			return nil, err
		}
		o.Current = &currentJSON{used.Bytes, used.Packets}
	}
	if l.Sequence != nil {
		number, known, err := l.Sequence(sa)
		if err != nil {
			return nil, err
		}
		if known {
			o.Seq = &number
		}
	}
	return o, nil
}

// selectorObject has the words of a selector by their names.
func selectorObject(s xfrm.Selector) map[string]string {
	out := map[string]string{}
	for _, word := range s.Words() {
		out[word.Name] = word.Value
	}
	return out
}

// policyJSON is a policy in `sallyctl -j xfrm policy`, likewise.
type policyJSON struct {
	Name     string            `json:"name,omitempty"`
	Sel      map[string]string `json:"sel"`
	Dir      xfrm.Dir          `json:"dir"`
	Action   xfrm.Action       `json:"action"`
	Index    uint32            `json:"index"`
	Priority uint32            `json:"priority"`
	IfID     string            `json:"if_id,omitempty"`
	Flags    []string          `json:"flags"`
	Tmpl     *templateJSON     `json:"tmpl,omitempty"`
	Current  *currentJSON      `json:"current,omitempty"`
	FoundBy  string            `json:"found_by,omitempty"`
}

type templateJSON struct {
	Src   string `json:"src"`
	Dst   string `json:"dst"`
	Proto string `json:"proto"`
	SPI   uint32 `json:"spi,omitempty"`
	ReqID uint32 `json:"reqid"`
	Mode  string `json:"mode"`
}

func (m *Model) policyObject(p *Policy, l Listing) (any, error) {
	o := &policyJSON{
		Name: p.Name, Sel: selectorObject(p.Selector), Dir: p.Dir, Action: cmp.Or(p.Action, xfrm.ActionAllow), Index: p.Index, Priority: p.Priority, IfID: ifIDText(p.IfID),
		Flags: flagsOfPolicy(p),
	}
	if l.ByPrefix && p.Dir == xfrm.DirOut {
		o.FoundBy = m.foundBy(p)
	}
	if t := p.Template; t != nil {
		o.Tmpl = &templateJSON{xfrm.AddrText(t.Src), xfrm.AddrText(t.Dst), t.Proto, t.SPI, t.ReqID, t.Mode}
	}
	if l.Meter != nil {
		used, known, err := m.UsageOfPolicy(p, l.Meter)
		if err != nil {
			return nil, err
		}
		if known {
			o.Current = &currentJSON{used.Bytes, used.Packets}
		}
	}
	return o, nil
}
