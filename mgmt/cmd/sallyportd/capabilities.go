// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/cap"
)

// dropCapabilities gives up every capability of the process for good, in all of its threads: none
// is needed once the cards are mapped. Then it looks whether they are gone.
func dropCapabilities() error {
	if _, err := cap.Prctlw(unix.PR_SET_NO_NEW_PRIVS, 1); err != nil {
		return fmt.Errorf("keeping programs from gaining rights failed: %w", err)
	}
	if err := cap.ResetAmbient(); err != nil {
		return fmt.Errorf("dropping ambient capabilities failed: %w", err)
	}
	if err := cap.NewSet().SetProc(); err != nil {
		return fmt.Errorf("dropping capabilities failed: %w", err)
	}
	left := cap.GetProc()
	if differ, err := left.Cf(cap.NewSet()); err != nil || differ != 0 {
		return fmt.Errorf("capabilities are left: %s", left)
	}
	if ambient, err := cap.GetAmbient(cap.NET_ADMIN); err != nil || ambient {
		return fmt.Errorf("an ambient capability is left: %v", cap.NET_ADMIN)
	}
	return nil
}
