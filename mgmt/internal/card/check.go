// SPDX-License-Identifier: Apache-2.0

// Package card reads the shells of a box's cards: the logic around the core of each chip
// (regs/shell.rdl).
package card

import (
	"errors"
	"fmt"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// ErrNoShell is of a simulated box that is cores alone.
var ErrNoShell = errors.New("the simulated box has no cards: start the simulation with --chips shell")

var chips = [3]uint32{regs.ChipInner, regs.ChipCrypto, regs.ChipOuter}

// at is the address of a register of the shell in its card.
func at(r regs.Register) uint32 { return transport.Shell + r.Offset }

// Check is an error unless a card is Sallyport's and the one that should be there.
func Check(t transport.Transport, c transport.Chip) error {
	ops := []transport.Op{transport.Read(c, at(regs.ShellMagic)), transport.Read(c, at(regs.ShellChip))}
	var refused transport.Refusal
	if err := t.Do(ops); errors.As(err, &refused) {
		return ErrNoShell
	} else if err != nil {
		return err
	}
	if magic := ops[0].Data; magic != regs.ShellMagic.Reset {
		return fmt.Errorf("the %s card has no bitstream of Sallyport: its shell's magic number is 0x%08x, not 0x%08x", c, magic, regs.ShellMagic.Reset)
	}
	if number := ops[1].Data; number != chips[c] {
		return fmt.Errorf("where the %s card should be is card number %d (%s): are the addresses in the order inner, crypto, outer, or the crypto card's alone, and the cables of its links not exchanged?",
			c, number, regs.ChipNames[number])
	}
	return nil
}
