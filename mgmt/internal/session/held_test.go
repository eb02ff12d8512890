// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// TestHeld: a session that has the box alone goes on as one that reads the file anew. It says that
// it is alive each time that the chips have taken rows.
func TestHeld(t *testing.T) {
	r := newRig(t, fakebox.Small)
	alive := 0
	err := r.Session(func(s *session.Session) error {
		s.Alive = func() { alive++ }
		run := func(text string) error {
			commands, err := xfrm.ParseBatch("f", []byte(text))
			if err != nil {
				return err
			}
			return s.Run(commands)
		}
		if err := s.Hold(t.Context()); err != nil {
			return err
		}
		if err := run(testbox.Tunnel); err != nil {
			return err
		}
		if err := run("addr add 10.1.0.9/24 dev red\n"); err != nil {
			return err
		}
		return s.Release()
	})
	if err != nil {
		t.Fatal(err)
	}
	if rows := len(r.Fake.Log); alive == 0 || alive > rows || chip.MostRows > rows && alive > 10 {
		t.Errorf("alive %d times for %d rows", alive, rows)
	}
	once := newRig(t, fakebox.Small)
	once.Must(testbox.Tunnel)
	once.Must("addr add 10.1.0.9/24 dev red")
	if r.Snapshot() != once.Snapshot() {
		t.Errorf("the tables are\n%s\nwant\n%s", r.Snapshot(), once.Snapshot())
	}
	r.Must("xfrm state list")
	if got := r.Out; strings.Count(got, "<redacted>") != 2 {
		t.Error(got)
	}
}

// pulsing is a way to a box whose tamper input has a pulse before one access.
type pulsing struct {
	*fakebox.Box
	before int // accesses before it; negative: it was
}

func (p *pulsing) Do(ops []transport.Op) error {
	for i := range ops {
		if p.before == 0 {
			p.Tamper(true)
			p.Tamper(false)
		}
		p.before--
		if err := p.Box.Do(ops[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// TestErasedMeanwhile: wherever among the accesses of a change or of an advance the keys are
// erased, no view says then that an SA is there whose key is not, and the box can be restored.
func TestErasedMeanwhile(t *testing.T) {
	run := func(text string) func(*session.Session) error {
		return func(s *session.Session) error {
			commands, err := xfrm.ParseBatch("f", []byte(text))
			if err != nil {
				return err
			}
			return s.Run(commands)
		}
	}
	for name, do := range map[string]func(*session.Session) error{
		"a policy": run("xfrm policy add dst 10.7.0.0/16 dir out action allow\n"),
		"an SA":    run(testbox.State(4, "out")),
		"an advance": func(s *session.Session) error {
			v, err := s.Look()
			if err != nil || len(v.SAs()) == 0 {
				return err
			}
			return s.Advance(session.Position{ID: v.SAs()[len(v.SAs())-1].ID, Number: 5000})
		},
	} {
		for before := 0; ; before += 3 {
			r, done := newCut(t), false
			way := &pulsing{r.Fake, -1}
			b, err := chip.Open(t.Context(), way)
			if err != nil {
				t.Fatal(err)
			}
			err = r.SessionOf(b, func(s *session.Session) error {
				if err := s.Hold(t.Context()); err != nil {
					return err
				}
				if adopted, err := s.Adopted(); err != nil || !adopted {
					t.Fatal("the box was not adopted", err)
				}
				way.before = before
				if err := do(s); way.before >= 0 {
					done = true
					return errors.Join(err, s.Release())
				}
				v, err := s.View()
				if err != nil {
					return err
				}
				keys := len(r.Fake.Table(transport.Crypto, regs.CryptoTableOutboundKey)) + len(r.Fake.Table(transport.Crypto, regs.CryptoTableInboundKey))
				if v != nil && len(v.SAs()) != keys {
					t.Errorf("%s, erased before access %d: the view has %d SAs, and the chip %d keys", name, before, len(v.SAs()), keys)
				}
				if _, err := s.Restore(); err != nil {
					return err
				}
				if v, err = s.View(); err != nil || v == nil {
					t.Errorf("%s, erased before access %d: no view of the box that is restored: %v", name, before, err)
				}
				return s.Release()
			})
			if err != nil {
				t.Fatalf("%s, erased before access %d: %v", name, before, err)
			}
			if done {
				if before < 12 {
					t.Errorf("%s is over after %d accesses", name, before)
				}
				break
			}
		}
	}
}

// TestTamperIsActive: as long as it is, a change is refused and nothing is written.
func TestTamperIsActive(t *testing.T) {
	r := newCut(t)
	r.Fake.Tamper(true)
	writes := r.Fake.Writes
	if err := r.Run("xfrm policy flush\n"); !errors.Is(err, chip.ErrErased) || session.IsInput(err) || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	if r.Fake.Writes != writes || len(r.Fake.Log) != 0 {
		t.Errorf("%d writes, rows %v", r.Fake.Writes-writes, r.Fake.Log)
	}
	r.Fake.Tamper(false)
	r.Must("xfrm policy flush\n" + testbox.State(4, "out"))
	if !strings.Contains(r.Notes, "starting from an empty configuration") {
		t.Errorf("notes: %q", r.Notes)
	}
}

// TestHoldEnds: a session that is to end does not wait for another that has the box.
func TestHoldEnds(t *testing.T) {
	r := testbox.New(t, fakebox.Small)
	first := &session.Session{Box: r.Open(), StatePath: r.State}
	if err := first.Hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	second := &session.Session{Box: r.Open(), StatePath: r.State}
	want := "cannot lock " + r.State + ".lock: another program has it, and this one is to end"
	if err := second.Hold(ctx); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if err := second.Hold(t.Context()); err != nil {
		t.Errorf("a box that is free again: %v", err)
	}
}
