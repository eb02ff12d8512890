// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic is the time since this machine's start. No setting of its clock changes it, and it goes
// on while the machine is suspended.
func Monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("this kernel has no clock since its start: " + err.Error())
	}
	return time.Duration(t.Nano())
}
