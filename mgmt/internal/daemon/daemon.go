// SPDX-License-Identifier: Apache-2.0

// Package daemon is the long-lived owner of a box. It executes the requests of its control socket's
// clients one after the other, takes the chips' events, and counts.
package daemon

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"sallyport/mgmt/internal/answers"
	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/hostrows"
	"sallyport/mgmt/internal/hub"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/saved"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/spis"
	"sallyport/mgmt/internal/upsets"
	"sallyport/mgmt/internal/xfrm"
)

// Daemon owns a box. Its methods may be called by several goroutines.
type Daemon struct {
	log     *slog.Logger
	version string
	now     func() time.Time

	adopted   atomic.Bool           // the chips hold our configuration
	shown     atomic.Pointer[shown] // of the last poll or change
	unwritten atomic.Value          // what the log last said of a file that could not be written
	promised  *spis.Promised
	uses      lastUses

	mu       sync.Mutex // of changes of the chips, and of what follows
	session  *session.Session
	links    events.Links
	statuses events.Statuses
	tested   chip.SelfTest
	owed     error     // why the chips have not yet got a configuration again that they have lost
	host     *host     // nil without devices
	aged     time.Time // when limits in time were last looked at
	// ended are the SAs at their hard limits that were told, and could not be deleted.
	ended   map[xfrm.ID]bool
	noise   noise
	upsets  *upsets.Watch
	health  health
	pair    *Pair         // nil of a box that is alone
	saved   *saved.Files  // nil: none is kept
	waits   chan struct{} // a load more or less waits for its confirmation
	by      caller.Caller // who asked for the change that runs
	trailed *model.Model  // of the last change that is in the trail

	events hub.Hub
	// remoteReaders bounds what the log has of them.
	remoteReaders rate.Sometimes
	teller        *answers.Teller
	tallies       *hostrows.Tallies
	paths         Paths
}

// logAgain is how often one of many requests of readers of the network is in the log.
const logAgain = 10 * time.Second

// New makes the daemon of a session that holds its box, and says in the log what it found there.
func New(session *session.Session, log *slog.Logger, version string) (*Daemon, error) {
	d := &Daemon{log: log, version: version, now: time.Now, session: session, promised: spis.New(), uses: lastUses{uses: uses{}}, ended: map[xfrm.ID]bool{}, links: events.AllUp(), statuses: events.AllWell(), events: hub.New(), upsets: upsets.New(session), waits: make(chan struct{}, 1), remoteReaders: rate.Sometimes{First: 1, Interval: logAgain}, tallies: hostrows.NewTallies(), paths: Paths{Believe: true, Holds: model.PathAge}}
	d.teller = answers.New(owned{d}, log, func() time.Time { return d.now() }, d.tell, d.tallies)
	session.Out, session.Notes, session.Ages = io.Discard, io.Discard, true
	d.unwritten.Store("")
	d.show()
	adopted, err := session.Adopted()
	if err != nil {
		return d, err
	}
	v, err := session.Look()
	if err != nil {
		return nil, err
	}
	m := v.Model()
	d.trailed = m
	if !adopted {
		return d, nil
	}
	d.adopted.Store(true)
	log.Info("adopted what the chips hold", "sas_in", m.SAs.Count(xfrm.DirIn), "sas_out", m.SAs.Count(xfrm.DirOut), "policies", m.Policies.Len())
	return d, nil
}

// Adopted says whether the chips hold a configuration, or get it as soon as they can; otherwise the
// box is as after a reset.
func (d *Daemon) Adopted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.adopted.Load() || d.owed != nil
}

// Recover undoes a change that the end of another daemon cut short, and opens ports that it had at
// rest to write a rule. It comes once it is known whether the ports may be open. What cannot be
// undone yet is tried with each poll.
func (d *Daemon) Recover() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, d.owed = d.undo(); d.owed != nil || d.session.Closed {
		return d.outlive(d.owed)
	}
	return d.outlive(d.session.OpenPorts())
}

