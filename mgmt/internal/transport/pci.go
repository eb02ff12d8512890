// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"sallyport/mgmt/internal/regs"
)

// Shell is where the registers of a card's shell begin, behind those of its core
// (docs/reference/cards.md).
const Shell = 0x8000

// Of BAR 0: what a Sallyport card has, and the part of it that is one card of the box.
const (
	barBytes  = 512 << 10
	cardBytes = 64 << 10
)

// PCI is the cards of a box, by BAR 0 of each, or of the crypto card alone, which reaches the
// others through its links. Every access is one aligned 32-bit load or store. Several goroutines
// may call Do at once.
type PCI struct {
	bars  [][]byte
	cards [3]window
}

// window is the registers of a card.
type window struct {
	registers []byte
	device    string // the address or path that was opened to reach them
	host      Chip   // the card whose BAR 0 they are in
}

// sysfsDevices is where Linux lists PCI functions.
const sysfsDevices = "/sys/bus/pci/devices"

// untilTimeout is how long the reads of one Do wait together, for bits that no working chip holds
// for a millisecond, once one of them has waited in vain.
const untilTimeout = time.Second

// allOnes is what a host reads where nothing answers, and what a card answers to an access
// that fails.
const allOnes = ^uint32(0)

// OpenPCI maps BAR 0 of the crypto card, or of three cards in the order inner, crypto, outer. A
// device is an address such as 0000:17:00.0, or the path of a resource file. OpenPCI does not check
// the cards.
func OpenPCI(devices []string) (*PCI, error) {
	p := &PCI{}
	switch len(devices) {
	case 1:
		bar, err := p.open(Crypto, devices[0])
		if err != nil {
			return nil, err
		}
		for place, c := range []Chip{Crypto, Inner, Outer} { // bits 18:16 of the address
			p.cards[c] = window{bar[place*cardBytes:][:cardBytes], devices[0], Crypto}
		}
	case len(Chips):
		for _, c := range Chips {
			bar, err := p.open(c, devices[c])
			if err != nil {
				return nil, errors.Join(err, p.Close())
			}
			p.cards[c] = window{bar[:cardBytes], devices[c], c}
		}
	default:
		return nil, fmt.Errorf("the cards of a box are one PCI device (crypto) or three (inner,crypto,outer), not %d", len(devices))
	}
	return p, nil
}

// open maps BAR 0 of a card.
func (p *PCI) open(c Chip, device string) ([]byte, error) {
	path := device
	if filepath.Base(device) == device {
		path = filepath.Join(sysfsDevices, device, "resource0")
	}
	bar, err := mapFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot map the registers of the %s card: %w", c, err)
	}
	p.bars = append(p.bars, bar)
	return bar, nil
}

func mapFile(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_SYNC, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < barBytes {
		return nil, fmt.Errorf("%s has %d bytes, and BAR 0 of a Sallyport card %d: this is another device", path, info.Size(), barBytes)
	}
	bar, err := syscall.Mmap(int(file.Fd()), 0, barBytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap %s (%d bytes): %w", path, barBytes, err)
	}
	return bar, nil
}

// word is a register of a card; the address is in the card.
func (p *PCI) word(c Chip, address uint32) *uint32 {
	return (*uint32)(unsafe.Pointer(&p.cards[c].registers[address]))
}

// Do performs the accesses one after the other. PCI Express does not report a failed write, and a
// failed read returns all ones, which may also be a register's value. So Do accepts all ones if the
// card still has its magic number. It accepts writes if the card that the host sees has counted no
// failed access meanwhile. Some hosts and emulators read 0 where nothing answers: if a read has 0,
// Do looks once for the magic number, too.
func (p *PCI) Do(ops []Op) error {
	for i := range ops {
		if err := ops[i].check(); err != nil {
			return err
		}
		if int(ops[i].Chip) >= len(p.cards) || uint64(ops[i].Addr)+4 > cardBytes {
			return fmt.Errorf("%s: outside the card", ops[i].describe())
		}
	}
	before, patience := p.failures(ops), untilTimeout
	var empty [len(p.cards)]*Op // of each card, the first read that has 0
	for i := range ops {
		op := &ops[i]
		word := p.word(op.Chip, op.Addr)
		if op.Write {
			store(word, op.Data)
			continue
		}
		for deadline := time.Now().Add(patience); ; {
			if op.Data = atomic.LoadUint32(word); op.Data == allOnes {
				if err := p.answers(op.Chip); err != nil {
					return fmt.Errorf("%s: %w", op.describe(), err)
				}
			}
			if op.Data&op.Until == 0 {
				break
			}
			if !time.Now().Before(deadline) {
				patience = 0 // those behind it do not wait again
				break
			}
		}
		if op.Data == 0 && empty[op.Chip] == nil {
			empty[op.Chip] = op
		}
	}
	for _, op := range empty {
		if op == nil {
			continue
		}
		if err := p.answers(op.Chip); err != nil {
			return fmt.Errorf("%s: %w", op.describe(), err)
		}
	}
	after := p.failures(ops)
	if after == before && !slices.Contains(after[:], allOnes) {
		return nil
	}
	return p.unwritten(ops)
}

// store is one 32-bit store, and no load. For amd64 and loong64 Go makes an exchange of
// atomic.StoreUint32, and that reads the register first: many of these cannot be read, or have an
// effect if they are. Outside its callers, so that the compiler joins no two stores.
//
//go:noinline
func store(word *uint32, value uint32) { *word = value }

// failures is ACCESS_ERRORS of the cards through whose BARs `ops` write.
func (p *PCI) failures(ops []Op) (count [3]uint32) {
	var seen [3]bool
	for _, op := range ops {
		if host := p.cards[op.Chip].host; op.Write && !seen[host] {
			seen[host], count[host] = true, atomic.LoadUint32(p.word(host, Shell+regs.ShellAccessErrors.Offset))
		}
	}
	return count
}

// unwritten says that a write has failed: of the first card that does not answer, if there is one.
func (p *PCI) unwritten(ops []Op) error {
	first := slices.IndexFunc(ops, func(op Op) bool { return op.Write })
	for _, op := range ops[first:] {
		if err := p.answers(op.Chip); err != nil {
			return fmt.Errorf("%s or an access behind it: %w", ops[first].describe(), err)
		}
	}
	return fmt.Errorf("%s or an access behind it failed: there is no such register, or a link was down for a moment", ops[first].describe())
}

// answers is an error if nothing of a card can be read.
func (p *PCI) answers(c Chip) error {
	if magic := atomic.LoadUint32(p.word(c, Shell+regs.ShellMagic.Offset)); magic != allOnes && magic != 0 {
		return nil
	}
	card := p.cards[c]
	if card.host != c && p.answers(card.host) == nil {
		return fmt.Errorf("the %s card does not answer: the link to it from the crypto card at %s is down, or it has no bitstream", c, card.device)
	}
	return fmt.Errorf("the %s card at %s does not answer: it has left the bus, or its memory was not enabled", card.host, card.device)
}

// Wait sleeps: cards live in the same time as this program.
func (p *PCI) Wait(d time.Duration) error {
	time.Sleep(d)
	return nil
}

// Close unmaps the cards. No access may be under way.
func (p *PCI) Close() error {
	var errs []error
	for _, bar := range p.bars {
		errs = append(errs, syscall.Munmap(bar))
	}
	p.bars, p.cards = nil, [3]window{}
	return errors.Join(errs...)
}
