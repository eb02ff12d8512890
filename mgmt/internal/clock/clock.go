// SPDX-License-Identifier: Apache-2.0

// Package clock turns cycles of a chip's core clock into time and back.
package clock

import (
	"fmt"
	"time"
)

// Clock is the frequency of a core clock in kHz.
type Clock uint32

// Hz is the frequency in cycles a second.
func (c Clock) Hz() uint64 { return uint64(c) * 1000 }

// Time is how long some cycles take, to the nanosecond below. A negative number of cycles gives a
// negative time.
func (c Clock) Time(cycles int64) time.Duration {
	perSecond := int64(c.Hz())
	return time.Duration(cycles/perSecond)*time.Second + time.Duration(cycles%perSecond*int64(time.Second)/perSecond)
}

// Text is the time of some cycles in seconds, with all nanoseconds: no count is too large for it.
func (c Clock) Text(cycles uint64) string {
	return fmt.Sprintf("%d.%09d", cycles/c.Hz(), cycles%c.Hz()*uint64(time.Second)/c.Hz())
}

// Units is how many units of some cycles a time has, to the nearest.
func (c Clock) Units(d time.Duration, cycles uint64) uint64 {
	unit := cycles * uint64(time.Millisecond)
	return (uint64(d)*uint64(c) + unit/2) / unit
}
