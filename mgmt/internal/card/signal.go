// SPDX-License-Identifier: Apache-2.0

package card

import (
	"errors"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Signal says whether the MAC of an interface card has the far end's signal: one register read. A
// simulated box of cores alone gives ErrNoShell.
func Signal(t transport.Transport, c transport.Chip) (bool, error) {
	ops := []transport.Op{transport.Read(c, at(regs.ShellMacState))}
	var refused transport.Refusal
	if err := t.Do(ops); errors.As(err, &refused) {
		return false, ErrNoShell
	} else if err != nil {
		return false, err
	}
	return regs.ShellMacStateRxStatus.Get([]uint32{ops[0].Data}) != 0, nil
}
