// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sallyport/mgmt/internal/card"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

const innerCard = `inner   board vcu1525 version 0.1.0 ready true
        link to crypto up true
          channel 0 up true trained true soft-errors 0 hard-errors 0 overflow 0 restarts 0
        mac rx-status true tx-reset false rx-reset false overflow 0
        qsfp0 module true interrupt false
        qsfp1 module true interrupt false
        temperature 40.2 C vccint 0.850 V vccaux 1.800 V
        pcie-refused 0 access-errors 0
`

const cryptoCard = `crypto  board vcu1525 version 0.1.0 ready true
        link to inner up true
          channel 0 up true trained true soft-errors 0 hard-errors 0 overflow 0 restarts 0
          tunnel open true retries 0 timeouts 0
        link to outer up false
          channel 0 up true trained true soft-errors 0 hard-errors 0 overflow 0 restarts 9
          tunnel open true retries 0 timeouts 0
        qsfp0 module true interrupt false
        qsfp1 module true interrupt false
        the system monitor does not answer
        pcie-refused 0 access-errors 0
`

// TestCard: a box with a card that is not as it should be, directly and through a daemon, as text
// and as JSON.
func TestCard(t *testing.T) {
	for _, way := range []string{"--socket", "--daemon"} {
		w := newWorld(t)
		shells := w.fake.AddShells()
		shells[transport.Inner].DRP = map[uint32]uint16{0: 0xA110, 1: 0x4889, 2: 0x9999}
		shells[transport.Crypto].Set(regs.ShellLinkState, 0, 1)
		shells[transport.Crypto].Set(regs.ShellChannelEvents, 1, 9<<16)
		shells[transport.Outer].Set(regs.ShellMagic, 0, 0)
		path := w.socket
		if way == "--daemon" {
			path = daemonOf(t, w)
		}
		code, out, errs, sentence := run(way, path, "card")
		if code != 1 || out != innerCard+cryptoCard || !strings.HasPrefix(errs, "the outer card has no bitstream of Sallyport") || sentence != errUnread.Error() {
			t.Errorf("%s: %d %s %s\n%s", way, code, sentence, errs, out)
		}
		code, out, _, _ = run(way, path, "card", "--json")
		var states map[string]card.State
		if err := json.Unmarshal([]byte(out), &states); err != nil || code != 1 {
			t.Fatal(code, err, out)
		}
		if inner := states["inner"]; inner.Monitor == nil || inner.Monitor.Temperature != 40.2 || !inner.Links[0].Up || states["outer"].Failure == "" {
			t.Errorf("%s: %s", way, out)
		}
		shells[transport.Outer].Set(regs.ShellMagic, 0, regs.ShellMagic.Reset)
		if code, out, errs, sentence := run(way, path, "card"); code != 0 || errs != "" || !strings.Contains(out, "\nouter   board") {
			t.Errorf("%s: %d %s %s\n%s", way, code, sentence, errs, out)
		}
	}
}

// TestNoCard: cores alone have none, and that is no failure of theirs.
func TestNoCard(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		if code, out, _, sentence := run("--socket", w.socket, "card"); code != 2 || out != "" || sentence != card.ErrNoShell.Error() {
			t.Errorf("%d %q %s", code, sentence, out)
		}
	}
	path := daemonOf(t, w)
	if code, out, _, sentence := run("--daemon", path, "card"); code != 2 || out != "" || sentence != card.ErrNoShell.Error() {
		t.Errorf("%d %q %s", code, sentence, out)
	}
}

// TestDRP: words of a card are read and written, by hand alone.
func TestDRP(t *testing.T) {
	w := newWorld(t)
	shells := w.fake.AddShells()
	const mac = 1 << 24
	shells[transport.Outer].DRP = map[uint32]uint16{0: 0xA110, mac | 0xB0200: 3}
	shells[transport.Crypto].Set(regs.ShellMagic, 0, 0) // the others are reached all the same
	for _, test := range []struct {
		words    string
		code     int
		printed  string
		sentence string
	}{
		{"outer monitor 0", 0, "0xa110\n", ""},
		{"outer mac 0xb0200", 0, "0x0003\n", ""},
		{"outer mac 0xb0200 2", 0, "", ""},
		{"outer mac 0xB0200", 0, "0x0002\n", ""},
		{"outer mac 0xffffff", 1, "", "nothing answers"},
		{"inner mac 0xb0200 0xffff", 1, "", "nothing answers"},
		{"crypto monitor 0", 1, "", "the crypto card has no bitstream of Sallyport"},
		{"outer mac 0x1000000", 2, "", "is no address of 24 bits"},
		{"outer mac 0 0x10000", 2, "", "is no word of 16 bits"},
		{"outer mac -1", 2, "", "unknown shorthand flag"},
		{"outer pll 0", 2, "", `"pll" is no port of a card`},
		{"red mac 0", 2, "", `"red" is no card`},
		{"outer mac", 2, "", "card drp needs a card"},
		{"outer mac 0 0 0", 2, "", "card drp needs a card"},
	} {
		code, out, _, sentence := run(append([]string{"--socket", w.socket, "card", "drp"}, strings.Fields(test.words)...)...)
		if code != test.code || out != test.printed || !strings.Contains(sentence, test.sentence) || test.sentence == "" && sentence != "" {
			t.Errorf("%s: %d %q %s", test.words, code, out, sentence)
		}
	}
	path := daemonOf(t, w)
	if code, _, _, sentence := run("--daemon", path, "card", "drp", "outer", "mac", "0"); code != 2 || !strings.Contains(sentence, "stop sallyportd first") {
		t.Errorf("%d %s", code, sentence)
	}
	if code, _, _, sentence := run("--socket", newWorld(t).socket, "card", "drp", "outer", "mac", "0"); code != 2 || !strings.Contains(sentence, "has no cards") {
		t.Errorf("%d %s", code, sentence)
	}
}
