package main

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dropCapabilities gives up every capability of the process for good: none is needed once the cards are mapped. A process of Go has many
// threads, each with its own.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	for _, call := range []struct {
		name       string
		number     uintptr
		a1, a2, a3 uintptr
	}{
		{"keeping programs from gaining rights", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0},
		{"dropping ambient capabilities", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0},
		{"dropping capabilities", unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0},
	} {
		if _, _, errno := syscall.AllThreadsSyscall(call.number, call.a1, call.a2, call.a3); errno != 0 {
			return fmt.Errorf("%s failed: %w", call.name, errno)
		}
	}
	return nil
}
