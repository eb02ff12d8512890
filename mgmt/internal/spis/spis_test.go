// SPDX-License-Identifier: Apache-2.0

package spis

import (
	"testing"
	"time"
)

// TestPromise: of a range with two free SPIs each is promised once, until its time is over or an SA
// has taken it.
func TestPromise(t *testing.T) {
	p, now := New(), time.Unix(1_700_000_000, 0)
	taken := func(spi uint32) bool { return spi == 301 || spi == 303 }
	promise := func() (uint32, bool) { return p.Promise(300, 303, now, 2, taken) }
	a, first := promise()
	b, second := promise()
	if !first || !second || a+b != 300+302 || a == b {
		t.Errorf("promised %d and %d", a, b)
	}
	if c, free := promise(); free {
		t.Errorf("%d is promised twice", c)
	}
	now = now.Add(Larval - 1)
	if c, free := promise(); free {
		t.Errorf("%d is promised again before its time", c)
	}
	now = now.Add(1)
	if c, free := promise(); !free || c != a && c != b {
		t.Errorf("behind its time no SPI is free: %d", c)
	}
	p.Release(func(spi uint32) bool { return spi == 300 || spi == 302 })
	if c, free := promise(); !free {
		t.Errorf("an SPI whose SA came and went is not free: %d", c)
	}
}

// TestEnds: a range of one, and the one that ends with the last SPI there is.
func TestEnds(t *testing.T) {
	p, now, none := New(), time.Unix(1_700_000_000, 0), func(uint32) bool { return false }
	for _, spi := range []uint32{First, 1<<32 - 1} {
		if got, free := p.Promise(spi, spi, now, 0, none); !free || got != spi {
			t.Errorf("of %d alone %d is promised: %t", spi, got, free)
		}
		if got, free := p.Promise(spi, spi, now, 0, none); free {
			t.Errorf("%d is promised twice", got)
		}
	}
	if _, free := p.Promise(0, 1<<32-1, now, 0, none); !free {
		t.Error("of all SPIs none is free")
	}
}
