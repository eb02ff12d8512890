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

// listenControl makes the control socket, and that of readers, if a group may read.
func listenControl(c config.Control) (control, readers net.Listener, err error) {
	if control, err = listenFor(c.Path.Name, c.Group); err != nil || c.ReadGroup.Name == "" {
		return control, nil, err
	}
	if readers, err = listenFor(c.ReadPath(), c.ReadGroup); err != nil {
		return nil, nil, errors.Join(err, control.Close())
	}
	return control, readers, nil
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
