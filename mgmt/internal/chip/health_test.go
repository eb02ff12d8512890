// SPDX-License-Identifier: Apache-2.0

package chip

import (
	"testing"
	"time"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// running is a box whose clocks go on by so many cycles with each access.
type running struct {
	*fakebox.Box
	cycles, step uint64
}

func (r *running) Do(ops []transport.Op) error {
	for i := range ops {
		r.cycles += r.step
		for _, c := range transport.Chips {
			r.Tick(c, r.cycles)
		}
		if err := r.Box.Do(ops[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// TestHealth: state and both links of each chip, and a time that is one of those while it was read,
// also when the low half overflows meanwhile.
func TestHealth(t *testing.T) {
	clock := &running{Box: fakebox.New(fakebox.Small)}
	clock.Set(transport.Outer, regs.CommonCapabilityCoreKhz, 250_000)
	b, err := Open(t.Context(), clock)
	if err != nil {
		t.Fatal(err)
	}
	bit := func(f regs.Field) uint32 { return 1 << f.LSB }
	clock.Set(transport.Crypto, regs.CommonStatus, bit(regs.CommonStatusBlackLinkUp)|bit(regs.CommonStatusTamper))
	clock.Set(transport.Outer, regs.CommonStatus, bit(regs.CommonStatusReady)|bit(regs.CommonStatusLinkUp))
	clock.cycles = 450_000_000 + 7<<32
	for c, want := range map[transport.Chip]Health{
		transport.Crypto: {BlackLinkUp: true, Tamper: true, Cycles: clock.cycles, Clock: 300_000},
		transport.Outer:  {Ready: true, LinkUp: true, Cycles: clock.cycles, Clock: 250_000},
	} {
		if got, err := b.Health(c); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	if up := (Health{Cycles: 450_000_000, Clock: 250_000}).Uptime(); up != 1800*time.Millisecond {
		t.Error(up)
	}
	clock.step = 1
	for ahead := range uint64(6) {
		before := 5<<32 - ahead
		clock.cycles = before
		if got, err := b.Health(transport.Inner); err != nil || got.Cycles <= before || got.Cycles > clock.cycles {
			t.Errorf("from %#x to %#x: %#x, %v", before, clock.cycles, got.Cycles, err)
		}
	}
	clock.FailAfter = 1
	if _, err := b.Health(transport.Inner); err == nil {
		t.Error("no error from a bus that is gone")
	}
}

// TestHealthOfAWildClock: a chip whose high half never stands still is an error, and no read
// without end.
func TestHealthOfAWildClock(t *testing.T) {
	clock := &running{Box: fakebox.New(fakebox.Small), step: 1 << 32}
	b, err := Open(t.Context(), clock)
	if err != nil {
		t.Fatal(err)
	}
	want := "the outer chip: the high half of its count of cycles changes with each read"
	if _, err := b.Health(transport.Outer); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
