// SPDX-License-Identifier: Apache-2.0

// Package fakebox models three chips in memory, for tests of their drivers. It has the register map
// of regs/*.rdl with its windows, and refuses every access that the real chips answer with an
// error.
package fakebox

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"sallyport/mgmt/internal/clock"
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

	events queue    // of lifetimes
	peers  queue    // events of peers that have moved
	hosts  [2]queue // events of packets to hosts without a row, at red and at black
	audit  queue    // events of packets that the inner chip dropped
	forged queue    // events of packets that the crypto chip did
	places []place  // at the outer chip
	round  uint32
	// IdentifierKey has the words of the outer chip's key of identifications since its first one.
	IdentifierKey []uint16

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
type Sizes struct{ SABits, FlowBits, SADBits, Rules, NextHops, HostBits, PeerBits, PrefixBits, PolicyBits, Window, Suites uint32 }

// CoreClock is that of the chips, unless a test sets their register.
const CoreClock = clock.Clock(300_000)

// Small is enough for most tests. It has every suite.
var Small = Sizes{SABits: 4, FlowBits: 6, SADBits: 6, Rules: 32, NextHops: 256, HostBits: 6, PeerBits: 6, Window: 4096, Suites: 0x7ffe}

// noCard is how a simulation of cores alone answers an access of a shell.
const noCard = transport.Refusal(2)

// New makes a box after reset.
func New(s Sizes) *Box {
	b := &Box{
		events: queue{registers: []regs.Register{regs.InnerLifetimeEvent}},
		peers:  queue{registers: []regs.Register{regs.InnerPeerEvent}},
		hosts: [2]queue{
			{registers: []regs.Register{
				regs.InnerHostEvent, regs.InnerHostAddr0, regs.InnerHostAddr1, regs.InnerHostAddr2, regs.InnerHostAddr3,
			}},
			{chip: transport.Outer, registers: []regs.Register{
				regs.OuterHostEvent, regs.OuterHostAddr0, regs.OuterHostAddr1, regs.OuterHostAddr2, regs.OuterHostAddr3,
			}},
		},
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
			regs.CommonCapabilityHostBits: s.HostBits, regs.CommonCapabilityPeerBits: s.PeerBits, regs.CommonCapabilityPrefixBits: s.PrefixBits, regs.CommonCapabilityPolicyBits: s.PolicyBits,
			regs.CommonCapabilityNodeBits: 7, regs.CommonCapabilityCounters: uint32(len(counters[c])), regs.CommonCapabilityCoreKhz: uint32(CoreClock),
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
	b.chips[transport.Outer].registers[regs.OuterIdentifiers.Offset] = 0
	b.Log, b.flipped, b.IdentifierKey = nil, nil, nil
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

// Tick sets a chip's cycles since reset.
func (b *Box) Tick(c transport.Chip, cycles uint64) {
	b.Set(c, regs.CommonCyclesLo, uint32(cycles))
	b.Set(c, regs.CommonCyclesHi, uint32(cycles>>32))
}
