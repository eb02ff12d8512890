// SPDX-License-Identifier: Apache-2.0

// Package session changes and reads the configuration of one box. It locks the box, stores the
// configuration, and drives the chips.
package session

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/cuckoo"
	"sallyport/mgmt/internal/disk"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/store"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// Session changes or lists the configuration of one box, which it shares with other sessions; after
// Hold it has the box alone. Only one goroutine at a time may use it, but for View.
type Session struct {
	Box       *chip.Box
	StatePath string
	Lists
	Out   io.Writer // what list and count print
	Notes io.Writer // warnings, one sentence a line
	// Now is the clock of the audit log and of when SAs were added; without, the system's.
	Now func() time.Time
	// Ages says that somebody calls Aged each second or so; otherwise SAs with limits in time
	// are refused.
	Ages bool
	// Closed keeps both ports from receiving and sending, whatever the configuration says: another
	// box does, and this one stands by.
	Closed bool
	// KeysPath is the file that remembers which outbound keys were used; empty: beside StatePath.
	KeysPath string
	// Initial says that the commands are loaded anew with each reset of the box: outbound SAs among
	// them are refused.
	Initial bool
	// IVMask is what tells this box's IVs from those of another that has the same keys.
	IVMask uint64

	// Alive, if there is one, is called each time that the chips have taken some rows: a large
	// change takes long.
	Alive func()

	left  map[string]uint64 // of Left
	held  func() error      // lets go of the file, from Hold to Release
	store *store.Store      // the state file, while it is locked
	kept  *store.State      // what the state file has, while the lock is held
	// unsaved are, by age, the SAs about which kept knows more, since Aged could not store it.
	unsaved map[uint64]bool

	published published
}

// Lists is how lists are printed.
type Lists struct {
	// Statistics makes them tell what SAs and policies have carried, as `ip -s` does.
	Statistics bool
	// JSON makes each a line of JSON, as `ip -j` does.
	JSON bool
	// Ignored is what `vrf show` tells of Linux's VRFs that do not fit the box's.
	Ignored []string
}

// Run carries all commands out, or, if one of them is wrong or does not fit, none. It wipes the
// keys in them.
func (s *Session) Run(commands []xfrm.Command) error {
	defer xfrm.Wipe(commands)
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	changes := Changes(commands)
	load := s.load
	if changes {
		load = s.begun
	}
	state, found, err := load()
	if err != nil {
		return err
	}
	printed, err := s.viewOf(state).printed(state.Model, commands, s.Lists)
	if err != nil {
		return err
	}
	if changes && !s.Ages {
		if err := state.Model.CheckTimeless(); err != nil {
			return err
		}
	}
	if changes {
		if err := s.change(state, found); err != nil {
			return err
		}
	}
	fmt.Fprint(s.Out, printed)
	return nil
}

// reads says whether a command changes nothing.
func reads(command xfrm.Command) bool {
	switch c := command.(type) {
	case xfrm.StateSelect:
		return !c.Verb.Removes()
	case xfrm.PolicySelect:
		return !c.Verb.Removes()
	case xfrm.StateCount, xfrm.PolicyCount, xfrm.Show:
		return true
	}
	return false
}

func (s *Session) note(format string, args ...any) {
	fmt.Fprintf(s.Notes, "note: "+format+"\n", args...)
}

// sizes checks the capabilities that this program relies on.
func (s *Session) sizes() (compile.Sizes, error) {
	c := &s.Box.Capabilities
	inner, crypto, outer := c[transport.Inner], c[transport.Crypto], c[transport.Outer]
	if inner.Ways != cuckoo.Ways || outer.Ways != cuckoo.Ways {
		return compile.Sizes{}, fmt.Errorf("the chips' hash tables have %d and %d ways, this program places rows in %d", inner.Ways, outer.Ways, cuckoo.Ways)
	}
	return compile.Sizes{
		SAs: min(inner.SAs, crypto.SAs, outer.SAs), FlowRows: inner.FlowRows, SADRows: outer.SADRows, InnerRules: inner.Rules,
		OuterRules: outer.Rules, RedHops: inner.NextHops, Peers: outer.PeerRows, BlackHops: outer.NextHops, Window: inner.ReplayWindow, WindowRows: inner.SAs,
		Hosts:    map[string]int{xfrm.Red: inner.HostRows, xfrm.Black: outer.HostRows},
		Prefixes: map[string]int{xfrm.Red: inner.PrefixRows, xfrm.Black: outer.PrefixRows},
		Policies: inner.PolicyRows, Suites: crypto.Suites, Clock: inner.CoreKHz,
	}, nil
}

