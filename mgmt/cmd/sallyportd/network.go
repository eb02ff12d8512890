// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"net"
	"time"

	"sallyport/mgmt/internal/api"
	"sallyport/mgmt/internal/config"
)

// listenAgain is how often a listener is tried again that cannot be had yet.
const listenAgain = time.Second

// joinNetwork notes who may come from other machines.
func joinNetwork(c *config.Config, r *reloader, log *slog.Logger) error {
	access, err := c.API.Access()
	if err != nil {
		return err
	}
	r.network = api.NewNetwork(access)
	if err := c.API.InTime(); err != nil {
		log.Warn("clients of other machines are refused", "error", err.Error())
	}
	return nil
}

// listenNetwork listens for clients of other machines; nil if ctx ends before. At a boot no
// interface may have the address yet, or another program may have the port. It says so once, and
// tries again.
func listenNetwork(ctx context.Context, address string, log *slog.Logger) net.Listener {
	for said := false; ; said = true {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err == nil {
			log.Info("the API for other machines", "address", listener.Addr().String())
			return listener
		}
		if !said {
			log.Warn("cannot listen for clients of other machines yet", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(listenAgain):
		}
	}
}
