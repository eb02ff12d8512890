// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"encoding/binary"
	"net/netip"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// control is the CONTROL register of each chip that a model asks for; with closed ports nothing
// comes in or goes out.
func control(m *model.Model, t *compile.Target, closed bool) [3]uint32 {
	var out [3]uint32
	bit := func(c transport.Chip, f regs.Field, on bool) {
		if on {
			out[c] |= 1 << f.LSB
		}
	}
	red, black := !closed && !m.Links[xfrm.Red].Down, !closed && !m.Links[xfrm.Black].Down
	bit(transport.Inner, regs.InnerControlRxEnable, red)
	bit(transport.Inner, regs.InnerControlTxEnable, red)
	bit(transport.Outer, regs.OuterControlRxEnable, black)
	bit(transport.Outer, regs.OuterControlTxEnable, black)
	bit(transport.Inner, regs.InnerControlBump, m.Bump())
	bit(transport.Outer, regs.OuterControlBump, m.Bump())
	bit(transport.Inner, regs.InnerControlMacFilter, !m.Bump() && !m.Links[xfrm.Red].Promisc)
	bit(transport.Outer, regs.OuterControlMacFilter, !m.Bump() && !m.Links[xfrm.Black].Promisc)
	bit(transport.Crypto, regs.CryptoControlEnable, true)
	bit(transport.Crypto, regs.CryptoControlBypassEncrypt, t.BypassEncrypt)
	bit(transport.Crypto, regs.CryptoControlBypassDecrypt, t.BypassDecrypt)
	bit(transport.Crypto, regs.CryptoControlBump, m.Bump())
	return out
}

var controls = [3]regs.Register{regs.InnerControl, regs.CryptoControl, regs.OuterControl}

// bypass are the bits of the crypto chip's CONTROL that let clear packets cross.
var bypass = uint32(1)<<regs.CryptoControlBypassEncrypt.LSB | uint32(1)<<regs.CryptoControlBypassDecrypt.LSB

// install performs the writes of a plan, the port registers and the enables. For a plan that wants
// it, the crypto chip lets no clear packet pass from before the first row until all rows are in
// place, and all packets that met others have gone.
func (s *Session) install(m *model.Model, p *plan.Plan) error {
	want := control(m, p.Target, s.Closed)
	before, err := s.Box.Read32(transport.Crypto, regs.CryptoControl)
	if err != nil {
		return err
	}
	if err := s.rest(want); err != nil {
		return err
	}
	if err := s.ports(m); err != nil {
		return err
	}
	if err := s.Box.SeedIdentifiers(); err != nil {
		return err
	}
	opened := p.Shut
	if p.Shut {
		if err := s.Box.Write32(transport.Crypto, regs.CryptoControl, before&^bypass); err != nil {
			return err
		}
	}
	rows := rowWriter{box: s.Box, ivMask: s.IVMask, alive: s.Alive}
	defer rows.wipe()
	for _, w := range p.Writes {
		if w.Drained {
			if err := rows.flush(); err != nil {
				return err
			}
			if err := s.Box.Wait(plan.DrainTime); err != nil {
				return err
			}
		}
		if w.Phase >= plan.PhaseInsert && !opened {
			// A rule that lets packets bypass goes in when the crypto chip lets them pass, and no
			// message is on its way that the policies of before protect.
			opened = true
			if err := rows.flush(); err != nil {
				return err
			}
			if err := s.afterSent(); err != nil {
				return err
			}
			if err := s.Box.Write32(transport.Crypto, regs.CryptoControl, before|want[transport.Crypto]); err != nil {
				return err
			}
		}
		if err := rows.add(w); err != nil {
			return err
		}
	}
	if err := rows.flush(); err != nil {
		return err
	}
	if p.Shut {
		if err := s.Box.Wait(plan.DrainTime); err != nil {
			return err
		}
		if err := s.afterSent(); err != nil {
			return err
		}
	}
	for _, c := range []transport.Chip{transport.Crypto, transport.Outer, transport.Inner} {
		if err := s.Box.Write32(c, controls[c], want[c]); err != nil {
			return err
		}
	}
	return nil
}

// rest stops the ports of a box that becomes a bridge, or ceases to be one, until its rows are in:
// the same row means one thing to a router and another to a bridge.
func (s *Session) rest(want [3]uint32) error {
	bump := uint32(1) << regs.InnerControlBump.LSB
	now, err := s.Box.Read32(transport.Inner, regs.InnerControl)
	if err != nil || now&bump == want[transport.Inner]&bump {
		return err
	}
	_, err = s.stopReceiving()
	return err
}

// stopReceiving stops both ports from receiving, and waits until the chips have sent what they had
// received. It gives what the CONTROL registers were.
func (s *Session) stopReceiving() (before []chip.Setting, err error) {
	var stopped []chip.Setting
	for _, c := range []transport.Chip{transport.Inner, transport.Outer} {
		now, err := s.Box.Read32(c, controls[c])
		if err != nil {
			return nil, err
		}
		before = append(before, chip.Set(c, controls[c], now))
		stopped = append(stopped, chip.Set(c, controls[c], now&^(1<<regs.InnerControlRxEnable.LSB)))
	}
	if err := s.Box.WriteAll(stopped...); err != nil {
		return nil, err
	}
	return before, s.Box.Wait(plan.DrainTime)
}

