// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// cutShort is a change, and the SAs that it deletes or replaces.
type cutShort struct {
	name, change string
	loses        []string // their SPIs
}

var changesToCut = []cutShort{
	{"a rekey", strings.Replace(strings.Replace(testbox.State(0, "out"), "spi 4096", "spi 9999", 1), "0x0", "0xf", 1), nil},
	{"a delete", "xfrm state delete dst 192.0.2.2 proto esp spi 4096\n", []string{"0x1000"}},
	{"policies and a network", "xfrm policy flush\naddr add 10.1.0.1/16 dev red\nxfrm policy add dst 10.7.0.0/16 dir out action allow\n", nil},
	{"an inbound window", strings.Replace(strings.Replace(testbox.State(1, "in"), "spi 4097", "spi 9998", 1), "0x0", "0xe", 1), nil},
}

const cutSetup = "addr add 192.0.2.1/24 dev black\nneigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev black\n" +
	"xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir in tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 2 mode tunnel\n" +
	"xfrm policy add src 10.3.0.0/16 dir out action block\n"

// newCut is a box that carries traffic: SAs both ways, whose numbers have moved.
func newCut(t *testing.T) *rig {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm") // hundreds of boxes write files that outlive a machine's end
	}
	r := newRig(t, fakebox.Small)
	r.Must(cutSetup + testbox.State(0, "out") + testbox.FlowPolicy(0) + testbox.State(2, "out") + testbox.FlowPolicy(2) + testbox.State(1, "in"))
	number := make([]uint32, regs.CryptoTableOutboundNumber.Words())
	number[0] = 77
	r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundNumber)[0] = number
	window := make([]uint32, regs.InnerTableReplay.Words())
	regs.ReplayRow.Top.Put(window, 99)
	r.Fake.Table(transport.Inner, regs.InnerTableReplay)[0] = window
	return r
}

// TestUndo breaks changes off at each access to the chips, as the end of the program does. The next
// invocation finds the configuration of before, on the chips too, and every SA that the change was
// not about to delete with its key, its numbers and its window; nothing of what the change added.
func TestUndo(t *testing.T) {
	for _, c := range changesToCut {
		steps := 0
		for after := 1; ; after++ {
			r := newCut(t)
			before, keys := r.Snapshot(), len(r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey))
			run := r.start(c.change)
			r.Fake.FailAfter = after
			err := run()
			r.Fake.FailAfter = 0
			if err == nil {
				break
			}
			r.checkUndone(fmt.Sprintf("%s after %d accesses", c.name, after), c, before, keys)
			steps++
		}
		if steps < 20 {
			t.Errorf("%s was cut short at %d steps", c.name, steps)
		}
	}
}

// TestUndoOfAll: the end may come when all is written but the state file.
func TestUndoOfAll(t *testing.T) {
	for _, c := range changesToCut {
		r := newCut(t)
		before, keys := r.Snapshot(), len(r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey))
		state, err := os.ReadFile(r.State)
		if err != nil {
			t.Fatal(err)
		}
		r.Must(c.change)
		if err := os.WriteFile(r.State, state, 0o600); err != nil {
			t.Fatal(err)
		}
		r.checkUndone(c.name+" at its end", c, before, keys)
	}
}

// TestUndoIsUndone: an undoing that is cut short is taken up again, wherever that is. Five of six
// accesses clear the rows of two tables of DSCPs, so it is cut there less often.
func TestUndoIsUndone(t *testing.T) {
	c := changesToCut[0]
	step := 0
	for after := 1; ; after += step {
		r := newCut(t)
		before, keys := r.Snapshot(), len(r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey))
		run := r.start(c.change)
		r.Fake.FailAfter = 90
		if run() == nil {
			t.Fatal("the change was not cut short")
		}
		r.Fake.FailAfter = 0
		again := r.start("link set dev red up")
		r.Fake.FailAfter = after
		err := again()
		r.Fake.FailAfter = 0
		if err == nil {
			break
		}
		step = 7
		if written := r.Fake.Log; len(written) > 0 && strings.HasPrefix(written[len(written)-1].Table, "dscp_") {
			step = 301
		}
		r.checkUndone(fmt.Sprintf("an undoing cut short after %d", after), c, before, keys)
	}
}

// start is one invocation that has reached the box before it can fail.
func (r *rig) start(text string) func() error {
	b := r.Open()
	return func() error {
		commands, err := xfrm.ParseBatch("f", []byte(text))
		if err != nil {
			return err
		}
		return r.SessionOf(b, func(s *session.Session) error { return s.Run(commands) })
	}
}

// checkUndone makes a change that changes nothing; first the session undoes the one cut short.
func (r *rig) checkUndone(what string, c cutShort, before string, keys int) {
	r.T.Helper()
	r.Must("link set dev red up")
	lost := strings.Count(r.Notes, "is lost with the change")
	for _, spi := range c.loses {
		if lost > 0 && !strings.Contains(r.Notes, "spi "+spi+" is lost") {
			r.T.Errorf("%s: %q does not name %s", what, r.Notes, spi)
		}
	}
	if lost > len(c.loses) || strings.Contains(r.Notes, "empty configuration") {
		r.T.Errorf("%s: %q", what, r.Notes)
	}
	if got := len(r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)); got != keys-lost {
		r.T.Errorf("%s: there are %d outbound keys, %d before, %d lost", what, got, keys, lost)
	}
	if lost == 0 && !sameRows(r.Snapshot(), before) {
		r.T.Errorf("%s: the tables are\n%s\nwant\n%s", what, r.Snapshot(), before)
	}
	if lost == 0 && r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundNumber)[0][0] != 77 {
		r.T.Errorf("%s: the numbers of an SA begin again", what)
	}
	if row := r.Fake.Table(transport.Inner, regs.InnerTableReplay)[0]; regs.ReplayRow.Top.Get(row) != 99 {
		r.T.Errorf("%s: a window is lost", what)
	}
	if _, sa, _, ok := r.Flow("10.1.0.2", "10.2.0.0", 17, 7, 1002); !ok || sa != 1 {
		r.T.Errorf("%s: the flow of an SA that was not touched leads to %d, %t", what, sa, ok)
	}
	for _, control := range []struct {
		c transport.Chip
		r regs.Register
	}{{transport.Inner, regs.InnerControl}, {transport.Outer, regs.OuterControl}} {
		if r.Fake.Get(control.c, control.r)&3 != 3 {
			r.T.Errorf("%s: the ports of %s are closed", what, control.c)
		}
	}
}

// sameRows compares tables but for the mark with which a selector row leaves its window alone.
func sameRows(a, b string) bool {
	return withoutKeep(a) == withoutKeep(b)
}

func withoutKeep(tables string) string {
	var out strings.Builder
	for line := range strings.Lines(tables) {
		if !strings.HasPrefix(line, "inner selector ") {
			out.WriteString(line)
		}
	}
	return out.String()
}
