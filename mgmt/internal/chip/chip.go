// SPDX-License-Identifier: Apache-2.0

// Package chip drives the registers, counters and tables of the three chips of a box over
// a transport.
package chip

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sallyport/mgmt/internal/clock"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/suite"
	"sallyport/mgmt/internal/transport"
)

// Identity is what a chip says of itself.
type Identity struct {
	Chip       string `json:"chip"`
	Version    string `json:"version"`
	Simulation bool   `json:"simulation"`
	Ready      bool   `json:"ready"`
	LinkUp     bool   `json:"link_up"`
	Tamper     bool   `json:"tamper"`
	Build      uint32 `json:"build"`
}

// Capabilities are the sizes a chip was built with. Software takes them from here and
// never guesses.
type Capabilities struct {
	SAs      int `json:"sas"`
	FlowRows int `json:"flow_rows"`
	SADRows  int `json:"sad_rows"`
	Ways     int `json:"ways"`
	Rules    int `json:"rules"`
	NextHops int `json:"next_hops"`
	HostRows int `json:"host_rows"`
	PeerRows int `json:"peer_rows"`
	// PrefixRows are those of the last level of the tree of prefixes; 0: the chip has none.
	PrefixRows int `json:"prefix_rows,omitempty"`
	// PolicyRows are those of the table of policies by prefix; 0: the chip has none.
	PolicyRows      int `json:"policy_rows,omitempty"`
	Lanes           int `json:"lanes"`
	LinkBufferBeats int `json:"link_buffer_beats"`
	ReplayWindow    int `json:"replay_window"`
	Counters        int `json:"counters"`
	// NodeBits are those of a sequence number that may name a node at most; 0: the chip has none.
	NodeBits int `json:"node_bits,omitempty"`
	// CoreKHz is the core clock.
	CoreKHz clock.Clock `json:"core_khz"`
	// Suites has bit n for suite n; SuiteNames are strongSwan's.
	Suites     uint32   `json:"-"`
	SuiteNames []string `json:"suites,omitempty"`
}

// Box is three chips whose identity has been checked.
type Box struct {
	t            transport.Transport
	stop         context.Context // its end ends what waits for a chip
	Identity     [3]Identity
	Capabilities [3]Capabilities
	// of the chips' windows: a row or the counters of a chip take several accesses
	mu sync.Mutex
	// cleared says that the shadow row of a chip's table window is known to be zero.
	cleared [3]bool
}

var identities = [3]uint32{regs.ChipInner, regs.ChipCrypto, regs.ChipOuter}

// supportedMajor is the hardware version this driver was written for; minor versions only add.
const supportedMajor = 0

