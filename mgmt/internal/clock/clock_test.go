// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"testing"
	"time"
)

func TestTime(t *testing.T) {
	for _, test := range []struct {
		clock  Clock
		cycles int64
		want   time.Duration
	}{
		{300_000, 1, 3},
		{300_000, 450_000_000, 1500 * time.Millisecond},
		{300_000, -300_000_000, -time.Second},
		{250_000, 1, 4},
		{250_000, 250_000_000 * 86400 * 365, 365 * 24 * time.Hour},
		{267_857, 267_857, time.Millisecond},
	} {
		if got := test.clock.Time(test.cycles); got != test.want {
			t.Errorf("%d cycles of %d kHz: %v, not %v", test.cycles, test.clock, got, test.want)
		}
	}
}

func TestText(t *testing.T) {
	// 2^40 cycles of 300 MHz are 3665 s and 11627776 cycles.
	if got := Clock(300_000).Text(1 << 40); got != "3665.038759253" {
		t.Error(got)
	}
	if got := Clock(250_000).Text(1<<64 - 1); got != "73786976294.838206460" {
		t.Error(got)
	}
}

func TestUnits(t *testing.T) {
	for _, test := range []struct {
		clock  Clock
		time   time.Duration
		cycles uint64
		want   uint64
	}{
		{300_000, 30 * time.Second, 1 << 20, 8583},
		{250_000, 30 * time.Second, 1 << 20, 7153},
		{300_000, 100 * time.Second, 16, 1_875_000_000},
		{300_000, 1747626 * time.Nanosecond, 1 << 20, 0},
		{300_000, 1747627 * time.Nanosecond, 1 << 20, 1},
	} {
		if got := test.clock.Units(test.time, test.cycles); got != test.want {
			t.Errorf("%v in units of %d cycles of %d kHz: %d, not %d", test.time, test.cycles, test.clock, got, test.want)
		}
	}
}
