// SPDX-License-Identifier: Apache-2.0

package chip

import (
	"fmt"
	"time"

	"sallyport/mgmt/internal/clock"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Health is what a chip says of its state now.
type Health struct {
	// Ready says that the tables were cleared after the reset.
	Ready bool
	// LinkUp is the link to the crypto chip; of the crypto chip, that to the inner one.
	LinkUp bool
	// BlackLinkUp is the crypto chip's link to the outer one; false of others, which have no
	// second link.
	BlackLinkUp bool
	// Tamper is the crypto chip's input, now or at any time since the reset.
	Tamper bool
	// Cycles since the reset, of the chip's core clock.
	Cycles uint64
	Clock  clock.Clock
}

// Uptime is the time since the reset, by the chip's clock; 0 of a chip that was not read.
func (h Health) Uptime() time.Duration {
	if h.Clock == 0 {
		return 0
	}
	return h.Clock.Time(int64(h.Cycles))
}

// mostHealthReads are enough: the high half of the count of cycles changes each 14 s.
const mostHealthReads = 4

// Health reads the state of a chip.
func (b *Box) Health(c transport.Chip) (Health, error) {
	for range mostHealthReads {
		words, err := b.ReadAll(Source{c, regs.CommonStatus}, Source{c, regs.CommonCyclesHi}, Source{c, regs.CommonCyclesLo}, Source{c, regs.CommonCyclesHi})
		if err != nil {
			return Health{}, err
		}
		if words[1] != words[3] {
			continue
		}
		has := func(f regs.Field) bool { return f.Get(words[:1]) != 0 }
		return Health{
			Ready: has(regs.CommonStatusReady), LinkUp: has(regs.CommonStatusLinkUp), BlackLinkUp: has(regs.CommonStatusBlackLinkUp),
			Tamper: has(regs.CommonStatusTamper), Cycles: uint64(words[1])<<32 | uint64(words[2]), Clock: b.Clock(c),
		}, nil
	}
	return Health{}, fmt.Errorf("the %s chip: the high half of its count of cycles changes with each read", c)
}

// Now is a chip's identity with its state as it is now.
func (b *Box) Now(c transport.Chip) (Identity, error) {
	h, err := b.Health(c)
	id := b.Identity[c]
	id.Ready, id.Tamper, id.LinkUp = h.Ready, h.Tamper, h.LinkUp && (c != transport.Crypto || h.BlackLinkUp)
	return id, err
}