// loopback is the address of a bridge that has none: it is on no wire (RFC 1122, 3.2.1.3).
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// ports writes the registers of the two Ethernet ports.
func (s *Session) ports(m *model.Model) error {
	red, black := m.PortMAC(xfrm.Red), m.PortMAC(xfrm.Black)
	v4, v6 := m.Local(xfrm.Black, false), m.Local(xfrm.Black, true)
	if m.Bump() && !v4.IsValid() && !v6.IsValid() {
		v4 = loopback // none at all would make every address the box's
	}
	red4, red6 := m.Local(xfrm.Red, false), m.Local(xfrm.Red, true)
	low := func(mac xfrm.MAC) uint32 { return binary.LittleEndian.Uint32(mac[:4]) }
	high := func(mac xfrm.MAC) uint32 { return uint32(binary.LittleEndian.Uint16(mac[4:])) }
	return s.Box.WriteAll(
		chip.Set(transport.Inner, regs.InnerPortMacLo, low(red)),
		chip.Set(transport.Inner, regs.InnerPortMacHi, high(red)),
		chip.Set(transport.Inner, regs.InnerPortMtu, m.Mtu(xfrm.Red)),
		chip.Set(transport.Inner, regs.InnerLocalIpv4, compile.Word(red4, 0)),
		chip.Set(transport.Inner, regs.InnerLocalIpv60, compile.Word(red6, 0)),
		chip.Set(transport.Inner, regs.InnerLocalIpv61, compile.Word(red6, 1)),
		chip.Set(transport.Inner, regs.InnerLocalIpv62, compile.Word(red6, 2)),
		chip.Set(transport.Inner, regs.InnerLocalIpv63, compile.Word(red6, 3)),
		chip.Set(
			transport.Inner, regs.InnerLocalPrefix,
			m.LocalBits(xfrm.Red, false)<<regs.InnerLocalPrefixIpv4.LSB|m.LocalBits(xfrm.Red, true)<<regs.InnerLocalPrefixIpv6.LSB,
		),
		chip.Set(transport.Inner, regs.InnerReasmTimeout, s.reassemblyTicks(transport.Inner, m)),
		chip.Set(transport.Inner, regs.InnerReasmPerSource, m.Reassembly.PerSourceOrDefault()),
		chip.Set(transport.Crypto, regs.CryptoSelfTestPeriod, uint32(s.Box.Clock(transport.Crypto).Units(time.Minute, 1<<20))),
		chip.Set(transport.Inner, regs.InnerQosDscpLow, uint32(m.PriorityDSCPs())),
		chip.Set(transport.Inner, regs.InnerQosDscpHigh, uint32(m.PriorityDSCPs()>>32)),
		chip.Set(transport.Inner, regs.InnerSkipHeaders, uint32(m.SkippedHeaders())),
		chip.Set(transport.Outer, regs.OuterSkipHeaders, uint32(m.SkippedHeaders())),
		chip.Set(transport.Outer, regs.OuterPortMacLo, low(black)),
		chip.Set(transport.Outer, regs.OuterPortMacHi, high(black)),
		chip.Set(transport.Outer, regs.OuterPortMtu, m.Mtu(xfrm.Black)),
		chip.Set(transport.Outer, regs.OuterLocalIpv4, compile.Word(v4, 0)),
		chip.Set(
			transport.Outer, regs.OuterLocalPrefix,
			m.LocalBits(xfrm.Black, false)<<regs.OuterLocalPrefixIpv4.LSB|m.LocalBits(xfrm.Black, true)<<regs.OuterLocalPrefixIpv6.LSB,
		),
		chip.Set(transport.Outer, regs.OuterReasmTimeout, s.reassemblyTicks(transport.Outer, m)),
		chip.Set(transport.Outer, regs.OuterReasmPerSource, m.Reassembly.PerSourceOrDefault()),
		chip.Set(transport.Outer, regs.OuterLocalIpv60, compile.Word(v6, 0)),
		chip.Set(transport.Outer, regs.OuterLocalIpv61, compile.Word(v6, 1)),
		chip.Set(transport.Outer, regs.OuterLocalIpv62, compile.Word(v6, 2)),
		chip.Set(transport.Outer, regs.OuterLocalIpv63, compile.Word(v6, 3)),
		chip.Set(transport.Outer, regs.OuterQosDscpLow, uint32(m.PriorityDSCPs())),
		chip.Set(transport.Outer, regs.OuterQosDscpHigh, uint32(m.PriorityDSCPs()>>32)),
	)
}

// eraseKeys erases keys that are not known, and with them the crypto chip's enables and its mark,
// which it writes again. It waits for the end of the erasure: the next change finds a chip that
// is ready.
func (s *Session) eraseKeys(generation uint32) error {
	err := s.Box.WriteAll(
		chip.Set(transport.Crypto, regs.CryptoControl, 1<<regs.CryptoControlZeroize.LSB),
		chip.Set(transport.Crypto, regs.CommonScratch, generation),
	)
	if err != nil {
		return err
	}
	return s.Box.WaitErased()
}

// clearAll stops the ports and clears every row that a packet is looked up in, for tables whose
// contents are not known. The crypto chip stays enabled if it is, which shows that it has its keys.
func (s *Session) clearAll() error {
	for _, c := range []transport.Chip{transport.Inner, transport.Outer} {
		if err := s.Box.Write32(c, controls[c], 0); err != nil {
			return err
		}
	}
	rows := rowWriter{box: s.Box, ivMask: s.IVMask, alive: s.Alive}
	for _, t := range plan.Lookups(&s.Box.Capabilities) {
		for n := range t.Rows {
			if err := rows.add(plan.Write{Chip: t.Chip, Table: t.Table, Index: t.Index(n)}); err != nil {
				return err
			}
		}
	}
	return rows.flush()
}

// reassemblyTicks are the units of 2^20 cycles that REASM_TIMEOUT counts in, at least one.
func (s *Session) reassemblyTicks(c transport.Chip, m *model.Model) uint32 {
	return uint32(max(1, s.Box.Clock(c).Units(m.Reassembly.TimeoutOrDefault(), 1<<20)))
}
