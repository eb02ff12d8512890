// SPDX-License-Identifier: Apache-2.0

package fakebox

import (
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Tamper drives the crypto chip's input: as long as it is active nothing is written to the chip.
func (b *Box) Tamper(active bool) {
	c := b.chips[transport.Crypto]
	c.tampered = active
	c.erase()
	status := c.registers[regs.CommonStatus.Offset] | 1<<regs.CommonStatusTamper.LSB | 1<<regs.CommonStatusReady.LSB
	if active {
		status &^= 1 << regs.CommonStatusReady.LSB
	}
	c.registers[regs.CommonStatus.Offset] = status
}
