// SPDX-License-Identifier: Apache-2.0

package fakebox

import (
	"fmt"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Shell is the logic around a chip on a card: its registers as regs/shell.rdl has them.
type Shell struct {
	// DRP has words by what DRP_SELECT is for them: the system monitor's by their addresses, those
	// of the MAC from 2^24 on. Where there is none, nothing answers.
	DRP map[uint32]uint16
	// Mailbox is that of an interface card; nil of the crypto card.
	Mailbox *Mailbox

	registers map[uint32]uint32
}

// AddShells puts the chips on cards of board 1 whose links, MACs and cages are as they should be,
// and gives the cards' shells.
func (b *Box) AddShells() [3]*Shell {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range transport.Chips {
		s := &Shell{DRP: map[uint32]uint16{}, registers: map[uint32]uint32{}}
		for _, r := range regs.ShellRegisters {
			s.registers[r.Offset] = r.Reset
		}
		s.Set(regs.ShellChip, 0, uint32(c)+1)
		s.Set(regs.ShellVersion, 0, 0x000100)
		s.Set(regs.ShellBoard, 0, 1)
		s.Set(regs.ShellCoreState, 0, 1)
		if c == transport.Crypto {
			s.Set(regs.ShellParts, 0, 0x212)
			s.Set(regs.ShellLinkState, 0, 3)
			s.Set(regs.ShellTunnelState, 0, 1<<31)
			s.Set(regs.ShellTunnelState, 1, 1<<31)
			s.Set(regs.ShellChannelState, 1, 3)
		} else {
			s.Set(regs.ShellParts, 0, 0x1211)
			s.Set(regs.ShellLinkState, 0, 1)
			s.Set(regs.ShellMacState, 0, 1)
			s.Mailbox = &Mailbox{}
		}
		s.Set(regs.ShellChannelState, 0, 3)
		s.Set(regs.ShellQsfpState, 0, 0x300)
		b.shells[c] = s
	}
	return b.shells
}

// Behind is for what changes shells behind the bus, or looks at them, while others drive the box.
func (b *Box) Behind(what func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	what()
}

// Set changes a register, or one of those that it is, as hardware does.
func (s *Shell) Set(r regs.Register, index int, value uint32) {
	s.registers[r.Offset+4*uint32(index)] = value
}

func shellRegister(offset uint32) (regs.Register, error) {
	for _, r := range regs.ShellRegisters {
		if offset >= r.Offset && offset < r.Offset+4*uint32(r.Count) {
			return r, nil
		}
	}
	return regs.Register{}, fmt.Errorf("the shell has no such register")
}

func (s *Shell) read(offset uint32) (uint32, error) {
	if _, err := shellRegister(offset); err != nil {
		return 0, err
	}
	if s.Mailbox != nil {
		switch offset {
		case regs.ShellPuntState.Offset:
			return s.Mailbox.puntState(), nil
		case regs.ShellPuntData.Offset:
			return s.Mailbox.puntData(), nil
		case regs.ShellInjectState.Offset:
			return s.Mailbox.injectState(), nil
		}
	}
	return s.registers[offset], nil
}

func (s *Shell) write(offset, data uint32) error {
	r, err := shellRegister(offset)
	switch {
	case err != nil:
		return err
	case r.Writable == 0:
		return fmt.Errorf("register %s is read-only", r.Name)
	case r == regs.ShellDrpCommand:
		s.drp(data)
		return nil
	}
	s.registers[offset] = data & r.Writable
	if m := s.Mailbox; m != nil {
		switch r {
		case regs.ShellPuntControl:
			m.puntControl(data)
		case regs.ShellInjectLength:
			m.injectLength(data & r.Writable)
		case regs.ShellInjectData:
			m.injectData(data)
		case regs.ShellInjectControl:
			m.injectControl(data)
		}
	}
	return nil
}

// drp carries out an access of DRP_SELECT's target.
func (s *Shell) drp(command uint32) {
	place := s.registers[regs.ShellDrpSelect.Offset]
	value, known := s.DRP[place]
	state := uint32(value)
	if !known {
		state |= 1 << regs.ShellDrpStateFailed.LSB
	} else if command>>regs.ShellDrpCommandWrite.LSB&1 != 0 {
		s.DRP[place] = uint16(s.registers[regs.ShellDrpData.Offset])
	}
	s.Set(regs.ShellDrpState, 0, state)
}
