// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"log/slog"
	"net"

	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/model"
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

// CallerOf asks the kernel.
func CallerOf(conn net.Conn) (c Caller) {
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

// RemoteCaller is a client of the network, by the name in its certificate and its address. It is
// not Known without a name.
func RemoteCaller(client, from string) Caller {
	return Caller{client: client, from: from, known: client != ""}
}

// Client is the name of a client of the network; empty of others.
func (c Caller) Client() string { return c.client }

// note writes a request that may change the box into the log: who asked for what, and whether it
// was done. The words are not in it: they may be keys.
func (c Caller) note(log *slog.Logger, do string, done bool) {
	if noted[do] {
		log.Info("request", append([]any{"event", "request", "do", do, "done", done}, c.who()...)...)
	}
}

// who names a caller in the log.
func (c Caller) who() []any {
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
	ErrReader       = inputf("this socket is for queries alone: changes need the socket of the group that may configure the box")
	ErrRemoteReader = inputf("this client may read alone: changes need a client that the daemon's configuration names in change of [api]")
)

// mayChange refuses a caller that may read alone.
func (c Caller) mayChange() error {
	switch {
	case !c.reads:
		return nil
	case c.client != "":
		return ErrRemoteReader
	}
	return ErrReader
}

// mayHold refuses SAs, with their keys, of a request that came in memory which is not wiped.
func (c Caller) mayHold(commands []xfrm.Command) error {
	for _, command := range commands {
		if sa, adds := command.(xfrm.StateAdd); adds && c.keyless {
			return xfrm.Errorf(sa.Pos, "an SA has a key, which has to come sealed: see GetSealingKey, or use the control socket")
		}
	}
	return nil
}

// trail writes into the log what a change has made of each object, and who asked for it. The
// daemon's own changes name no client.
func (d *Daemon) trail(after *model.Model) {
	before := d.trailed
	d.trailed = after
	for _, x := range after.Differences(before) {
		d.log.Info("change", append([]any{"event", "change", "object", x.Object, "before", x.Before, "after", x.After}, d.by.who()...)...)
	}
}
