// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"sync"
	"time"

	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/xfrm"
)

// larval is how long an SPI waits for its SA, as strongSwan has Linux's kernel keep it.
const larval = 165 * time.Second

// firstSPI is the first that is not reserved (RFC 4303, 2.1).
const firstSPI = 256

// reservations are SPIs that were given away and have no SA yet, with the time at which they are
// free again.
type reservations map[uint32]time.Time

// reserved are the reservations, with their lock.
type reserved struct {
	mu   sync.Mutex
	spis reservations
}

func (r *reserved) release(taken func(uint32) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spis.release(taken)
}

// release forgets those that an SA has taken.
func (r reservations) release(taken func(uint32) bool) {
	for spi := range r {
		if taken(spi) {
			delete(r, spi)
		}
	}
}

// expire forgets SPIs that no client has taken in time.
func (r reservations) expire(now time.Time) {
	for spi, end := range r {
		if !now.Before(end) {
			delete(r, spi)
		}
	}
}

// allocSPI gives an SPI that no inbound SA has and no other was promised. A router finds inbound
// SAs by their SPI alone, so it is unique over all destinations.
func (d *Daemon) allocSPI(who Caller, r *control.AllocSPI) (any, error) {
	if err := who.mayChange(); err != nil {
		return nil, err
	}
	src, err := netip.ParseAddr(r.Src)
	if err != nil {
		return nil, inputf("src must be an IP address")
	}
	dst, err := netip.ParseAddr(r.Dst)
	if err != nil || src.Is4() != dst.Is4() {
		return nil, inputf("dst must be an IP address of src's version")
	}
	if r.Min < firstSPI || r.Max < r.Min {
		return nil, inputf("min and max must be a range of SPIs from %d on, not %d to %d", firstSPI, r.Min, r.Max)
	}
	if err := d.mayAgreeKeys(); err != nil {
		return nil, err
	}
	v, err := d.view()
	if err != nil {
		return nil, err
	}
	sas := &v.Model().SAs
	d.reserved.mu.Lock()
	defer d.reserved.mu.Unlock()
	d.reserved.spis.expire(d.now())
	size := uint64(r.Max-r.Min) + 1
	offset := random() % size
	for range min(size, uint64(sas.Count(xfrm.DirIn)+len(d.reserved.spis)+1)) {
		spi := r.Min + uint32(offset)
		if _, promised := d.reserved.spis[spi]; !promised && !sas.Inbound(spi) {
			d.reserved.spis[spi] = d.now().Add(larval)
			return control.SPI{SPI: spi}, nil
		}
		offset = (offset + 1) % size
	}
	return nil, inputf("no SPI from 0x%x to 0x%x is free", r.Min, r.Max)
}

func random() uint64 {
	var bytes [8]byte
	_, _ = rand.Read(bytes[:]) // never fails (crypto/rand)
	return binary.LittleEndian.Uint64(bytes[:])
}

func inputf(format string, args ...any) error { return xfrm.Errorf(xfrm.Pos{}, format, args...) }
