// SPDX-License-Identifier: Apache-2.0

// Package fakebox models three chips in memory, for tests of their drivers. It has the register map
// of regs/*.rdl with its windows, and refuses every access that the real chips answer with an
// error.
package fakebox

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Row is a write of one row, in the order of time.
type Row struct {
	Chip  transport.Chip
	Table string
	Index int
	Words []uint32
}

type chip struct {
	registers map[uint32]uint32
	data      [32]uint32
	tables    map[uint32]map[int][]uint32
	counters  []uint64
	latched   uint64
	busy      int
	failed    bool
	torn      bool // the row in data was begun before a zeroize
	tampered  bool // its tamper input is active now
}

// Box implements transport.Transport.
type Box struct {
	mu     sync.Mutex // of Do and Wait
	chips  [3]*chip
	shells [3]*Shell // nil without AddShells
	// Log is every row written.
	Log []Row
	// Waits has, for each wait, how many rows had been written before it.
	Waits []int
	// OnRow, if there is one, is called with every row written.
	OnRow func(Row)
	// OnRead is called behind each register that is read.
	OnRead func(c transport.Chip, addr uint32)
	// Writes counts register writes, and Accesses reads too.
	Writes, Accesses int
	// BusyReads is how often TABLE_STATUS says busy after a command.
	BusyReads int
	// Flood is how many more events come: for each that is taken another like it, at once, as long
	// as there are any.
	Flood int
	// FailAfter n makes the n-th access from now fail, and all behind it; 0: none fails.
	FailAfter int
	// OnFail, if there is one, is called with each access that FailAfter makes fail.
	OnFail func()
	// PulseAfter n is a tamper pulse before the n-th access from now; 0 is none.
	PulseAfter int

	events queue   // of lifetimes
	peers  queue   // events of peers that have moved
	hosts  queue   // events of packets to hosts without a row
	audit  queue   // events of packets that the inner chip dropped
	forged queue   // events of packets that the crypto chip did
	places []place // at the outer chip
	round  uint32

	flipped map[rowAt]bool // rows with a flipped bit
}

// place is where a packet of an inbound SA came from, and not from its peer.
type place struct {
	sa   uint16
	from netip.AddrPort
}

var (
	registers = [3][]regs.Register{regs.InnerRegisters, regs.CryptoRegisters, regs.OuterRegisters}
	tables    = [3][]regs.Table{regs.InnerTables, regs.CryptoTables, regs.OuterTables}
	counters  = [3][]regs.Counter{regs.InnerCounters, regs.CryptoCounters, regs.OuterCounters}
)

// Sizes of a fake box, as log2 where the register is.
type Sizes struct{ SABits, FlowBits, SADBits, Rules, NextHops, HostBits, Window, Suites uint32 }

// Small is enough for most tests. It has every suite.
var Small = Sizes{SABits: 4, FlowBits: 6, SADBits: 6, Rules: 32, NextHops: 256, HostBits: 6, Window: 4096, Suites: 0x7ffe}

// noCard is how a simulation of cores alone answers an access of a shell.
const noCard = transport.Refusal(2)

// New makes a box after reset.
func New(s Sizes) *Box {
	b := &Box{
		events: queue{registers: []regs.Register{regs.InnerLifetimeEvent}},
		peers:  queue{registers: []regs.Register{regs.InnerPeerEvent}},
		hosts: queue{registers: []regs.Register{
			regs.InnerHostEvent, regs.InnerHostAddr0, regs.InnerHostAddr1, regs.InnerHostAddr2, regs.InnerHostAddr3,
		}},
		audit: queue{registers: []regs.Register{
			regs.InnerAuditEvent, regs.InnerAuditSequence, regs.InnerAuditTimeLo, regs.InnerAuditTimeHi,
			regs.InnerAuditSrc0, regs.InnerAuditSrc1, regs.InnerAuditSrc2, regs.InnerAuditSrc3,
			regs.InnerAuditDst0, regs.InnerAuditDst1, regs.InnerAuditDst2, regs.InnerAuditDst3, regs.InnerAuditPorts, regs.InnerAuditUpper,
		}},
		forged: queue{chip: transport.Crypto, registers: []regs.Register{
			regs.CryptoAuditEvent, regs.CryptoAuditSequence, regs.CryptoAuditTimeLo, regs.CryptoAuditTimeHi,
		}},
	}
	for c := range b.chips {
		chip := &chip{registers: map[uint32]uint32{}, tables: map[uint32]map[int][]uint32{}, counters: make([]uint64, len(counters[c]))}
		for _, r := range registers[c] {
			chip.registers[r.Offset] = r.Reset
		}
		for _, t := range tables[c] {
			chip.tables[t.Number] = map[int][]uint32{}
		}
		for r, v := range map[regs.Register]uint32{
			regs.CommonChip: uint32(c) + 1, regs.CommonVersion: 0x000100, regs.CommonBuild: 1, regs.CommonStatus: 7,
			regs.CommonCapabilitySaBits: s.SABits, regs.CommonCapabilityFlowBits: s.FlowBits, regs.CommonCapabilitySadBits: s.SADBits,
			regs.CommonCapabilityWays: 4, regs.CommonCapabilityRules: s.Rules, regs.CommonCapabilityNextHops: s.NextHops,
			regs.CommonCapabilityLanes: 4, regs.CommonCapabilitySuites: s.Suites, regs.CommonCapabilityReplayWindow: s.Window,
			regs.CommonCapabilityHostBits: s.HostBits,
			regs.CommonCapabilityCounters: uint32(len(counters[c])),
		} {
			chip.registers[r.Offset] = v
		}
		b.chips[c] = chip
	}
	return b
}

