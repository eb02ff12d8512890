// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// audited is an event of a packet of an inbound SA that was dropped.
type audited struct {
	chip     transport.Chip
	row      int
	reason   uint32
	sequence uint32
	cycles   uint64        // since the chip's reset, when it was judged
	uptime   string        // the same in seconds
	at       time.Time     // the same, by the clock of this program
	packet   xfrm.Selector // the fields of a packet with other selectors than its SA's
}

// auditQueue is a chip's queue of such events. The bits of its registers are the same for each.
type auditQueue struct {
	eventQueue
	sequence, timeLow, timeHigh regs.Register
	packet                      []regs.Register // the packet's fields, if the chip knows them
	counters                    string
}

var auditQueues = []auditQueue{
	{
		eventQueue: eventQueue{"inner_audit", transport.Inner, regs.InnerAuditEvent, regs.InnerAuditControl},
		sequence:   regs.InnerAuditSequence, timeLow: regs.InnerAuditTimeLo, timeHigh: regs.InnerAuditTimeHi,
		packet: []regs.Register{
			regs.InnerAuditSrc0, regs.InnerAuditSrc1, regs.InnerAuditSrc2, regs.InnerAuditSrc3,
			regs.InnerAuditDst0, regs.InnerAuditDst1, regs.InnerAuditDst2, regs.InnerAuditDst3, regs.InnerAuditPorts, regs.InnerAuditUpper,
		},
		counters: "the counters drop_replayed, drop_too_old, drop_window_upset, drop_selector_mismatch and drop_no_selector of the inner chip",
	},
	{
		eventQueue: eventQueue{"crypto_audit", transport.Crypto, regs.CryptoAuditEvent, regs.CryptoAuditControl},
		sequence:   regs.CryptoAuditSequence, timeLow: regs.CryptoAuditTimeLo, timeHigh: regs.CryptoAuditTimeHi,
		counters: "the counts of drop_dec_icv of the crypto chip",
	},
}

// takeAudit takes the events that wait in a queue, as many as it holds, and says whether some
// were lost.
func (s *Source) takeAudit(q auditQueue) (events []audited, lost bool, err error) {
	lost, err = s.takeQueue(q.eventQueue, func(event []uint32) error {
		e := audited{chip: q.chip, row: int(regs.InnerAuditEventSa.Get(event)), reason: uint32(regs.InnerAuditEventReason.Get(event))}
		words, err := s.readAll(q.chip, q.sequence, q.timeLow, q.timeHigh)
		if err != nil {
			return err
		}
		e.sequence, e.cycles = words[0], uint64(words[2])<<32|uint64(words[1])
		e.uptime = s.Box.Clock(q.chip).Text(e.cycles)
		if e.reason == regs.AuditReasonSelectorMismatch && q.packet != nil {
			if words, err = s.readAll(q.chip, q.packet...); err != nil {
				return err
			}
			e.packet = auditedPacket(words)
		}
		events = append(events, e)
		return nil
	})
	return events, lost, err
}

// clockReads is how often clocks are read until none of their high halves changes meanwhile, which
// each does every 14 s.
const clockReads = 4

// readClocks reads the cycles since reset of the chips that have such queues, together, and says
// what time that is.
func (s *Source) readClocks() (cycles map[transport.Chip]uint64, now time.Time, err error) {
	var sources []chip.Source
	for _, q := range auditQueues {
		for _, r := range []regs.Register{regs.CommonCyclesHi, regs.CommonCyclesLo, regs.CommonCyclesHi} {
			sources = append(sources, chip.Source{Chip: q.chip, Register: r})
		}
	}
	for range clockReads {
		words, err := s.Box.ReadAll(sources...)
		if err != nil {
			return nil, now, err
		}
		now, cycles = s.Now(), map[transport.Chip]uint64{}
		for i, q := range auditQueues {
			if high := words[3*i]; high == words[3*i+2] {
				cycles[q.chip] = uint64(high)<<32 | uint64(words[3*i+1])
			}
		}
		if len(cycles) == len(auditQueues) {
			return cycles, now, nil
		}
	}
	return nil, now, errors.New("the high half of a chip's CYCLES changes with each read, which it should do each 14 s")
}

func (s *Source) readAll(c transport.Chip, registers ...regs.Register) ([]uint32, error) {
	var sources []chip.Source
	for _, r := range registers {
		sources = append(sources, chip.Source{Chip: c, Register: r})
	}
	return s.Box.ReadAll(sources...)
}

// auditedPacket gives the selectors of a packet from the words that show them.
func auditedPacket(words []uint32) xfrm.Selector {
	ports, upper := words[8:9], words[9:10]
	version, protocol := uint8(regs.InnerAuditUpperVersion.Get(upper)), uint8(regs.InnerAuditUpperProtocol.Get(upper))
	first, second := xfrm.One(uint16(regs.InnerAuditPortsSrcPort.Get(ports))), xfrm.One(uint16(regs.InnerAuditPortsDstPort.Get(ports)))
	sel := xfrm.Selector{Src: hostOf(words[0:4], version), Dst: hostOf(words[4:8], version), Proto: protocol}
	switch regs.InnerAuditUpperUpper.Get(upper) {
	case regs.UpperPorts:
		sel.SPort, sel.DPort = first, second
	case regs.UpperIcmp:
		sel.Type = first
		if xfrm.HasCode(protocol, version) {
			sel.Code = second
		}
	default:
		sel.Opaque = xfrm.HasPorts(protocol) || xfrm.HasType(protocol, version)
	}
	return sel
}

// hostOf is the address that the chips have as a number of four words, the lowest first.
func hostOf(words []uint32, version uint8) netip.Prefix {
	if version == 4 {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, words[0]))), 32)
	}
	var octets [16]byte
	for i, word := range words {
		binary.BigEndian.PutUint32(octets[12-4*i:], word)
	}
	return netip.PrefixFrom(netip.AddrFrom16(octets), 128)
}
