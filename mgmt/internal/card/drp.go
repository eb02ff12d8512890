// SPDX-License-Identifier: Apache-2.0

package card

import (
	"errors"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// ErrSilentDRP is of a target that does not answer, or that the card does not have.
var ErrSilentDRP = errors.New("nothing answers at that dynamic reconfiguration port")

// ReadDRP reads a word through the dynamic reconfiguration port of a target (regs.DrpTarget…),
// which answers within 32 us or not at all. Only one program may do so at a time.
func ReadDRP(t transport.Transport, c transport.Chip, target, address uint32) (uint16, error) {
	return accessDRP(t, c, target, address, regs.ShellDrpCommandRead)
}

// WriteDRP writes one.
func WriteDRP(t transport.Transport, c transport.Chip, target, address uint32, value uint16) error {
	if err := transport.Write32(t, c, at(regs.ShellDrpData), uint32(value)); err != nil {
		return err
	}
	_, err := accessDRP(t, c, target, address, regs.ShellDrpCommandWrite)
	return err
}

func accessDRP(t transport.Transport, c transport.Chip, target, address uint32, command regs.Field) (uint16, error) {
	selected := []uint32{0}
	regs.ShellDrpSelectAddress.Put(selected, uint64(address))
	regs.ShellDrpSelectTarget.Put(selected, uint64(target))
	ops := []transport.Op{
		transport.Write(c, at(regs.ShellDrpSelect), selected[0]),
		transport.Write(c, at(regs.ShellDrpCommand), 1<<command.LSB),
		transport.ReadUntil(c, at(regs.ShellDrpState), 1<<regs.ShellDrpStateBusy.LSB),
	}
	if err := t.Do(ops); err != nil {
		return 0, err
	}
	state := []uint32{ops[2].Data}
	if regs.ShellDrpStateBusy.Get(state) != 0 || regs.ShellDrpStateFailed.Get(state) != 0 {
		return 0, ErrSilentDRP
	}
	return uint16(regs.ShellDrpStateData.Get(state)), nil
}