// Reset makes the box forget everything but its sizes.
func (b *Box) Reset() {
	for c, chip := range b.chips {
		for _, t := range tables[c] {
			chip.tables[t.Number] = map[int][]uint32{}
		}
		for _, r := range registers[c] {
			if r.Role == regs.Control {
				chip.registers[r.Offset] = r.Reset
			}
		}
		clear(chip.counters)
	}
	b.Log, b.flipped = nil, nil
}

// Set changes a register behind the bus, as hardware does.
func (b *Box) Set(c transport.Chip, r regs.Register, value uint32) {
	b.chips[c].registers[r.Offset] = value
}

// Get reads a register behind the bus.
func (b *Box) Get(c transport.Chip, r regs.Register) uint32 { return b.chips[c].registers[r.Offset] }

// Count sets a counter.
func (b *Box) Count(c transport.Chip, name string, value uint64) {
	for i, counter := range counters[c] {
		if counter.Name == name {
			b.chips[c].counters[i] = value
			return
		}
	}
	panic("no counter " + name)
}

// Table gives the rows of a table that are not all zero.
func (b *Box) Table(c transport.Chip, t regs.Table) map[int][]uint32 {
	return b.chips[c].tables[t.Number]
}

// LogOf gives the rows written to tables of one name.
func (b *Box) LogOf(t regs.Table) (rows []Row) {
	for _, row := range b.Log {
		if row.Table == t.Name {
			rows = append(rows, row)
		}
	}
	return rows
}

// mostReads is how often a read waits for bits to fall.
const mostReads = 100

// Do performs the accesses.
func (b *Box) Do(ops []transport.Op) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range ops {
		op := &ops[i]
		b.Accesses++
		if b.FailAfter == 1 {
			if b.OnFail != nil {
				b.OnFail()
			}
			return fmt.Errorf("the bus is gone")
		}
		b.FailAfter = max(b.FailAfter-1, 0)
		if b.PulseAfter == 1 {
			b.Tamper(true)
			b.Tamper(false)
		}
		b.PulseAfter = max(b.PulseAfter-1, 0)
		var err error
		if op.Write {
			b.Writes++
			err = b.write(op.Chip, op.Addr, op.Data)
		} else {
			op.Data, err = b.read(op.Chip, op.Addr)
			if b.OnRead != nil {
				b.OnRead(op.Chip, op.Addr)
			}
			for tries := 0; err == nil && op.Data&op.Until != 0 && tries < mostReads; tries++ {
				op.Data, err = b.read(op.Chip, op.Addr)
			}
		}
		if op.Addr >= transport.Shell && b.shells[op.Chip] == nil {
			return fmt.Errorf("%s 0x%03x: %w", op.Chip, op.Addr, noCard)
		}
		if err != nil {
			return fmt.Errorf("SLVERR: %s 0x%03x: %w", op.Chip, op.Addr, err)
		}
	}
	return nil
}

// Wait takes no time, and is written down.
func (b *Box) Wait(time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Waits = append(b.Waits, len(b.Log))
	return nil
}

