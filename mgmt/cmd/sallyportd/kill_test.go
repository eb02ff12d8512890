// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/killpoint"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// mortal says that the test's process is a daemon that is killed.
const mortal = "SALLYPORT_TEST_MORTAL"

// everyKill is how a long run asks for all steps: otherwise it is each 10th of the accesses to the
// chips, and of the steps of a start.
const everyKill = "SALLYPORT_EVERY_KILL"

// TestKill kills the daemon at the steps of a rekey: at its system calls, those within a
// transaction of the state file among them, and at its accesses to the chips. It also kills one
// that undoes a rekey, at the steps of its start. The next one has the configuration of before or
// of behind the change, but for SAs that the log names.
func TestKill(t *testing.T) {
	if path := os.Getenv(mortal); path != "" {
		runMortal(t, path)
		return
	}
	stride := 10
	if os.Getenv(everyKill) != "" {
		stride = 1
	}
	m := newVictim(t)
	for name, kill := range map[string]struct {
		stride, least int
		arm           func(n int)
	}{
		"system call":     {1, 30, func(n int) { m.child.KillAt(n) }},
		"register access": {stride, 100, m.failAt},
	} {
		m.each(name, kill.stride, kill.least, func(change rekey, n int) bool {
			kill.arm(n)
			_, died := m.batch(change.lines)
			kill.arm(0)
			return died
		})
	}
	m.each("step of a start", stride, 50, func(change rekey, n int) bool {
		m.cutShort(change.lines)
		return !m.launch(n)
	})
	m.atRest()
	m.checkFiles()
}

// atRest kills a daemon that has stopped the ports from receiving to write a wrong rule. The next
// one has them receive again.
func (m *victim) atRest() {
	m.t.Helper()
	now := m.list()
	m.child.Kill()
	<-m.child.Ended()
	const receive = 1
	for c, register := range map[transport.Chip]regs.Register{transport.Inner: regs.InnerControl, transport.Outer: regs.OuterControl} {
		m.box.Behind(func() { m.box.Set(c, register, m.box.Get(c, register)&^receive) })
	}
	m.start()
	m.check("ports at rest", rekey{before: now, after: now})
}

// each kills a daemon at its steps, until it has been through all of them, and starts another.
func (m *victim) each(name string, stride, least int, die func(change rekey, n int) (died bool)) {
	m.t.Helper()
	steps := 0
	for n := 1; ; n += stride {
		change := m.nextRekey()
		must(m.t, os.Truncate(m.logPath(), 0))
		died := die(change, n)
		if died {
			m.start()
			if log := m.log()[m.last:]; strings.Count(log, "adopted what the chips hold")+strings.Count(log, "a change was cut short") != 1 {
				m.t.Errorf("%s %d: the log of the start does not say once how it went\n%s", name, n, m.log())
			}
		}
		m.check(fmt.Sprintf("%s %d", name, n), change)
		if !died {
			break
		}
		steps = n
	}
	if steps < least {
		m.t.Errorf("the daemon was killed at %d steps: %s", steps, name)
	}
	m.t.Logf("there are %d steps: %s", steps, name)
}

// runMortal is the daemon. Its standard error is the log.
func runMortal(t *testing.T, path string) {
	if err := killpoint.Enter(); err != nil {
		t.Fatal(err)
	}
	root := newRoot()
	root.SetArgs([]string{"--config", path})
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
}

// check holds what the daemon and the chips have against a change that was cut short.
func (m *victim) check(what string, change rekey) {
	m.t.Helper()
	now, log := m.list(), m.log()
	lost := map[string]bool{}
	for sa := range change.before {
		lost[sa] = !now[sa] && strings.Contains(log, "is lost\" dst="+dstOf(sa)+" spi="+sa[2:]+"\n")
	}
	switch {
	case maps.Equal(now, change.after):
	case !maps.Equal(now, without(change.before, lost)):
		m.t.Errorf("%s: there are %v; before the change %v, behind it %v\n%s", what, sorted(now), sorted(change.before), sorted(change.after), log)
	case slices.ContainsFunc(slices.Collect(maps.Keys(lost)), func(sa string) bool { return lost[sa] && change.after[sa] }):
		m.t.Errorf("%s: an SA is lost that the change does not touch\n%s", what, log)
	default:
		// A client that had no answer tries again: the key is new, or it is refused.
		if text, died := m.batch(change.lines); died || !strings.Contains(text, `"ok":true`) && !strings.Contains(text, "has had the key") && !strings.Contains(text, "there is no SA") {
			m.t.Errorf("%s: the change comes again: %s", what, text)
		}
		now = m.list()
	}
	m.box.Between(func() {
		for key, times := range m.keys {
			if times > 1 {
				m.t.Errorf("%s: the outbound key %s came to the chip %d times", what, key, times)
			}
		}
		for way, table := range map[string]regs.Table{"o": regs.CryptoTableOutboundKey, "i": regs.CryptoTableInboundKey} {
			if rows, sas := len(m.box.Table(transport.Crypto, table)), countOf(now, way); rows != sas {
				m.t.Errorf("%s: the chip has %d rows of %s for %d SAs\n%s", what, rows, table.Name, sas, log)
			}
		}
		if row := m.box.Table(transport.Crypto, regs.CryptoTableOutboundNumber)[0]; row == nil || row[0] != carried {
			m.t.Errorf("%s: the numbers of an SA that the change does not touch are %v", what, row)
		}
		for c, register := range map[transport.Chip]regs.Register{transport.Inner: regs.InnerControl, transport.Outer: regs.OuterControl} {
			if m.box.Get(c, register)&3 != 3 {
				m.t.Errorf("%s: the ports of the %s chip are closed", what, c)
			}
		}
	})
}

// checkFiles: the kills have left no files behind.
func (m *victim) checkFiles() {
	m.t.Helper()
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	if len(entries) > 10 {
		m.t.Errorf("%d files are left: %v", len(entries), entries)
	}
}

func without(sas, gone map[string]bool) map[string]bool {
	left := maps.Clone(sas)
	maps.DeleteFunc(left, func(sa string, _ bool) bool { return gone[sa] })
	return left
}

func sorted(sas map[string]bool) []string { return slices.Sorted(maps.Keys(sas)) }

// countOf counts the SAs of a direction.
func countOf(sas map[string]bool, way string) (n int) {
	for sa := range sas {
		if strings.HasPrefix(sa, way) {
			n++
		}
	}
	return n
}

// list has the SAs of the daemon, as o or i, a space and the SPI.
func (m *victim) list() map[string]bool {
	m.t.Helper()
	text, _ := m.ask(map[string]any{"id": 1, "do": "command", "words": []string{"xfrm", "state", "list"}, "json": true})
	var answer struct{ Output string }
	var sas []struct {
		SPI uint32
		Dir string
	}
	if json.Unmarshal([]byte(text), &answer) != nil || json.Unmarshal([]byte(answer.Output), &sas) != nil {
		m.t.Fatalf("the list is %q\n%s", text, m.log())
	}
	out := map[string]bool{}
	for _, sa := range sas {
		out[fmt.Sprintf("%.1s 0x%x", sa.Dir, sa.SPI)] = true
	}
	return out
}
