// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package killpoint

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// steps are the system calls that change a file, or tell another process something. A file that is
// opened may be made thereby, so openat is one of them if it has O_CREAT.
var steps = []uint32{
	unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC,
	unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT,
}

// Places in struct seccomp_data (seccomp(2)).
const (
	dataNumber = 0
	dataFlags  = 16 + 2*8 // of openat: the low word of its third argument
)

const (
	load     = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	ifEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	ifHasBit = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	give     = unix.BPF_RET | unix.BPF_K
)

// program asks the supervisor about steps, and lets all other calls pass.
func program() []unix.SockFilter {
	out := []unix.SockFilter{{Code: load, K: dataNumber}}
	for i, number := range steps {
		out = append(out, unix.SockFilter{Code: ifEqual, K: number, Jt: uint8(len(steps) - i + 3)})
	}
	return append(out,
		unix.SockFilter{Code: ifEqual, K: unix.SYS_OPENAT, Jf: 2},
		unix.SockFilter{Code: load, K: dataFlags},
		unix.SockFilter{Code: ifHasBit, K: unix.O_CREAT, Jt: 1},
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_USER_NOTIF},
	)
}

// install puts the filter on this thread and gives the supervisor's end, which exec closes.
func install() (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("keeping programs from gaining rights failed: %w", err)
	}
	filter := program()
	arguments := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&arguments)))
	if failed != 0 {
		return 0, fmt.Errorf("this kernel does not ask about system calls: %w", failed)
	}
	return int(fd), nil
}
