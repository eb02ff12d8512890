package transport

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// PCI maps BAR 0 of one card per chip. Every access is one aligned 32-bit load or store.
type PCI struct {
	bars [3][]byte
	name [3]string
}

// sysfsDevices is where Linux lists PCI functions.
const sysfsDevices = "/sys/bus/pci/devices"

// untilTimeout is how long a read waits for bits that no working chip holds for a millisecond.
const untilTimeout = time.Second

// OpenPCI maps resource0 of three functions, in the order inner, crypto, outer. A device is an address such
// as 0000:17:00.0, or the path of a resource file.
func OpenPCI(devices []string) (*PCI, error) {
	if len(devices) != len(Chips) {
		return nil, fmt.Errorf("--pci needs three devices (inner,crypto,outer), not %d", len(devices))
	}
	p := &PCI{}
	for i, device := range devices {
		path := device
		if filepath.Base(device) == device {
			path = filepath.Join(sysfsDevices, device, "resource0")
		}
		bar, err := mapFile(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot map the registers of the %s chip: %w", Chip(i), err), p.Close())
		}
		p.bars[i], p.name[i] = bar, device
	}
	return p, nil
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
	bar, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap %s (%d bytes): %w", path, info.Size(), err)
	}
	return bar, nil
}

// Do performs the accesses one after the other. A read of a card that has left the bus gives all ones, which the
// identity check of the driver refuses.
func (p *PCI) Do(ops []Op) error {
	for i := range ops {
		op := &ops[i]
		if err := op.check(); err != nil {
			return err
		}
		if int(op.Chip) >= len(p.bars) || uint64(op.Addr)+4 > uint64(len(p.bars[op.Chip])) {
			return fmt.Errorf("%s: outside the BAR", op.describe())
		}
		word := (*uint32)(unsafe.Pointer(&p.bars[op.Chip][op.Addr]))
		if op.Write {
			atomic.StoreUint32(word, op.Data)
		} else {
			op.Data = atomic.LoadUint32(word)
			for deadline := time.Now().Add(untilTimeout); op.Data&op.Until != 0 && time.Now().Before(deadline); {
				op.Data = atomic.LoadUint32(word)
			}
		}
	}
	return nil
}

// Wait sleeps: cards live in the same time as this program.
func (p *PCI) Wait(d time.Duration) error {
	time.Sleep(d)
	return nil
}

// Close unmaps what is mapped.
func (p *PCI) Close() error {
	var errs []error
	for i, bar := range p.bars {
		if bar != nil {
			errs = append(errs, syscall.Munmap(bar))
			p.bars[i] = nil
		}
	}
	return errors.Join(errs...)
}
