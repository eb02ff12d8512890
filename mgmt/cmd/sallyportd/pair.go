// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sync/errgroup"

	"sallyport/mgmt/internal/config"
	core "sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/peer"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/transport"
)

// joinPair makes the box one of two, and listens for the other.
func joinPair(c *config.Config, d *core.Daemon, frames punt.Frames, r *reloader, log *slog.Logger) (net.Listener, error) {
	identity, err := c.Peer.Identity()
	if err != nil {
		return nil, err
	}
	r.identity.Store(identity)
	if err := c.Peer.InTime(); err != nil {
		r.late = true
		log.Warn("the boxes of the pair cannot know each other yet", "error", err.Error())
	}
	known := r.identity.Load
	p := &core.Pair{
		Side: c.Peer.Side.Side, Other: c.Peer.Connect.AddrPort, Identity: known, Client: peer.NewClient(c.Peer.Connect.AddrPort, c.Peer.Listen.Addr(), known),
		Interval: c.Peer.Interval.Duration, Dead: c.Peer.Dead.Duration, Rate: c.Peer.Rate,
	}
	if c.Peer.Fence.Name != "" {
		p.Fence = func(ctx context.Context) error { return fence(ctx, c.Peer.Fence.Name, p.Other) }
	}
	if frames != nil {
		p.Send = frames.Send
	} else {
		p.Send = func(port uint8, frame []byte) error { return transport.Inject(c.Registers.Socket, port, frame) }
	}
	listener, err := net.Listen("tcp", c.Peer.Listen.String())
	if err != nil {
		return nil, fmt.Errorf("cannot listen for the other box: %w", err)
	}
	if err := d.JoinPair(p); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// fence has a program make sure that the other box forwards nothing: its status is 0 once that is
// so. It gets the other's address, and of the environment no more than PATH.
func fence(ctx context.Context, program string, other netip.AddrPort) error {
	command := exec.CommandContext(ctx, program, other.Addr().String())
	command.Env = []string{"PATH=" + os.Getenv("PATH")}
	said, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(string(said[:min(len(said), mostSaid)])))
	}
	return nil
}

// mostSaid is how much of what a fence says is logged, in bytes.
const mostSaid = 256

// servePair has the box be one of the pair until ctx ends, and then leave the pair: an active box
// gives its place to the other, for which both go on meanwhile.
func servePair(ctx context.Context, d *core.Daemon, listener net.Listener) error {
	rest, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	group, rest := errgroup.WithContext(rest)
	group.Go(func() error { return d.ServePair(rest, listener) })
	group.Go(func() error { return d.FollowPair(rest) })
	group.Go(func() error {
		defer end()
		select {
		case <-rest.Done():
			return nil
		case <-ctx.Done():
			return d.LeavePair()
		}
	})
	return group.Wait()
}
