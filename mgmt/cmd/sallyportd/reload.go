// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"sync/atomic"
	"syscall"
	"time"

	"sallyport/mgmt/internal/api"
	"sallyport/mgmt/internal/config"
	"sallyport/mgmt/internal/mutual"
	"sallyport/mgmt/internal/peer"
	"sallyport/mgmt/internal/xfrm"
)

// reloader reads the configuration again at SIGHUP. The level of the log, the certificates of a
// pair, and those of the API with its clients change at once; what else differs takes a restart.
type reloader struct {
	path     string
	now      *config.Config
	level    slog.LevelVar
	identity atomic.Pointer[peer.Identity]
	late     bool         // the pair's certificates are not valid yet
	network  *api.Network // nil: no other machine reaches the API
	hangups  chan os.Signal
}

// newReloader notes each SIGHUP from now on, for follow, to the process's end. A SIGHUP that is not
// noted would end the process, while it starts or stops too.
func newReloader(path string, now *config.Config) *reloader {
	r := &reloader{path: path, now: now, hangups: make(chan os.Signal, 1)}
	signal.Notify(r.hangups, syscall.SIGHUP)
	return r
}

// follow reloads at each SIGHUP until ctx ends. A file that is wrong changes nothing.
func (r *reloader) follow(ctx context.Context, log *slog.Logger) error {
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			r.renew(log)
		case <-r.hangups:
			if err := r.reload(log); err != nil {
				log.Error("the configuration stays as it was", "error", err.Error())
			}
		}
	}
}

// lookAgain is how often certificates that were out of time are looked at again.
const lookAgain = time.Second

// renew takes the certificates of a pair once they are valid, by the clock as it is set now: an
// identity goes by the clock of its own start.
func (r *reloader) renew(log *slog.Logger) {
	if !r.late || r.now.Peer.InTime() != nil {
		return
	}
	identity, err := r.now.Peer.Identity()
	if err != nil {
		return // it was made of the same files before
	}
	r.identity.Store(identity)
	r.late = false
	log.Info("the certificates of the pair are valid now")
}

func (r *reloader) reload(log *slog.Logger) error {
	c, initial, err := config.Load(r.path)
	if err != nil {
		return err
	}
	xfrm.Wipe(initial)
	// Nothing changes until all that may is known to be right.
	var identity *peer.Identity
	var access *mutual.Access
	if c.Peer.Wanted() && r.now.Peer.Wanted() {
		if err := c.Peer.InTime(); err != nil {
			return err
		}
		if identity, err = c.Peer.Identity(); err != nil {
			return err
		}
	}
	served := c.API
	if !served.Wanted() { // it listens on until a restart, and lets no client in
		served = r.now.API
		served.Change, served.Read = nil, nil
	}
	if r.network != nil {
		if err := c.API.Certificate.InTime(); err != nil {
			return err
		}
		if access, err = served.Access(); err != nil {
			return err
		}
	}
	if identity != nil {
		r.identity.Store(identity)
		r.late = false
		r.now.Peer.Certificate, r.now.Peer.Key, r.now.Peer.Trust, r.now.Peer.Name = c.Peer.Certificate, c.Peer.Key, c.Peer.Trust, c.Peer.Name
	}
	if access != nil {
		if err := served.Trust.InTime(); err != nil {
			log.Warn("clients of other machines are refused", "error", err.Error())
		}
		r.network.Store(access)
		served.Listen = r.now.API.Listen
		r.now.API = served
	}
	r.level.Set(c.Log.Level.Level)
	r.now.Log = c.Log
	log.Info("the configuration was read again")
	if waits := differ(r.now, c); len(waits) > 0 {
		log.Warn("what has changed in these parts of the configuration takes a restart", "parts", waits)
	}
	return nil
}

// differ names the parts of two configurations that are not the same, as the file has them.
func differ(a, b *config.Config) (names []string) {
	before, after := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range before.NumField() {
		if !reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface()) {
			names = append(names, before.Type().Field(i).Tag.Get("toml"))
		}
	}
	return names
}

// closePorts closes the ports of a box of a pair whose daemon has died, so that the other can
// forward; of a box that is alone it leaves them.
func closePorts(ctx context.Context, c *config.Config) error {
	if !c.Peer.Wanted() {
		return nil
	}
	claim, err := c.Registers.Claim(c.Control.Path.Name)
	if err != nil {
		return err
	}
	defer claim.Close()
	session, err := openSession(ctx, c)
	if err != nil {
		return err
	}
	if err := errors.Join(session.ClosePorts(), session.Box.Close()); err != nil {
		return fmt.Errorf("the ports could not be closed: %w", err)
	}
	return nil
}
