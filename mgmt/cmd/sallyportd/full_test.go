// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/xfrm"
)

// refused checks that an answer is one sentence about a file, with exit status 2.
func refused(t *testing.T, what, answer, want string) {
	t.Helper()
	var a struct {
		OK, Input bool
		Error     string
	}
	if json.Unmarshal([]byte(answer), &a) != nil || a.OK || !a.Input || !strings.Contains(a.Error, want) || strings.Contains(a.Error, "\n") {
		t.Errorf("%s: %s, want %q", what, answer, want)
	}
}

// onFullDisk starts a daemon whose files are on a small disk of the test's own, and fills that disk
// with another file. nil where the process has nothing more to do, as the daemon itself.
func onFullDisk(t *testing.T) (m *victim, filler string) {
	t.Helper()
	if path := os.Getenv(mortal); path != "" {
		runMortal(t, path)
		return nil, ""
	}
	if !testbox.OnDisk(t) {
		return nil, ""
	}
	m = newVictimIn(t, testbox.Disk(t, "4m"))
	return m, testbox.Fill(t, m.dir)
}

// TestFullDisk: with a full disk a daemon refuses changes in one sentence, and writes nothing to
// the chips, whichever file it is that has no room. It answers queries, outlives a restart, undoes
// a change that was cut short as soon as there is room, and goes on then.
func TestFullDisk(t *testing.T) {
	m, filler := onFullDisk(t)
	if m == nil {
		return
	}
	sas := m.list()
	writes := m.writes()
	for what, lines := range map[string][]string{
		"an SA":            {stateLine("out", 0x3000)},
		"a policy":         {"xfrm policy add dst 10.9.0.0/16 dir out action block"},
		"a deletion":       {"xfrm state delete dst 192.0.2.2 proto esp spi 0x1000"},
		"an address":       {"addr add 10.1.0.1/16 dev red"},
		"all SAs together": {"xfrm state flush"},
	} {
		answer, _ := m.batch(lines)
		refused(t, what, answer, "no space left on device")
	}
	answer, _ := m.ask(map[string]any{"id": 1, "do": "advance", "dst": "192.0.2.1", "proto": "esp", "spi": 0x1001, "number": 5000})
	refused(t, "a number of an inbound SA", answer, "no space left on device")
	answer, _ = m.ask(map[string]any{"id": 1, "do": "config", "verb": "save"})
	refused(t, "config save", answer, "which stays as it was: no space left on device")
	answer, _ = m.ask(map[string]any{"id": 1, "do": "config", "verb": "load", "confirm": 60, "lines": []string{"addr add 10.1.0.1/16 dev red"}})
	refused(t, "config load --confirm", answer, "no space left on device")
	m.child.Kill()
	m.start()
	if now := m.list(); !maps.Equal(now, sas) || m.writes() != writes {
		t.Errorf("there are %v, there were %v; %d rows were written", now, sas, m.writes()-writes)
	}
	// A change is cut short, and the disk is full when the daemon comes back.
	must(t, os.Remove(filler))
	m.cutShort(m.nextRekey().lines)
	testbox.Fill(t, m.dir)
	m.start()
	answer, _ = m.batch([]string{stateLine("out", 0x3001)})
	refused(t, "a change behind one that was cut short", answer, "no space left on device")
	log := m.log()[m.last:]
	if n := strings.Count(log, `msg="cannot write the journal`) + strings.Count(log, `msg="there is no room`); n != 1 {
		t.Errorf("the log says %d times why nothing is undone\n%s", n, m.log())
	}
	must(t, os.Remove(filler))
	if answer, _ = m.batch([]string{stateLine("out", 0x3002)}); !strings.Contains(answer, `"ok":true`) {
		t.Errorf("with room again: %s\n%s", answer, m.log())
	}
}

// TestNearlyFullDisk: however little room there is, a change is done, or refused before anything is
// written to the chips. One that was refused may come again with the same keys.
func TestNearlyFullDisk(t *testing.T) {
	m, filler := onFullDisk(t)
	if m == nil {
		return
	}
	var policies []string
	for i := range 20 {
		policies = append(policies, fmt.Sprintf("xfrm policy add dst 10.8.%d.0/24 dir out action block", i))
	}
	done, left := 0, 0
	lines := append(m.nextRekey().lines, policies...)
	for room := int64(0); done < 2; room += 4096 {
		info, err := os.Stat(filler)
		must(t, err)
		must(t, os.Truncate(filler, info.Size()-room))
		before := m.writes()
		answer, _ := m.batch(lines)
		switch {
		case strings.Contains(answer, `"ok":true`):
			done++
			lines = m.nextRekey().lines
		case m.writes() != before:
			t.Fatalf("with room for %d bytes %d rows were written, and then: %s", room, m.writes()-before, answer)
		default:
			left++
			refused(t, fmt.Sprintf("room for %d bytes", room), answer, "no space left on device")
		}
		testbox.Refill(t, filler)
	}
	if left == 0 {
		t.Error("no change was refused")
	}
}

// writes counts the rows that were written so far.
func (m *victim) writes() (n int) {
	m.box.Between(func() { n = len(m.box.Log) })
	return n
}

// TestReadOnly: where the marks of used keys are on a disk that is read-only, as /var/lib may be,
// an outbound SA is refused in one sentence and no row is written; changes that need no mark are
// done. Where the state is there, every change is refused.
func TestReadOnly(t *testing.T) {
	if !testbox.OnDisk(t) {
		return
	}
	fixed, state := testbox.Disk(t, "1m"), filepath.Join(t.TempDir(), "state")
	box := fakebox.New(fakebox.Small)
	chips, err := chip.Open(t.Context(), box)
	must(t, err)
	testbox.ReadOnly(t, fixed)
	run := func(keys string, lines ...string) error {
		commands, err := xfrm.ParseBatch("f", []byte(strings.Join(lines, "\n")))
		must(t, err)
		s := &session.Session{Box: chips, StatePath: state, KeysPath: keys, Out: io.Discard, Notes: io.Discard}
		return s.Run(commands)
	}
	for _, keys := range []string{filepath.Join(fixed, "keys"), filepath.Join(fixed, "sallyport", "keys")} {
		err := run(keys, stateLine("out", 0x1000))
		if !session.IsRefused(err) || !strings.Contains(err.Error(), fixed) || !strings.Contains(err.Error(), "read-only file system") || strings.Contains(err.Error(), "\n") {
			t.Errorf("an outbound SA: %v", err)
		}
	}
	if len(box.Log) != 0 {
		t.Errorf("%d rows were written", len(box.Log))
	}
	must(t, run(filepath.Join(fixed, "keys"), stateLine("in", 0x1001), "xfrm policy add dst 10.9.0.0/16 dir out action block"))
	box.Log, state = nil, filepath.Join(fixed, "state")
	if err := run("", "xfrm policy flush"); !session.IsRefused(err) || err.Error() != fmt.Sprintf("cannot lock the state file %s: read-only file system", state) {
		t.Error(err)
	}
	if len(box.Log) != 0 {
		t.Errorf("%d rows were written", len(box.Log))
	}
}
