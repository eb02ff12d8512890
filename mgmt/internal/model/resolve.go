// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"

	"sallyport/mgmt/internal/xfrm"
)

var Devices = []string{xfrm.Red, xfrm.Black}

// Direct decides the direction of SAs that are new (docs/reference/control-socket.md).
func (m *Model) Direct(report *Report) error {
	for _, sa := range m.Changes.Added() {
		asked := m.asked(sa)
		if asked == askedBoth && sa.State.Dir == "" {
			return xfrm.Errorf(sa.Pos, "the SA spi 0x%x is named by an out policy and by an in or fwd policy: write its `dir in` or `dir out`, or a tmpl with its src and dst", sa.SPI)
		}
		var known bool
		if sa.Way, known = m.direction(sa, asked); !known {
			report.Warn(sa.Pos, "the SA spi 0x%x is taken as inbound: it has no dir, no out policy names it and neither of its endpoints is an address of black", sa.SPI)
		}
		m.SAs.direct(sa)
		if sa.Way == xfrm.DirOut && sa.ReplaySeq != 0 {
			return xfrm.Errorf(sa.Pos, "replay-seq is of inbound SAs alone, and this one is outbound: write replay-oseq for the numbers it sends")
		}
		if sa.Way == xfrm.DirIn && sa.ReplayOSeq != 0 {
			return xfrm.Errorf(sa.Pos, "replay-oseq is of outbound SAs alone, and this one is inbound: write replay-seq for the numbers it receives")
		}
		if sa.Way == xfrm.DirIn && sa.Flags.ESN && sa.ReplayWindow == 0 {
			return xfrm.Errorf(sa.Pos, "flag esn needs a replay-window: the high half of the sequence number is inferred from it")
		}
		if sa.Way == xfrm.DirIn {
			if err := cmp.Or(sa.CheckInboundEncap(sa.Pos), sa.CheckInboundOuter(sa.Pos), sa.CheckInboundTFC(sa.Pos), sa.CheckInboundNode(sa.Pos)); err != nil {
				return err
			}
		}
	}
	for _, p := range m.Touched() {
		if p.Dir != xfrm.DirOut || p.Template == nil || len(m.Choices(p)) > 0 {
			continue
		}
		for _, sa := range m.Named(p, "") {
			if !sa.Fresh && sa.State.Dir == "" && m.asked(sa) != askedBoth {
				return xfrm.Errorf(p.Pos, "the tmpl names the SA spi 0x%x, which was installed as inbound: delete it and add it with `dir out`, or load it together with its policy", sa.SPI)
			}
		}
	}
	return nil
}

// askedBoth is the direction of an SA in transport mode that templates without hosts name for both.
const askedBoth xfrm.Dir = "both"

// asked says whether an out policy or another one names an SA by its template.
func (m *Model) asked(sa *SA) (way xfrm.Dir) {
	for _, p := range m.Naming(sa) {
		of := xfrm.DirIn
		if p.Dir == xfrm.DirOut {
			of = xfrm.DirOut
		}
		switch {
		case way == "" || way == of:
			way = of
		case sa.Mode == xfrm.ModeTransport:
			way = askedBoth
		default:
			way = xfrm.DirOut
		}
	}
	return way
}

func (m *Model) direction(sa *SA, asked xfrm.Dir) (dir xfrm.Dir, known bool) {
	if sa.State.Dir != "" {
		return sa.State.Dir, true
	}
	if asked == xfrm.DirOut {
		return xfrm.DirOut, true
	}
	for _, a := range m.Addrs {
		if a.Dev == xfrm.Black && a.Prefix.Addr() == sa.Src {
			return xfrm.DirOut, true
		}
	}
	for _, a := range m.Addrs {
		if a.Dev == xfrm.Black && a.Prefix.Addr() == sa.Dst {
			return xfrm.DirIn, true
		}
	}
	return xfrm.DirIn, asked == xfrm.DirIn
}