// Open checks that each chip is what it should be and reads its sizes. Once ctx ends, WaitReady and
// WaitErased end too; other accesses are carried out, so that a change can be finished.
func Open(ctx context.Context, t transport.Transport) (*Box, error) {
	b := &Box{t: t, stop: ctx}
	for _, c := range transport.Chips {
		if err := b.identify(c); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *Box) identify(c transport.Chip) error {
	list := []regs.Register{
		regs.CommonMagic, regs.CommonChip, regs.CommonVersion, regs.CommonBuild, regs.CommonStatus, regs.CommonCapabilitySaBits,
		regs.CommonCapabilityFlowBits, regs.CommonCapabilitySadBits, regs.CommonCapabilityWays, regs.CommonCapabilityRules,
		regs.CommonCapabilityNextHops, regs.CommonCapabilityLanes, regs.CommonCapabilityLinkBufferBeats,
		regs.CommonCapabilityReplayWindow, regs.CommonCapabilityCounters, regs.CommonCapabilitySuites,
		regs.CommonCapabilityHostBits, regs.CommonCapabilityPeerBits, regs.CommonCapabilityCoreKhz, regs.CommonCapabilityPrefixBits,
		regs.CommonCapabilityPolicyBits, regs.CommonCapabilityNodeBits,
	}
	ops := make([]transport.Op, len(list))
	for i, r := range list {
		ops[i] = transport.Read(c, r.Offset)
	}
	if err := b.t.Do(ops); err != nil {
		return err
	}
	word := func(i int) []uint32 { return []uint32{ops[i].Data} }
	if magic := ops[0].Data; magic != regs.CommonMagic.Reset {
		return fmt.Errorf("the %s chip does not answer as a Sallyport chip: its magic number is 0x%08x, not 0x%08x", c, magic, regs.CommonMagic.Reset)
	}
	if ops[1].Data != identities[c] {
		return fmt.Errorf("where the %s chip should be is chip number %d (%s): are the devices in the order inner, crypto, outer?", c, ops[1].Data, regs.ChipNames[ops[1].Data])
	}
	major := regs.CommonVersionMajor.Get(word(2))
	version := fmt.Sprintf("%d.%d.%d", major, regs.CommonVersionMinor.Get(word(2)), regs.CommonVersionPatch.Get(word(2)))
	if major != supportedMajor {
		return fmt.Errorf("the %s chip has version %s: this program drives %d.x", c, version, supportedMajor)
	}
	b.Identity[c] = Identity{
		Chip: c.String(), Version: version, Build: ops[3].Data,
		Simulation: regs.CommonBuildSimulation.Get(word(3)) != 0,
		Ready:      regs.CommonStatusReady.Get(word(4)) != 0,
		LinkUp:     regs.CommonStatusLinkUp.Get(word(4)) != 0 && (c != transport.Crypto || regs.CommonStatusBlackLinkUp.Get(word(4)) != 0),
		Tamper:     regs.CommonStatusTamper.Get(word(4)) != 0,
	}
	b.Capabilities[c] = Capabilities{
		SAs: 1 << ops[5].Data, FlowRows: 1 << ops[6].Data, SADRows: 1 << ops[7].Data, Ways: int(ops[8].Data), Rules: int(ops[9].Data),
		NextHops: int(ops[10].Data), Lanes: int(ops[11].Data), LinkBufferBeats: int(ops[12].Data), ReplayWindow: int(ops[13].Data),
		Counters: int(ops[14].Data), Suites: ops[15].Data, SuiteNames: suite.Names(ops[15].Data),
		HostRows: 1 << ops[16].Data, PeerRows: 1 << ops[17].Data, CoreKHz: clock.Clock(ops[18].Data), NodeBits: int(ops[21].Data),
	}
	if bits := ops[19].Data; bits > 0 {
		b.Capabilities[c].PrefixRows = 1 << bits
	}
	if bits := ops[20].Data; bits > 0 {
		b.Capabilities[c].PolicyRows = 1 << bits
	}
	if b.Clock(c) == 0 {
		return fmt.Errorf("the %s chip does not say its core clock, without which no time can be set: its bitstream is older than this program", c)
	}
	return nil
}

// Clock is the core clock of a chip.
func (b *Box) Clock(c transport.Chip) clock.Clock { return b.Capabilities[c].CoreKHz }

// Transport is the way to the registers, for those of the cards' shells.
func (b *Box) Transport() transport.Transport { return b.t }

// Read32 reads a register.
func (b *Box) Read32(c transport.Chip, r regs.Register) (uint32, error) {
	return transport.Read32(b.t, c, r.Offset)
}

// Write32 writes a register.
func (b *Box) Write32(c transport.Chip, r regs.Register, value uint32) error {
	return transport.Write32(b.t, c, r.Offset, value)
}

// Setting is a register and what it is to hold.
type Setting struct {
	Chip     transport.Chip
	Register regs.Register
	Value    uint32
}

// Set says what a register is to hold.
func Set(c transport.Chip, r regs.Register, value uint32) Setting {
	return Setting{Chip: c, Register: r, Value: value}
}

// WriteAll writes registers in one piece, in their order.
func (b *Box) WriteAll(settings ...Setting) error {
	ops := make([]transport.Op, len(settings))
	for i, s := range settings {
		ops[i] = transport.Write(s.Chip, s.Register.Offset, s.Value)
	}
	return b.t.Do(ops)
}

// Source is a register to read.
type Source struct {
	Chip     transport.Chip
	Register regs.Register
}

// ReadAll reads registers in one piece, in their order.
func (b *Box) ReadAll(sources ...Source) ([]uint32, error) {
	ops := make([]transport.Op, len(sources))
	for i, s := range sources {
		ops[i] = transport.Read(s.Chip, s.Register.Offset)
	}
	err := b.t.Do(ops)
	words := make([]uint32, len(ops))
	for i, op := range ops {
		words[i] = op.Data
	}
	return words, err
}

// Wait returns when d has passed for the chips.
func (b *Box) Wait(d time.Duration) error { return b.t.Wait(d) }

// Close ends the transport.
func (b *Box) Close() error { return b.t.Close() }

const (
	pollBatch   = 16
	pollTimeout = 2 * time.Minute // of wall-clock time: a simulation may be slow
)

// poll reads a register until done says so. Reads go in batches, because in simulation each one
// moves time on.
func (b *Box) poll(c transport.Chip, r regs.Register, what string, done func(uint32) bool) (uint32, error) {
	for deadline := time.Now().Add(pollTimeout); time.Now().Before(deadline); {
		ops := make([]transport.Op, pollBatch)
		for i := range ops {
			ops[i] = transport.Read(c, r.Offset)
		}
		if err := b.t.Do(ops); err != nil {
			return 0, err
		}
		if last := ops[pollBatch-1].Data; done(last) {
			return last, nil
		}
		if b.stop.Err() != nil {
			return 0, fmt.Errorf("the %s chip: %s, and this program is to end", c, what)
		}
	}
	return 0, fmt.Errorf("the %s chip: %s after %v", c, what, pollTimeout)
}

// ErrErased says that the crypto chip takes no configuration now, or has lost the one it had.
var ErrErased = errors.New("the crypto chip has erased its keys, by its tamper input or a zeroize: nothing can be changed until that is quiet and the chip is configured again")

func ready(status uint32) bool    { return regs.CommonStatusReady.Get([]uint32{status}) != 0 }
func tampered(status uint32) bool { return regs.CommonStatusTamper.Get([]uint32{status}) != 0 }

// WaitErased waits until the crypto chip has erased its keys. ErrErased if its tamper input keeps
// it from being ready again: a read takes more than 4 cycles, and an erasure less than 4 a row.
func (b *Box) WaitErased() error {
	left := b.Capabilities[transport.Crypto].SAs + 1024
	status, err := b.poll(transport.Crypto, regs.CommonStatus, "its keys are not erased", func(status uint32) bool {
		left -= pollBatch
		return ready(status) || tampered(status) && left < 0
	})
	if err == nil && !ready(status) {
		err = ErrErased
	}
	return err
}

// WaitReady waits until each chip has cleared its tables. ErrErased if the crypto chip's tamper
// input may keep it from that.
func (b *Box) WaitReady() error {
	for _, c := range transport.Chips {
		status, err := b.Read32(c, regs.CommonStatus)
		if err == nil && !ready(status) {
			status, err = b.poll(c, regs.CommonStatus, "its tables are not clear", func(v uint32) bool { return ready(v) || tampered(v) })
		}
		if err != nil {
			return err
		}
		if !ready(status) {
			return ErrErased
		}
	}
	return nil
}