// Between calls do when no access is under way: a box that is served has goroutines of its own.
func (b *Box) Between(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

// Close does nothing.
func (b *Box) Close() error { return nil }

// byAddress are the registers of each chip by the addresses of their words.
var byAddress = func() (out [3]map[uint32]*regs.Register) {
	for c, list := range registers {
		out[c] = map[uint32]*regs.Register{}
		for i := range list {
			for word := range list[i].Count {
				out[c][list[i].Offset+4*uint32(word)] = &list[i]
			}
		}
	}
	return out
}()

func (b *Box) find(c transport.Chip, addr uint32) (*regs.Register, error) {
	if r := byAddress[c][addr]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("no such register")
}

func (b *Box) read(c transport.Chip, addr uint32) (uint32, error) {
	if b.shells[c] != nil && addr >= transport.Shell {
		return b.shells[c].read(addr - transport.Shell)
	}
	r, err := b.find(c, addr)
	if err != nil {
		return 0, err
	}
	chip := b.chips[c]
	switch r.Name {
	case regs.CommonCounterLo.Name:
		return uint32(chip.latched), nil
	case regs.CommonCounterHi.Name:
		return uint32(chip.latched >> 32), nil
	case regs.CommonTableData.Name:
		return chip.data[(addr-r.Offset)/4], nil
	case regs.CommonTableStatus.Name:
		status := uint32(0)
		if chip.busy > 0 {
			chip.busy--
			status |= 1
		} else if chip.failed {
			status |= 2
		}
		return status, nil
	}
	return chip.registers[addr], nil
}

func (b *Box) write(c transport.Chip, addr, data uint32) error {
	if b.shells[c] != nil && addr >= transport.Shell {
		return b.shells[c].write(addr-transport.Shell, data)
	}
	r, err := b.find(c, addr)
	if err != nil {
		return err
	}
	chip := b.chips[c]
	if chip.busy > 0 && r.Offset >= regs.CommonTableData.Offset && r.Offset <= regs.CommonTableCommand.Offset {
		return fmt.Errorf("the table window is busy")
	}
	switch {
	case r.Name == regs.CommonCounterIndex.Name:
		if int(data) >= len(chip.counters) {
			return fmt.Errorf("no such counter")
		}
		chip.latched = chip.counters[data]
	case r.Name == regs.CommonTableData.Name:
		chip.data[(addr-r.Offset)/4] = data
		chip.torn = chip.tampered || chip.torn && addr != r.Offset
	case r.Name == regs.CommonTableCommand.Name:
		b.command(c, data)
	case r.Name == regs.CryptoControl.Name && c == transport.Crypto:
		if data>>regs.CryptoControlClearSequenceEvents.LSB&1 != 0 {
			chip.registers[regs.CryptoSequenceEvents.Offset] = 0
		}
		chip.registers[addr] = data & 0xF
		if data>>regs.CryptoControlZeroize.LSB&1 != 0 || chip.tampered {
			chip.erase()
		}
	case r.Name == regs.CommonScratch.Name && chip.tampered: // stays 0
	case r.Name == regs.InnerLifetimeControl.Name && c == transport.Inner:
		b.show(&b.events, data)
	case r.Name == regs.InnerPeerControl.Name && c == transport.Inner:
		b.show(&b.peers, data)
	case r.Name == regs.InnerHostControl.Name && c == transport.Inner:
		b.show(&b.hosts, data)
	case r.Name == regs.InnerAuditControl.Name && c == transport.Inner:
		b.show(&b.audit, data)
	case r.Name == regs.CryptoAuditControl.Name && c == transport.Crypto:
		b.show(&b.forged, data)
	case r.Name == regs.OuterPeerControl.Name && c == transport.Outer:
		b.places, b.round = nil, (b.round+1)%4
		b.showPlaces()
	case r.Name == regs.OuterPeerPlace.Name && c == transport.Outer:
		chip.registers[addr] = data & r.Writable
		b.showPlaces()
	case r.Writable == 0:
		return fmt.Errorf("register %s is read-only", r.Name)
	default:
		chip.registers[addr] = data & r.Writable
	}
	return nil
}

// erase is what a zeroize does to the crypto chip.
func (c *chip) erase() {
	c.registers[regs.CryptoControl.Offset], c.registers[regs.CommonScratch.Offset] = 0, 0
	for number := range c.tables {
		c.tables[number] = map[int][]uint32{}
	}
	c.data, c.torn = [32]uint32{}, true
}

// Expire queues an event of a lifetime, a value of LIFETIME_EVENT.
func (b *Box) Expire(event uint32) { b.raise(&b.events, event) }

// Arrive is a packet of an inbound SA from elsewhere than its peer, authentic or not.
func (b *Box) Arrive(sa uint16, from netip.AddrPort, authentic bool) {
	number := uint32(len(b.places))
	if number == 64 {
		return
	}
	b.places = append(b.places, place{sa, from})
	b.showPlaces()
	if authentic {
		b.raise(&b.peers, uint32(sa)|number<<regs.InnerPeerEventPlace.LSB|b.round<<regs.InnerPeerEventRound.LSB)
	}
}

// Late queues an event of a peer, a value of PEER_EVENT, whose packet was on its way while places
// were freed.
func (b *Box) Late(event uint32) { b.raise(&b.peers, event) }

// Unresolved is a packet to a host at the red port that has no row.
func (b *Box) Unresolved(host netip.Addr) {
	event := []uint32{4, 0, 0, 0, 0}
	if host.Is6() {
		event[0] = 6
	}
	bytes := host.AsSlice()
	for n := range len(bytes) / 4 {
		event[1+n] = binary.BigEndian.Uint32(bytes[len(bytes)-4*(n+1):])
	}
	b.raise(&b.hosts, event...)
}

// Drop drops an authentic packet of an inbound SA, as the inner chip does for a reason of the audit
// log. `packet` is the packet's match key, bits 303:0 of a flow row.
func (b *Box) Drop(sa uint16, reason, sequence uint32, packet ...uint32) {
	b.log(&b.audit, sa, reason, sequence, packet)
}

// Forge is a packet of an inbound SA whose ICV is wrong.
func (b *Box) Forge(sa uint16, sequence uint32) {
	b.log(&b.forged, sa, regs.AuditReasonDecIcv, sequence, nil)
}

// log queues an event of a chip's audit log, unless it is like the last that waits.
func (b *Box) log(q *queue, sa uint16, reason, sequence uint32, packet []uint32) {
	event := uint32(sa) | reason<<regs.InnerAuditEventReason.LSB
	if n := len(q.waiting); n == 0 || q.waiting[n-1][0] != event {
		low, high := b.Get(q.chip, regs.CommonCyclesLo), b.Get(q.chip, regs.CommonCyclesHi)
		b.raise(q, append([]uint32{event, sequence, low, high}, packet...)...)
	}
}

// Tick sets a chip's cycles since reset.
func (b *Box) Tick(c transport.Chip, cycles uint64) {
	b.Set(c, regs.CommonCyclesLo, uint32(cycles))
	b.Set(c, regs.CommonCyclesHi, uint32(cycles>>32))
}

// showPlaces shows what the outer chip's registers say of the places.
func (b *Box) showPlaces() {
	registers := b.chips[transport.Outer].registers
	registers[regs.OuterPeerPlaces.Offset] = uint32(len(b.places)) | b.round<<regs.OuterPeerPlacesRound.LSB
	if number := int(registers[regs.OuterPeerPlace.Offset]); number < len(b.places) {
		octets := b.places[number].from.Addr().As4()
		registers[regs.OuterPeerAddress.Offset] = binary.BigEndian.Uint32(octets[:])
		registers[regs.OuterPeerSa.Offset] = uint32(b.places[number].sa) | uint32(b.places[number].from.Port())<<regs.OuterPeerSaPort.LSB
	}
}

func (b *Box) command(c transport.Chip, command uint32) {
	chip := b.chips[c]
	number, index := chip.registers[regs.CommonTableSelect.Offset], int(chip.registers[regs.CommonTableIndex.Offset])
	chip.busy, chip.failed = b.BusyReads, true
	if int(number) >= len(tables[c]) || index >= b.rows(c, number) {
		return
	}
	t := tables[c][number]
	switch {
	case command == regs.TableCommandWrite && chip.torn:
		chip.data = [32]uint32{}
		return
	case command == regs.TableCommandWrite:
		row := append([]uint32(nil), chip.data[:t.Words()]...)
		switch t.Name {
		case regs.CryptoTableOutboundKey.Name:
			delete(chip.tables[regs.CryptoTableOutboundNumber.Number], index)
		case regs.CryptoTableOutboundNumber.Name:
			if before := chip.tables[number][index]; before != nil && regs.OutboundNumberRow.Last.Get(before) > regs.OutboundNumberRow.Last.Get(row) {
				row = before
			}
		}
		chip.tables[number][index] = row
		delete(b.flipped, rowAt{c, t.Name, index})
		zero := true
		for _, word := range row {
			zero = zero && word == 0
		}
		if zero {
			delete(chip.tables[number], index)
		}
		b.Log = append(b.Log, Row{c, t.Name, index, row})
		if b.OnRow != nil {
			b.OnRow(b.Log[len(b.Log)-1])
		}
		chip.data = [32]uint32{}
	case command == regs.TableCommandRead && !t.WriteOnly:
		chip.data = [32]uint32{}
		copy(chip.data[:], chip.tables[number][index])
	default:
		return
	}
	chip.failed = false
}

func (b *Box) rows(c transport.Chip, number uint32) int {
	get := func(r regs.Register) int { return int(b.chips[c].registers[r.Offset]) }
	switch tables[c][number].Name {
	case "flow", "policy_usage":
		return 1 << get(regs.CommonCapabilityFlowBits)
	case "sad":
		return 1 << get(regs.CommonCapabilitySadBits)
	case "rule", "inbound_rule":
		return get(regs.CommonCapabilityRules)
	case "next_hop":
		return get(regs.CommonCapabilityNextHops)
	case "host":
		return 1 << get(regs.CommonCapabilityHostBits)
	case "dummy":
		return 16
	case "dscp_map":
		return 16 * 64
	case "dscp_sa":
		return 64 * 64
	case "replay":
		return 2 << get(regs.CommonCapabilitySaBits)
	}
	return 1 << get(regs.CommonCapabilitySaBits)
}
