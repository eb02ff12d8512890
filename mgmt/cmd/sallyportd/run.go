// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"sallyport/mgmt/internal/api"
	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/config"
	core "sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/listen"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/traffic"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/web"
	"sallyport/mgmt/internal/xfrm"
)

// run owns the box until ctx ends or something fails. What needs rights is opened first; then they
// are given up.
func run(ctx context.Context, c *config.Config, initial []xfrm.Command, log *slog.Logger, r *reloader) error {
	claim, err := c.Registers.Claim(c.Control.Path.Name)
	if err != nil {
		return err
	}
	defer claim.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	session, err := openSession(ctx, c)
	if err != nil {
		return err
	}
	lockMemory(log)
	chips := session.Box
	registers := chips.Transport()
	if err := session.Hold(ctx); err != nil {
		return errors.Join(err, chips.Close())
	}
	at, err := listenControl(c.Control)
	if err != nil {
		return errors.Join(err, session.Release(), chips.Close())
	}
	defer func() { _ = at.close() }()
	d, err := core.New(session, log, version)
	if err != nil {
		return errors.Join(err, session.Release(), chips.Close())
	}
	frames, err := openFrames(c, registers, log)
	if err == nil && frames != nil {
		defer frames.Close()
	}
	if err == nil && c.Peer.Wanted() {
		at.pair, err = joinPair(c, d, frames, r, log)
	}
	if err == nil && c.API.Wanted() {
		err = joinNetwork(c, r, log)
	}
	if err == nil {
		err = configure(c, d, initial, log)
	}
	if err == nil {
		err = openTaps(c, d, frames)
	}
	if err == nil {
		err = useNoise(c, d)
	}
	if err == nil {
		err = dropCapabilities()
	}
	if err == nil {
		err = serve(ctx, stop, c, d, at, log, r)
	}
	return errors.Join(err, d.Close())
}

// openSession reaches the chips. Once ctx ends, no access waits long for an answer.
func openSession(ctx context.Context, c *config.Config) (*session.Session, error) {
	registers, err := c.Registers.Open(ctx)
	if err != nil {
		return nil, err
	}
	chips, err := chip.Open(ctx, registers)
	if err != nil {
		return nil, errors.Join(err, registers.Close())
	}
	return &session.Session{Box: chips, StatePath: cmp.Or(c.State.Name, c.Registers.State()), KeysPath: c.Registers.Keys()}, nil
}

// openFrames takes the frames of the management CPU, if anything here has a use for them; none
// otherwise. Cards have them in mailboxes, simulated ones too. A box of a pair announces its
// addresses, for which the frames of a simulation of cores alone are taken for a moment each time,
// and left to others.
func openFrames(c *config.Config, registers transport.Transport, log *slog.Logger) (punt.Frames, error) {
	switch {
	case !c.Taps.Wanted() && !c.Peer.Wanted():
		return nil, nil
	case c.Registers.PCI != "" || card.Check(registers, transport.Inner) == nil:
		return transport.OpenMailbox(registers, log)
	case c.Taps.Wanted():
		return transport.DialFrames(transport.FramesPath(c.Registers.Socket))
	}
	return nil, nil
}

// configure undoes a change that was cut short. A box without a configuration gets the saved one,
// or, if none is saved, the initial batch.
func configure(c *config.Config, d *core.Daemon, initial []xfrm.Command, log *slog.Logger) error {
	if err := errors.Join(d.KeepConfig(c.SavedPath()), d.Recover()); err != nil {
		return err
	}
	if d.Adopted() {
		return nil
	}
	done, found, err := d.RunSaved()
	if err == nil && !found && len(initial) > 0 {
		done, err = d.RunInitial(initial)
	}
	for _, note := range done.Notes {
		log.Warn(note)
	}
	return err
}

// useNoise has the noise source feed the kernel's pool, if that is configured. The pool stays open
// as long as the daemon runs.
func useNoise(c *config.Config, d *core.Daemon) error {
	if !c.Noise.Use {
		return nil
	}
	pool, err := os.OpenFile(core.Pool, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("cannot reach the kernel's entropy pool: %w", err)
	}
	d.UseNoise(pool)
	return nil
}

