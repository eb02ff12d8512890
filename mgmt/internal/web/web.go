// SPDX-License-Identifier: Apache-2.0

// Package web is the daemon's page for a browser. It shows the box's configuration, traffic and
// drops, live, and changes nothing. The program contains all files of the page.
package web

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"sallyport/mgmt/internal/daemon"
	"sallyport/mgmt/internal/events"
)

//go:embed assets
var files embed.FS

// Source is the daemon, as far as the page looks at it.
type Source interface {
	Sample() (daemon.Sample, error)
	Holding(most int) (daemon.Holding, error)
	Watch() <-chan events.Event
}

// Page serves the assets, and /api/box with all that is shown.
type Page struct {
	source  Source
	log     *slog.Logger
	history *history
	holding held
}

// New makes the page of a daemon.
func New(source Source, log *slog.Logger) *Page {
	return &Page{source: source, log: log, history: newHistory()}
}

// Serve samples the box and answers browsers until ctx ends or the chips fail.
func (p *Page) Serve(ctx context.Context, listener net.Listener) error {
	if err := p.sample(); err != nil {
		return err
	}
	server := &http.Server{Handler: p.Handler(), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.sampleOn(ctx) })
	group.Go(func() error { p.watch(ctx); return nil })
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return group.Wait()
}

func (p *Page) sample() error {
	s, err := p.source.Sample()
	if err == nil {
		p.history.take(s)
	}
	return err
}

// sampleOn takes a sample at each tick.
func (p *Page) sampleOn(ctx context.Context) error {
	ticks := time.NewTicker(period)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			if err := p.sample(); err != nil {
				return err
			}
		}
	}
}

// watch takes the events. After more at once than the daemon keeps for a reader it goes on, and
// says that some are missing.
func (p *Page) watch(ctx context.Context) {
	events := p.source.Watch()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if ok {
				p.history.note(e.Kind, eventText(e))
				continue
			}
			p.history.note("missing", "Events are missing here: more came at once than are kept. The log has all.")
			events = p.source.Watch()
		}
	}
}

// Handler answers GET and HEAD.
func (p *Page) Handler() http.Handler {
	assets, err := fs.Sub(files, "assets")
	if err != nil {
		panic(err) // the folder is in the program
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(assets))
	mux.HandleFunc("GET /api/box", p.box)
	return Guarded(mux)
}

// box answers with what the box holds now, and what happened since the answer that ?after= names.
func (p *Page) box(w http.ResponseWriter, r *http.Request) {
	holding, err := p.holding.read(p.source)
	if err != nil {
		p.log.Error("the page could not be answered", "error", err.Error())
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// a browser that has gone needs no answer
	_ = json.NewEncoder(w).Encode(answer(holding, p.history.since(r.FormValue("after"))))
}
