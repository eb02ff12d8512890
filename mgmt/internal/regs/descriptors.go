// SPDX-License-Identifier: Apache-2.0

// Package regs describes the registers, counters, tables and rows of the three chips.
// Everything but this file is generated from regs/*.rdl.
package regs

import "fmt"

// Role says whose a register is.
type Role int

// Roles of a register.
const (
	Constant Role = iota // the same in every build
	Build                // fixed when the chip was elaborated
	Status               // driven by the chip
	Control              // written by software
	Window               // a port of the counter or table window
)

// Register is a 32-bit register, or Count of them.
type Register struct {
	Name            string
	Offset          uint32
	Count           int
	Role            Role
	Writable, Reset uint32
}

// Counter is one 64-bit counter. Path is encrypt, decrypt or none; Kind is received, sent, punted,
// drop, merged, split, injected, held, lost or info.
type Counter struct {
	Name       string
	Index      uint32
	Path, Kind string
}

// IsGauge says that it falls as well: it tells of the chip's state, the others of its past.
func (c Counter) IsGauge() bool { return c.Kind == "held" }

// Table is one table behind the window. Kind is cuckoo, ternary or direct.
type Table struct {
	Name      string
	Number    uint32
	Kind      string
	RowBits   int
	WriteOnly bool
}

// Words is the number of 32-bit data words of a row.
func (t Table) Words() int { return (t.RowBits + 31) / 32 }

// Field is a bit field of a register or of a row. A field of 32 bits or less lies within one data
// word; a wider one starts at a byte.
type Field struct {
	LSB, Width int
}

// Get returns the low 64 bits of the field of a row.
func (f Field) Get(row []uint32) uint64 {
	var value uint64
	width := min(f.Width, 64)
	for done := 0; done < width; {
		word, shift := (f.LSB+done)/32, (f.LSB+done)%32
		value |= uint64(row[word]>>shift) << done
		done += 32 - shift
	}
	return value << (64 - width) >> (64 - width)
}

// Put sets the low 64 bits of the field of a row to a number. It panics if the number does not fit,
// because that is an error of the caller.
func (f Field) Put(row []uint32, value uint64) {
	if f.Width < 64 && value>>f.Width != 0 {
		panic(fmt.Sprintf("regs: %d does not fit a field of %d bits", value, f.Width))
	}
	width := min(f.Width, 64)
	for done := 0; done < width; {
		word, shift := (f.LSB+done)/32, (f.LSB+done)%32
		count := min(32-shift, width-done)
		mask := uint32(1<<count-1) << shift
		row[word] = row[word]&^mask | uint32(value>>done)<<shift&mask
		done += count
	}
}

// PutBytes sets the field to a string of bytes, byte 0 in the lowest bits, and the rest of the
// field to zero. The bytes must fit the field.
func (f Field) PutBytes(row []uint32, value []byte) {
	if 8*len(value) > f.Width {
		panic(fmt.Sprintf("regs: %d bytes do not fit a field of %d bits", len(value), f.Width))
	}
	for n := 0; n < f.Width/8; n++ {
		bit := f.LSB + 8*n
		row[bit/32] &^= 0xff << (bit % 32)
		if n < len(value) {
			row[bit/32] |= uint32(value[n]) << (bit % 32)
		}
	}
}
