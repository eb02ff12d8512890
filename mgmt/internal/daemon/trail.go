// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"log/slog"
	"net"

	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/control"
)

// changing are the requests that may change the box: the log says who asked, and whether it
// was done.
var changing = map[string]bool{control.DoBatch: true, control.DoCommand: true, control.DoAdvance: true, control.DoPair: true}

// caller is the process at the other end of a control connection, as the kernel knew it when it
// connected (SO_PEERCRED, unix(7)).
type caller struct {
	uid, gid uint32
	pid      int32
	known    bool
}

// callerOf asks the kernel.
func callerOf(conn net.Conn) (c caller) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return c
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return c
	}
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			c = caller{cred.Uid, cred.Gid, cred.Pid, true}
		}
	})
	return c
}

// note writes a request that may change the box into the log: who asked for what, and whether it
// was done. The words are not in it: they may be keys.
func (c caller) note(log *slog.Logger, do string, done bool) {
	if !changing[do] {
		return
	}
	who := []any{"event", "request", "do", do, "done", done}
	if c.known {
		who = append(who, "uid", c.uid, "gid", c.gid, "pid", c.pid)
	}
	log.Info("request", who...)
}