// change plans, writes and stores.
func (s *Session) change(state *store.State, found comparison) error {
	sizes, err := s.sizes()
	if err != nil {
		return err
	}
	notes := &model.Report{}
	if found.tables != tablesKnown {
		state.Standing = nil
	}
	plan, err := plan.MakePlan(state.Model, state.Image, state.Standing, sizes, notes)
	if err != nil {
		return err
	}
	if err := s.checkNodes(state.Model); err != nil {
		return err
	}
	if err := s.Box.WaitReady(); err != nil {
		return err
	}
	if err := s.store.Reserve(plan, state, found.tables == tablesKnown); err != nil {
		return err
	}
	// Where a change is undone the file still has the configuration that it started from, and the
	// rows that it touched count as well.
	j := journal{Before: state.Generation, Generation: generation()}
	if found.journal != nil {
		j.Out, j.In = found.journal.Out, found.journal.In
		j.Earlier = append(found.journal.Earlier, found.journal.Generation)
	}
	j.touchAll(plan.Writes)
	if err := s.record(&j); err != nil {
		return err
	}
	if err := s.claimKeys(state.Model); err != nil { // the last file: a refused change uses no key
		return err
	}
	notes.Print(s.Notes)
	defer s.published.writing.Store(0)
	if err := s.begin(&j); err != nil {
		return err
	}
	if err := s.writeMarked(state, plan, found.tables, j.Generation); err != nil {
		return err
	}
	for dev, refused := range plan.Refused {
		state.Model.Refuse(dev, refused)
	}
	state.Model.MarkTimes(s.now())
	markWindows(state.Model, plan.Target)
	state.Hops = slices.SortedFunc(maps.Keys(plan.Target.Wanted), model.NextHop.Compare)
	state.Generation = j.Generation
	state.Model.Settle()
	if err := s.save(state, plan, found.tables); err != nil {
		return err
	}
	s.keep(state)
	return nil
}

// save stores what a change has made, and brings the image to it.
func (s *Session) save(state *store.State, plan *plan.Plan, tables tables) error {
	if plan.Target.Part != nil {
		rows := store.KeptRows(plan)
		if err := s.store.SavePart(plan, rows, state); err != nil {
			return err
		}
		store.Follow(state, plan, rows)
		return nil
	}
	before := state.Image
	state.Image = plan.Image
	state.Standing = nil
	if s.held != nil {
		state.Standing = compile.NewStanding(state.Model, plan.Image, plan.Target, plan.Roomless)
		state.Standing.KeepWays(plan.Ways)
	}
	if tables != tablesKnown {
		return s.store.SaveAll(state)
	}
	return s.store.SaveWhole(before, state)
}

// keep shows a configuration that is stored.
func (s *Session) keep(state *store.State) {
	if s.held != nil {
		s.kept = state
	}
	s.publish(state)
}

// write brings the chips from the present rows of their tables to the planned ones.
func (s *Session) write(state *store.State, plan *plan.Plan, tables tables, generation uint32) error {
	switch tables {
	case tablesCut:
		if err := s.clearAll(); err != nil {
			return err
		}
	case tablesUnknown:
		if err := s.eraseKeys(generation); err != nil {
			return err
		}
		if err := s.clearAll(); err != nil {
			return err
		}
	}
	if err := s.limits(state.Model, tables != tablesKnown); err != nil {
		return err
	}
	if err := s.install(state.Model, plan); err != nil {
		return err
	}
	if err := s.source().ForgetPeers(state.Model); err != nil {
		return err
	}
	return s.source().ForgetAudit(state.Model)
}

func generation() uint32 {
	var random [4]byte
	for {
		_, _ = rand.Read(random[:]) // never fails (crypto/rand)
		if g := binary.LittleEndian.Uint32(random[:]); g != 0 {
			return g
		}
	}
}

func (s *Session) mark(value uint32) error {
	for _, c := range transport.Chips {
		if err := s.Box.Write32(c, regs.CommonScratch, value); err != nil {
			return err
		}
	}
	return nil
}

// IsInput says whether an error is about the request rather than about the box.
func IsInput(err error) bool {
	var input *xfrm.Error
	return errors.As(err, &input)
}

// IsRefused says whether an error has left everything as it was: the request is wrong, or a file
// could not be written. The exit status of both is 2.
func IsRefused(err error) bool { return IsInput(err) || disk.IsFailure(err) }

// Changes says whether commands change anything.
func Changes(commands []xfrm.Command) bool {
	return slices.ContainsFunc(commands, func(c xfrm.Command) bool { return !reads(c) })
}

// markWindows notes the windows that are on the chip now.
func markWindows(m *model.Model, t *compile.Target) {
	for row := range t.Selectors {
		if sa := m.SAs.At(xfrm.DirIn, row); sa != nil && !sa.Started {
			m.EditSA(sa, func(sa *model.SA) { sa.Started = true })
		}
	}
	for _, sa := range m.Changes.Added() {
		sa.Started = sa.Way == xfrm.DirIn && t.Selectors[sa.Row] != nil
	}
}

func (s *Session) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}
