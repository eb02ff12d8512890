// SPDX-License-Identifier: Apache-2.0

// Package journal writes a log as journald reads it from standard error (sd-daemon(3)): a line
// each, with its priority in front and without the time, which journald adds. To any other output
// it writes lines with their time.
package journal

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
)

// New makes a logger of lines from `level` on; toJournal says that what reads them is journald.
func New(out io.Writer, level slog.Leveler, toJournal bool) *slog.Logger {
	if !toJournal {
		return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))
	}
	shared := &line{out: out}
	return slog.New(&handler{shared, slog.NewTextHandler(&shared.text, &slog.HandlerOptions{Level: level, ReplaceAttr: plain})})
}

// plain leaves out what journald has itself.
func plain(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}

// line is the one that is being written.
type line struct {
	mu   sync.Mutex
	text bytes.Buffer
	out  io.Writer
}

type handler struct {
	*line
	inner slog.Handler // writes to line.text
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Reset()
	h.text.WriteString(priority(r.Level))
	if err := h.inner.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.out.Write(h.text.Bytes())
	return err
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.line, h.inner.WithAttrs(attrs)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.line, h.inner.WithGroup(name)}
}

// priority is syslog's (RFC 5424, 6.2.1).
func priority(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "<3>"
	case level >= slog.LevelWarn:
		return "<4>"
	case level >= slog.LevelInfo:
		return "<6>"
	}
	return "<7>"
}