// Run carries out all commands or none, and wipes the keys in them.
func (d *Daemon) Run(commands []xfrm.Command, lists session.Lists) (control.Done, error) {
	return d.runFor(caller.Caller{}, commands, lists)
}

// runFor carries out what a client asks for.
func (d *Daemon) runFor(who caller.Caller, commands []xfrm.Command, lists session.Lists) (control.Done, error) {
	if session.Changes(commands) {
		if err := cmp.Or(who.MayChange(), who.MayHold(commands)); err != nil {
			xfrm.Wipe(commands)
			return control.Done{}, err
		}
	} else {
		v, err := d.session.View()
		if err != nil {
			return control.Done{}, err
		}
		if v != nil {
			out, err := v.Read(commands, lists)
			return control.Done{Output: out, Notes: sentences("")}, err
		}
	}
	defer d.lockFor(who)()
	return d.run(commands, lists)
}

// lockFor keeps others out until the function that it returns is called.
func (d *Daemon) lockFor(who caller.Caller) (unlock func()) {
	d.mu.Lock()
	d.by = who
	return func() {
		d.by = caller.Caller{}
		d.mu.Unlock()
	}
}

// RunInitial carries out the batch that a box gets each time that it has no configuration, and
// wipes the keys in it. It cannot have outbound SAs.
func (d *Daemon) RunInitial(commands []xfrm.Command) (control.Done, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session.Initial = true
	defer func() { d.session.Initial = false }()
	return d.run(commands, session.Lists{})
}

// prepare takes the events that wait, since a change discards them. While the chips have not got
// their configuration again it says why.
func (d *Daemon) prepare() error {
	if err := d.poll(); err != nil {
		return err
	}
	return d.owed
}

func (d *Daemon) run(commands []xfrm.Command, lists session.Lists) (control.Done, error) {
	changes := session.Changes(commands)
	if changes {
		if err := d.prepare(); err != nil {
			xfrm.Wipe(commands)
			return control.Done{}, err
		}
	}
	var out, notes bytes.Buffer
	d.session.Out, d.session.Notes, d.session.Lists = &out, &notes, lists
	defer func() { d.session.Out, d.session.Notes, d.session.Lists = io.Discard, io.Discard, session.Lists{} }()
	if err := d.session.Run(commands); err != nil {
		return control.Done{}, err
	}
	if changes {
		d.health.lost = false
		if err := d.changed(len(commands)); err != nil {
			return control.Done{}, err
		}
	}
	return control.Done{Output: out.String(), Notes: sentences(notes.String())}, nil
}

// changed forgets what a change has made obsolete.
func (d *Daemon) changed(commands int) error {
	d.adopted.Store(true)
	if d.unwritten.Swap("") != "" {
		stored := true
		d.tell(events.Event{Kind: events.EventDisk, OK: &stored})
	}
	d.show()
	v, err := d.session.Look()
	if err != nil {
		return err
	}
	m := v.Model()
	d.trail(m)
	d.promised.Release(m.SAs.Inbound)
	d.uses.keep(m)
	d.log.Info("configuration changed", "commands", commands, "sas_in", m.SAs.Count(xfrm.DirIn), "sas_out", m.SAs.Count(xfrm.DirOut))
	return d.hostChanged()
}

// trail writes into the log what a change has made of each object, and who asked for it. The
// daemon's own changes name no client.
func (d *Daemon) trail(after *model.Model) {
	before := d.trailed
	d.trailed = after
	for _, x := range after.Differences(before) {
		d.log.Info("change", append([]any{"event", "change", "object", x.Object, "before", x.Before, "after", x.After}, d.by.Who()...)...)
	}
}

// sentences are the lines of a text; never nil, for JSON.
func sentences(text string) []string {
	if text == "" {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// Close lets the box go, as it is: the chips forward on.
func (d *Daemon) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events.Close()
	return errors.Join(d.session.Release(), d.session.Box.Close())
}
