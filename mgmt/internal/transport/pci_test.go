// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// Of BAR 0, as docs/reference/cards.md has it.
const (
	barBytes   = 512 << 10
	innerPlace = 1 << 16
	outerPlace = 2 << 16
)

// bar is an ordinary file in the place of BAR 0: memory, that answers whatever was written.
type bar struct {
	t    *testing.T
	path string
}

// newBar has the words of a card that is idle at each place.
func newBar(t *testing.T, places ...int64) bar {
	b := bar{t, filepath.Join(t.TempDir(), "resource0")}
	if err := os.WriteFile(b.path, make([]byte, barBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, place := range places {
		b.set(place+0x8000, regs.ShellMagic.Reset)
	}
	return b
}

func (b bar) set(address int64, value uint32) {
	b.t.Helper()
	file, err := os.OpenFile(b.path, os.O_RDWR, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(binary.LittleEndian.AppendUint32(nil, value), address); err != nil {
		b.t.Fatal(err)
	}
}

func (b bar) get(address int64) uint32 {
	b.t.Helper()
	content, err := os.ReadFile(b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	return binary.LittleEndian.Uint32(content[address:])
}

func openPCI(t *testing.T, devices ...string) *transport.PCI {
	t.Helper()
	p, err := transport.OpenPCI(devices)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestThreeBars: each card by its own BAR 0.
func TestThreeBars(t *testing.T) {
	bars := []bar{newBar(t, 0), newBar(t, 0), newBar(t, 0)}
	for i, b := range bars {
		b.set(4, uint32(i)+1)
	}
	p := openPCI(t, bars[0].path, bars[1].path, bars[2].path)
	for i, c := range transport.Chips {
		if value, err := transport.Read32(p, c, 4); err != nil || value != uint32(i)+1 {
			t.Errorf("%s: %d, %v", c, value, err)
		}
		if err := transport.Write32(p, c, 0x10, 0xCAFE+uint32(i)); err != nil || bars[i].get(0x10) != 0xCAFE+uint32(i) {
			t.Errorf("%s: wrote %#x, %v", c, bars[i].get(0x10), err)
		}
	}
	if err := transport.Write32(p, transport.Crypto, 0xFFFC, 5); err != nil || bars[1].get(0xFFFC) != 5 {
		t.Errorf("the last word of a card: %v", err)
	}
	for _, address := range []uint32{0x10000, 1} {
		if err := transport.Write32(p, transport.Crypto, address, 0); err == nil {
			t.Errorf("%#x was written", address)
		}
	}
	if err := transport.Write32(p, transport.Chip(3), 0, 0); err == nil {
		t.Error("a fourth card was written")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOneBar: all cards by that of the crypto card.
func TestOneBar(t *testing.T) {
	places := map[transport.Chip]int64{transport.Crypto: 0, transport.Inner: innerPlace, transport.Outer: outerPlace}
	b := newBar(t, 0, innerPlace, outerPlace)
	for c, place := range places {
		b.set(place+0xFFFC, uint32(c)+7)
	}
	p := openPCI(t, b.path)
	defer p.Close()
	for c, place := range places {
		if value, err := transport.Read32(p, c, 0xFFFC); err != nil || value != uint32(c)+7 {
			t.Errorf("%s: %d, %v", c, value, err)
		}
		if err := transport.Write32(p, c, 0x8014, 0xCAFE+uint32(c)); err != nil || b.get(place+0x8014) != 0xCAFE+uint32(c) {
			t.Errorf("%s: wrote %#x, %v", c, b.get(place+0x8014), err)
		}
	}
	if err := transport.Write32(p, transport.Inner, 0x10000, 0); err == nil {
		t.Error("the inner card reached into the outer")
	}
}

// TestNobodyAnswers: all ones are a value of a card that answers, and an error that names the card
// of one that does not.
func TestNobodyAnswers(t *testing.T) {
	const gone = ^uint32(0)
	b := newBar(t, 0, innerPlace, outerPlace)
	p := openPCI(t, b.path)
	defer p.Close()
	b.set(outerPlace+0x300, gone)
	if value, err := transport.Read32(p, transport.Outer, 0x300); err != nil || value != gone {
		t.Errorf("a register of all ones: %#x, %v", value, err)
	}
	fails := func(op transport.Op, want string) {
		t.Helper()
		begin := time.Now()
		if err := p.Do([]transport.Op{op}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v, want %q", op, err, want)
		}
		if time.Since(begin) > time.Second/2 {
			t.Errorf("%+v took %v", op, time.Since(begin))
		}
	}
	b.set(outerPlace+0x8000, gone)
	fails(transport.Read(transport.Outer, 0x300), "the outer card does not answer: the link to it")
	fails(transport.ReadUntil(transport.Outer, 0x300, 1), "the outer card does not answer: the link to it")
	if _, err := transport.Read32(p, transport.Inner, 0x300); err != nil {
		t.Errorf("another card: %v", err)
	}
	b.set(0x8000, gone)
	b.set(0x8000+int64(regs.ShellAccessErrors.Offset), gone)
	fails(transport.Read(transport.Outer, 0x300), "the crypto card at "+b.path+" does not answer: it has left the bus")
	fails(transport.Write(transport.Crypto, 0x10, 1), "write of crypto register 0x010 or an access behind it: the crypto card at "+b.path+" does not answer")
	alone := newBar(t)
	alone.set(0x8000, gone)
	alone.set(4, gone)
	three := openPCI(t, b.path, b.path, alone.path)
	defer three.Close()
	if _, err := transport.Read32(three, transport.Outer, 4); err == nil || !strings.Contains(err.Error(), "the outer card at "+alone.path) {
		t.Errorf("one of three: %v", err)
	}
}

// TestFailedWrite: the card that the host sees counts a write that failed, and only so can it
// be known.
func TestFailedWrite(t *testing.T) {
	b := newBar(t, 0, innerPlace, outerPlace)
	p := openPCI(t, b.path)
	defer p.Close()
	// the file lets us play the counter
	count := transport.Write(transport.Crypto, 0x8000+regs.ShellAccessErrors.Offset, 1)
	err := p.Do([]transport.Op{transport.Read(transport.Crypto, 0), transport.Write(transport.Inner, 0x10, 7), count})
	if err == nil || !strings.Contains(err.Error(), "write of inner register 0x010 or an access behind it failed") {
		t.Errorf("counted: %v", err)
	}
	count.Data++
	b.set(innerPlace+0x8000, ^uint32(0))
	if err := p.Do([]transport.Op{count, transport.Write(transport.Inner, 0x10, 7)}); err == nil || !strings.Contains(err.Error(), "the inner card does not answer") {
		t.Errorf("counted, and the card does not answer: %v", err)
	}
	if err := transport.Write32(p, transport.Outer, 0x10, 7); err != nil {
		t.Errorf("nothing more was counted: %v", err)
	}
}

// TestBusyForEver: of many rows that a chip never finishes one is waited for, and no more. Waiting
// for each would take ten minutes.
func TestBusyForEver(t *testing.T) {
	b := newBar(t, 0, innerPlace, outerPlace)
	p := openPCI(t, b.path)
	defer p.Close()
	b.set(innerPlace+int64(regs.CommonTableStatus.Offset), 1)
	ops := make([]transport.Op, 600)
	for i := range ops {
		ops[i] = transport.ReadUntil(transport.Inner, regs.CommonTableStatus.Offset, 1)
	}
	if err := p.Do(ops); err != nil || ops[599].Data != 1 {
		t.Errorf("%v, %d", err, ops[599].Data)
	}
}

// TestPCIRefuses: devices that cannot be the cards of a box.
func TestPCIRefuses(t *testing.T) {
	small := filepath.Join(t.TempDir(), "resource0")
	if err := os.WriteFile(small, make([]byte, barBytes-4096), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBar(t, 0)
	for want, devices := range map[string][]string{
		"crypto card: " + small + " has 520192 bytes, and BAR 0 of a Sallyport card 524288": {small},
		"not 2":          {b.path, b.path},
		"not 4":          {b.path, b.path, b.path, b.path},
		"outer card":     {b.path, b.path, "0000:ff:1f.7"},
		"of the inner c": {small, b.path, b.path},
	} {
		if _, err := transport.OpenPCI(devices); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want %q", devices, err, want)
		}
	}
}

// TestZeros: 0 is a value of a card that answers, and where the magic number is 0, too, none does.
func TestZeros(t *testing.T) {
	b := newBar(t, 0, innerPlace, outerPlace)
	p := openPCI(t, b.path)
	defer p.Close()
	if value, err := transport.Read32(p, transport.Inner, 0x300); err != nil || value != 0 {
		t.Errorf("a register of 0: %#x, %v", value, err)
	}
	for _, place := range []int64{0, innerPlace, outerPlace} {
		b.set(place+0x8000, 0)
	}
	for _, c := range transport.Chips {
		if _, err := transport.Read32(p, c, 0x300); err == nil || !strings.Contains(err.Error(), "the crypto card at "+b.path+" does not answer") {
			t.Errorf("%s: %v", c, err)
		}
	}
}
