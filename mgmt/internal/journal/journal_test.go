// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"sallyport/mgmt/internal/journal"
)

func TestJournal(t *testing.T) {
	var out bytes.Buffer
	log := journal.New(&out, slog.LevelInfo, true).With("box", 0)
	log.Debug("no")
	log.Info("two\nlines", "n", 1)
	log.WithGroup("g").Warn("w", "level", "mine")
	log.Error("e")
	want := "<6>msg=\"two\\nlines\" box=0 n=1\n<4>msg=w box=0 g.level=mine\n<3>msg=e box=0\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	out.Reset()
	journal.New(&out, slog.LevelDebug, false).Debug("d")
	if !strings.HasPrefix(out.String(), "time=") || !strings.Contains(out.String(), "level=DEBUG msg=d\n") {
		t.Errorf("%q", out.String())
	}
}