// openTaps makes Linux the host behind the ports, if that is configured: of a box that is
// configured, so that the devices are as its ports.
func openTaps(c *config.Config, d *core.Daemon, frames punt.Frames) error {
	if !c.Taps.Wanted() {
		return nil
	}
	d.UsePaths(core.Paths{Believe: c.ICMP.PathMTU, Holds: c.ICMP.Age.Duration})
	return d.OpenHost(frames, c.Taps.Red.Name, c.Taps.Black.Name, c.Taps.Tunnels.Name, c.Taps.Interfaces())
}

// serve answers until ctx ends or something fails. Either stops the accesses to chips that do not
// answer.
func serve(ctx context.Context, stop context.CancelFunc, c *config.Config, d *core.Daemon, at sockets, log *slog.Logger, r *reloader) error {
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, stop)()
	group.Go(func() error { return r.follow(ctx, log) })
	if at.pair != nil {
		group.Go(func() error { return servePair(ctx, d, listen.Steady(at.pair, log)) })
	}
	if at.readers != nil {
		group.Go(func() error { return d.ServeReaders(ctx, listen.Steady(at.readers, log)) })
	}
	if err := serveAPI(ctx, group, c, d, at, log, r.network); err != nil {
		return err
	}
	if c.Taps.Wanted() {
		group.Go(func() error { return d.Relay(ctx) })
	}
	group.Go(func() error { return d.UndoLoads(ctx) })
	group.Go(func() error { return d.Poll(ctx, c.Events.Poll.Duration, alive) })
	group.Go(func() error { return d.Serve(ctx, listen.Steady(at.control, log)) })
	if c.Metrics.Listen.IsValid() {
		listener, err := net.Listen("tcp", c.Metrics.Listen.String())
		if err != nil {
			return fmt.Errorf("cannot listen for Prometheus: %w", err)
		}
		group.Go(func() error { return serveMetrics(ctx, listen.Steady(listener, log), d, c.Metrics) })
	}
	if c.Web.Listen.IsValid() {
		listener, err := net.Listen("tcp", c.Web.Listen.String())
		if err != nil {
			return fmt.Errorf("cannot listen for browsers: %w", err)
		}
		log.Info("the page for browsers", "url", "http://"+listener.Addr().String()+"/")
		group.Go(func() error { return web.New(d, log).Serve(ctx, listen.Steady(listener, log)) })
	}
	log.Info("ready", "version", version, "control", c.Control.Path.Name, "metrics", c.Metrics.Listen.String())
	notify(daemon.SdNotifyReady)
	err := group.Wait()
	notify(daemon.SdNotifyStopping)
	// The audit trail has its end as it has its beginning (Common Criteria, FAU_GEN.1).
	log.Info("the daemon ends", "version", version)
	return err
}

// serveAPI answers the clients of the API until ctx ends.
func serveAPI(ctx context.Context, group *errgroup.Group, c *config.Config, d *core.Daemon, at sockets, log *slog.Logger, network *api.Network) error {
	server, err := api.New(d, log, version)
	if err != nil {
		return err
	}
	group.Go(func() error { return server.Serve(ctx, listen.Steady(at.api, log), false) })
	if at.apiReaders != nil {
		group.Go(func() error { return server.Serve(ctx, listen.Steady(at.apiReaders, log), true) })
	}
	if network != nil {
		group.Go(func() error {
			listener := listenNetwork(ctx, c.API.Listen.String(), log)
			if listener == nil {
				return nil
			}
			return server.ServeNetwork(ctx, listen.Steady(listener, log), network)
		})
	}
	return nil
}

// serveMetrics answers Prometheus until ctx ends.
func serveMetrics(ctx context.Context, listener net.Listener, d *core.Daemon, c config.Metrics) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(core.NewMetrics(d), traffic.NewSAs(d, c.SAs))
	mux := http.NewServeMux()
	mux.Handle("/metrics", web.Guarded(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), c.Names...))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// alive tells systemd's watchdog that the chips have answered.
func alive() { notify(daemon.SdNotifyWatchdog) }

// notify tells systemd of a state, if it is there to be told.
func notify(state string) { _, _ = daemon.SdNotify(false, state) }
