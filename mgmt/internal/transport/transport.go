// SPDX-License-Identifier: Apache-2.0

// Package transport carries 32-bit register accesses to the three chips of a box: over the
// simulator's Unix socket, or through the memory-mapped BARs of its cards.
package transport

import (
	"fmt"
	"time"
)

// Chip selects one of the three FPGAs. The values are those of the simulator's protocol.
type Chip uint8

const (
	Inner Chip = iota
	Crypto
	Outer
)

// Chips lists all three in the order in which clear traffic crosses them.
var Chips = []Chip{Inner, Crypto, Outer}

func (c Chip) String() string {
	switch c {
	case Inner:
		return "inner"
	case Crypto:
		return "crypto"
	case Outer:
		return "outer"
	}
	return fmt.Sprintf("chip%d", uint8(c))
}

// Op is one register access. A read leaves its result in Data. A read with Until is repeated while
// any of these bits is 1, and leaves its last value.
type Op struct {
	Write bool
	Chip  Chip
	Addr  uint32
	Data  uint32
	Until uint32
}

// Read makes a read access.
func Read(c Chip, addr uint32) Op { return Op{Chip: c, Addr: addr} }

// ReadUntil makes a read access that is repeated until all bits are 0.
func ReadUntil(c Chip, addr, bits uint32) Op { return Op{Chip: c, Addr: addr, Until: bits} }

// Write makes a write access.
func Write(c Chip, addr, data uint32) Op { return Op{Write: true, Chip: c, Addr: addr, Data: data} }

// Transport performs accesses strictly in the order given. Do stops at the first access that the
// chip answers with an error and says which it was; later accesses of the same call may or may not
// have happened. Wait returns when d has passed for the chips: a simulation's time is its own.
type Transport interface {
	Do(ops []Op) error
	Wait(d time.Duration) error
	Close() error
}

// Read32 reads one register.
func Read32(t Transport, c Chip, addr uint32) (uint32, error) {
	ops := []Op{Read(c, addr)}
	err := t.Do(ops)
	return ops[0].Data, err
}

// Write32 writes one register.
func Write32(t Transport, c Chip, addr, data uint32) error {
	return t.Do([]Op{Write(c, addr, data)})
}

func (o Op) describe() string {
	verb := "read"
	if o.Write {
		verb = "write"
	}
	return fmt.Sprintf("%s of %s register 0x%03x", verb, o.Chip, o.Addr)
}

func (o Op) check() error {
	if o.Addr%4 != 0 {
		return fmt.Errorf("%s: the address is not a multiple of 4", o.describe())
	}
	return nil
}
