// SPDX-License-Identifier: Apache-2.0

// Package caller knows who asks the daemon for something, and what such a one may ask for.
package caller

import (
	"log/slog"
	"net"

	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/xfrm"
)

// noted are the requests that may change the box: the log says who asked, and whether it was done.
var noted = map[string]bool{control.DoBatch: true, control.DoCommand: true, control.DoAdvance: true, control.DoPair: true, control.DoConfig: true}

// Caller is who asks: the process at the other end of a connection, as the kernel knew it when it
// connected (SO_PEERCRED, unix(7)), or a client of the network.
type Caller struct {
	uid, gid uint32
	pid      int32
	client   string // of the network: the name in its certificate, and its address
	from     string
	known    bool // else it is the daemon itself, or a caller without a name
	reads    bool // it may change nothing
	keyless  bool // what it asks came in memory that is not wiped
}

// Known says whether the log can name the caller. No client may ask for anything without: it would
// pass for the daemon itself.
func (c Caller) Known() bool { return c.known }

// Reading is the caller as one that may change nothing.
func (c Caller) Reading() Caller {
	c.reads = true
	return c
}

// Keyless is the caller as one whose request holds no keys: SAs in it are refused.
func (c Caller) Keyless() Caller {
	c.keyless = true
	return c
}

// Of asks the kernel.
func Of(conn net.Conn) (c Caller) {
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
			c = Caller{uid: cred.Uid, gid: cred.Gid, pid: cred.Pid, known: true}
		}
	})
	return c
}

// Remote is a client of the network, by the name in its certificate and its address. It is
// not Known without a name.
func Remote(client, from string) Caller {
	return Caller{client: client, from: from, known: client != ""}
}

// RemoteReader says whether the caller asks by the network for a change, and may change nothing.
func (c Caller) RemoteReader(do string) bool { return noted[do] && c.client != "" && c.reads }

// Client is the name of a client of the network; empty of others.
func (c Caller) Client() string { return c.client }

// Note writes a request that may change the box into the log: who asked for what, and whether it
// was done. The words are not in it: they may be keys.
func (c Caller) Note(log *slog.Logger, do string, done bool) {
	if noted[do] {
		log.Info("request", append([]any{"event", "request", "do", do, "done", done}, c.Who()...)...)
	}
}

// Who names a caller in the log.
func (c Caller) Who() []any {
	switch {
	case !c.known:
		return nil
	case c.client != "":
		return []any{"client", c.client, "from", c.from}
	}
	return []any{"uid", c.uid, "gid", c.gid, "pid", c.pid}
}

// These refuse a change to a caller that may read alone, of this machine and of the network.
var (
	ErrReader       = xfrm.Errorf(xfrm.Pos{}, "this socket is for queries alone: changes need the socket of the group that may configure the box")
	ErrRemoteReader = xfrm.Errorf(xfrm.Pos{}, "this client may read alone: changes need a client that the daemon's configuration names in change of [api]")
)

// MayChange refuses a caller that may read alone.
func (c Caller) MayChange() error {
	switch {
	case !c.reads:
		return nil
	case c.client != "":
		return ErrRemoteReader
	}
	return ErrReader
}

// MayHold refuses SAs, with their keys, of a request that came in memory which is not wiped.
func (c Caller) MayHold(commands []xfrm.Command) error {
	for _, command := range commands {
		if sa, adds := command.(xfrm.StateAdd); adds && c.keyless {
			return xfrm.Errorf(sa.Pos, "an SA has a key, which has to come sealed: see GetSealingKey, or use the control socket")
		}
	}
	return nil
}
