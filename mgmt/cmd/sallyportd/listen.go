// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"sallyport/mgmt/internal/config"
)

// sockets take the requests of clients, of readers and of the other box of a pair. A nil one takes
// none.
type sockets struct{ control, readers, api, apiReaders, pair net.Listener }

// listenControl makes the control socket and that of the API, and those of readers, if a group may
// read.
func listenControl(c config.Control) (at sockets, err error) {
	wanted := []struct {
		at    *net.Listener
		path  string
		group config.Group
	}{{&at.control, c.Path.Name, c.Group}, {&at.api, c.API(), c.Group}}
	if c.ReadGroup.Name != "" {
		wanted = append(wanted, wanted[:2]...)
		wanted[2].at, wanted[2].path, wanted[2].group = &at.readers, c.ReadPath(), c.ReadGroup
		wanted[3].at, wanted[3].path, wanted[3].group = &at.apiReaders, c.ReadAPI(), c.ReadGroup
	}
	for _, socket := range wanted {
		if *socket.at, err = listenFor(socket.path, socket.group); err != nil {
			return at, errors.Join(err, at.close())
		}
	}
	return at, nil
}

// close ends those that are there.
func (at sockets) close() (err error) {
	for _, listener := range []net.Listener{at.control, at.readers, at.api, at.apiReaders, at.pair} {
		if listener != nil {
			err = errors.Join(err, listener.Close())
		}
	}
	return err
}

// listenFor makes a socket that its owner and group alone may use from its first moment on.
func listenFor(path string, group config.Group) (net.Listener, error) {
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("another daemon answers at %s", path)
	}
	// No process serves a socket that is left there: its daemon was killed.
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s exists and is no socket: remove it, or configure another control path", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot replace the control socket: %w", err)
	}
	gid, err := group.GID()
	if err != nil {
		return nil, err
	}
	before := syscall.Umask(0o177)
	listener, err := net.Listen("unix", path)
	syscall.Umask(before)
	if err != nil {
		return nil, fmt.Errorf("cannot listen at %s: %w", path, err)
	}
	err = os.Chown(path, -1, gid)
	if err == nil {
		err = os.Chmod(path, 0o660)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot give %s to the group %q: %w", path, group.Name, err), listener.Close())
	}
	return listener, nil
}
