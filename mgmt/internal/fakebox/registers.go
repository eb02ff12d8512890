// SPDX-License-Identifier: Apache-2.0

package fakebox

import (
	"fmt"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

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
		b.show(&b.hosts[0], data)
	case r.Name == regs.OuterHostControl.Name && c == transport.Outer:
		b.show(&b.hosts[1], data)
	case r.Name == regs.InnerAuditControl.Name && c == transport.Inner:
		b.show(&b.audit, data)
	case r.Name == regs.CryptoAuditControl.Name && c == transport.Crypto:
		b.show(&b.forged, data)
	case r.Name == regs.OuterPeerControl.Name && c == transport.Outer:
		b.places, b.round = nil, (b.round+1)%4
		b.showPlaces()
	case r.Name == regs.OuterIdentifierSeed.Name && c == transport.Outer:
		chip.registers[addr] = data & (1<<regs.OuterIdentifierSeedWord.Width - 1)
		b.seed(data)
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

// identifierKeyWords is how many words a key of identifications has.
const identifierKeyWords = 5

// seed takes a word of the key of identifications, as IDENTIFIER_SEED does.
func (b *Box) seed(data uint32) {
	if data>>regs.OuterIdentifierSeedLoad.LSB&1 == 0 {
		return
	}
	first := data>>regs.OuterIdentifierSeedFirst.LSB&1 != 0
	switch {
	case first:
		b.IdentifierKey = nil
	case len(b.IdentifierKey) == 0 || len(b.IdentifierKey) == identifierKeyWords:
		return
	}
	b.IdentifierKey = append(b.IdentifierKey, uint16(data))
	seeded := uint32(0)
	if len(b.IdentifierKey) == identifierKeyWords {
		seeded = 1 << regs.OuterIdentifiersSeeded.LSB
	}
	b.chips[transport.Outer].registers[regs.OuterIdentifiers.Offset] = seeded
}

// erase is what a zeroize does to the crypto chip.
func (c *chip) erase() {
	c.registers[regs.CryptoControl.Offset], c.registers[regs.CommonScratch.Offset] = 0, 0
	for number := range c.tables {
		c.tables[number] = map[int][]uint32{}
	}
	c.data, c.torn = [32]uint32{}, true
}
