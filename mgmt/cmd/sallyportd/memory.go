// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log/slog"

	"golang.org/x/sys/unix"
)

// hideMemory keeps what the process has in memory, keys among it, out of core dumps, and from other
// processes of its user, however it was started.
func hideMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hiding the memory failed: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbidding core dumps failed: %w", err)
	}
	return nil
}

// lockMemory keeps all memory of the process out of swap, present and future. That needs an
// infinite limit of locked memory: under another limit the process would fail once it reached that.
func lockMemory(log *slog.Logger) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit)
	if err == nil && limit.Cur != unix.RLIM_INFINITY {
		log.Warn("keys may be swapped out: the limit of locked memory is not infinite", "bytes", limit.Cur)
		return
	}
	if err == nil {
		err = unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT)
	}
	if err != nil {
		log.Warn("keys may be swapped out: memory cannot be locked", "error", err.Error())
	}
}
