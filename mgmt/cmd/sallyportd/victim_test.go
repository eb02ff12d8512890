// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/killpoint"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// carried is the last number that the SA in row 0 has used.
const carried = 77

// victim is a daemon that is killed and started again, with the same box and files.
type victim struct {
	t      *testing.T
	dir    string // of its files, but for the log
	logs   string
	box    *fakebox.Box
	keys   map[string]int // how often an outbound key came to the chip
	child  *killpoint.Child
	client *requests
	last   int // where the log of the last start begins
	rekeys int
	cuts   bool // the next change, behind its first row
}

// newVictim starts a daemon with SAs both ways. The SA in row 0 has carried packets.
func newVictim(t *testing.T) *victim { return newVictimIn(t, t.TempDir()) }

// newVictimIn starts one that has its files in a folder.
func newVictimIn(t *testing.T, dir string) *victim {
	t.Helper()
	m := &victim{t: t, dir: dir, logs: t.TempDir(), box: fakebox.New(fakebox.Small), keys: map[string]int{}}
	m.box.OnRow = func(row fakebox.Row) {
		if m.cuts {
			m.cuts, m.box.FailAfter = false, 1
		}
		if row.Table == regs.CryptoTableOutboundKey.Name && bytes.ContainsFunc([]byte(fmt.Sprint(row.Words)), func(r rune) bool { return r >= '1' && r <= '9' }) {
			m.keys[fmt.Sprintf("%x", row.Words)]++
		}
	}
	registers, err := net.Listen("unix", filepath.Join(m.dir, "box.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { registers.Close() })
	go m.box.Serve(registers)
	text := fmt.Sprintf("registers = \"unix:%s/box.sock\"\n[control]\npath = \"%s/control.sock\"\n[events]\npoll = \"10s\"\n[metrics]\nlisten = \"\"\n", m.dir, m.dir)
	if err := os.WriteFile(filepath.Join(m.dir, "config"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if m.child != nil {
			m.child.Kill()
		}
	})
	m.start()
	lines := []string{
		"addr add 192.0.2.1/24 dev black", "neigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev black",
		stateLine("out", 0x1000), stateLine("in", 0x1001), stateLine("out", 0x10000), stateLine("in", 0x20000),
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel",
		"xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir fwd tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel",
	}
	if text, died := m.batch(lines); died || !strings.Contains(text, `"ok":true`) {
		t.Fatal(text, m.log())
	}
	m.box.Between(func() {
		number := make([]uint32, regs.CryptoTableOutboundNumber.Words())
		number[0] = carried
		m.box.Table(transport.Crypto, regs.CryptoTableOutboundNumber)[0] = number
	})
	return m
}

// stateLine adds an SA, with a key of its own.
func stateLine(way string, spi int) string {
	ends := "src 192.0.2.1 dst 192.0.2.2"
	if way == "in" {
		ends = "src 192.0.2.2 dst 192.0.2.1"
	}
	return fmt.Sprintf("xfrm state add %s proto esp spi %#x reqid 1 mode tunnel dir %s replay-window 64 aead 'rfc4106(gcm(aes))' 0x%032x%08x 128", ends, spi, way, spi, spi)
}

// rekey is a change, and the SAs before and behind it.
type rekey struct {
	lines         []string
	before, after map[string]bool
}

// nextRekey adds an SA each way, deletes those that an earlier one has added, and changes a policy.
func (m *victim) nextRekey() rekey {
	m.t.Helper()
	before := m.list()
	if len(before) < 4 { // those of the last one were lost
		m.rekeys++
		if text, _ := m.batch([]string{stateLine("out", 0x10000+m.rekeys), stateLine("in", 0x20000+m.rekeys)}); !strings.Contains(text, `"ok":true`) {
			m.t.Fatal(text)
		}
		before = m.list()
	}
	m.rekeys++
	r := rekey{before: before, after: map[string]bool{"o 0x1000": true, "i 0x1001": true}}
	for way, spi := range map[string]int{"out": 0x10000 + m.rekeys, "in": 0x20000 + m.rekeys} {
		r.lines = append(r.lines, stateLine(way, spi))
		r.after[fmt.Sprintf("%.1s %#x", way, spi)] = true
	}
	for sa := range before {
		if !r.after[sa] {
			r.lines = append(r.lines, fmt.Sprintf("xfrm state delete dst %s proto esp spi %s", dstOf(sa), sa[2:]))
		}
	}
	r.lines = append(r.lines, fmt.Sprintf("xfrm policy update dst 10.7.0.0/16 dir out priority %d action block", m.rekeys))
	return r
}

// dstOf is the destination of an SA, as list names it.
func dstOf(sa string) string { return map[byte]string{'o': "192.0.2.2", 'i': "192.0.2.1"}[sa[0]] }

// start starts the daemon and waits until it answers.
func (m *victim) start() {
	m.t.Helper()
	if !m.launch(0) {
		m.t.Fatalf("the daemon does not start\n%s", m.log())
	}
}

// launch starts the daemon, which may be killed at a step; false if it ends before it answers.
func (m *victim) launch(at int) bool {
	m.t.Helper()
	control := filepath.Join(m.dir, "control.sock")
	if err := os.Remove(control); err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	log, err := os.OpenFile(m.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		m.t.Fatal(err)
	}
	defer log.Close()
	m.last = len(m.log())
	daemon := exec.Command(os.Args[0], "-test.run=^"+m.t.Name()+"$")
	daemon.Env = append(os.Environ(), mortal+"="+filepath.Join(m.dir, "config"))
	daemon.Stderr = log
	child, err := killpoint.Start(daemon)
	if err != nil {
		m.t.Skip(err)
	}
	m.child = child
	child.KillAt(at)
	// It listens before it looks at the chips, and answers behind that.
	if m.client = dialWhile(m.t, control, child.Ended()); m.client == nil {
		return false
	}
	_, died := m.ask(map[string]any{"id": 1, "do": "capabilities"})
	return child.KillAt(0) && !died
}

func (m *victim) logPath() string { return filepath.Join(m.logs, "log") }

// log is what the daemons have written since the last kill in a change.
func (m *victim) log() string {
	text, err := os.ReadFile(m.logPath())
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return string(text)
}

// cutShort has the daemon killed in a change, behind the first row that it writes.
func (m *victim) cutShort(lines []string) {
	m.t.Helper()
	m.box.Between(func() { m.cuts, m.box.OnFail = true, m.child.Kill })
	if _, died := m.batch(lines); !died {
		m.t.Fatal("the change was not cut short")
	}
	m.failAt(0)
}

// failAt has the daemon killed at an access to the chips; 0: at none.
func (m *victim) failAt(n int) {
	m.box.Between(func() { m.box.FailAfter, m.box.OnFail = n, m.child.Kill })
}

// batch sends lines, all or none.
func (m *victim) batch(lines []string) (answer string, died bool) {
	m.t.Helper()
	return m.ask(map[string]any{"id": 1, "do": "batch", "lines": lines})
}

// ask sends a request, at which the daemon may die.
func (m *victim) ask(request map[string]any) (answer string, died bool) {
	m.t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.client.conn.Write(append(text, '\n')); err == nil {
		answer, err = m.client.answers.ReadString('\n')
		if err == nil {
			return answer, false
		}
	}
	<-m.child.Ended()
	return answer, true
}
