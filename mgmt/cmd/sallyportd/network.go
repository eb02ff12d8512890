// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"sallyport/mgmt/internal/api"
	"sallyport/mgmt/internal/config"
)

// joinNetwork listens for clients of other machines. An address that this machine does not have yet
// is no error: at a boot the network may come later.
func joinNetwork(c *config.Config, r *reloader, log *slog.Logger) (net.Listener, error) {
	access, err := c.API.Access()
	if err != nil {
		return nil, err
	}
	r.network = api.NewNetwork(access)
	address := c.API.Listen.String()
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		log.Warn("no interface has the address of the API yet", "address", address)
		listener, err = (&net.ListenConfig{Control: freely}).Listen(context.Background(), "tcp", address)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen for clients of other machines: %w", err)
	}
	return listener, nil
}

// freely lets a socket have an address that no interface has.
func freely(_, _ string, conn syscall.RawConn) error {
	var set error
	err := conn.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_FREEBIND, 1) })
	return errors.Join(err, set)
}
