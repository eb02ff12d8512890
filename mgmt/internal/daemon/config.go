// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"sallyport/mgmt/internal/caller"
	"sallyport/mgmt/internal/control"
	"sallyport/mgmt/internal/saved"
	"sallyport/mgmt/internal/xfrm"
)

// configName stands for a file in errors about the lines of a load that has no name.
const configName = "configuration"

// undoAgain is when a load that could not be undone is tried again.
const undoAgain = time.Minute

// KeepConfig says where the saved configuration is. A load that waited for its confirmation when
// another daemon ended waits on.
func (d *Daemon) KeepConfig(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	files, err := saved.Open(path)
	d.saved = files
	return err
}

// RunSaved gives the box the saved configuration; false if none is saved. Notes say in either case
// why the box had none.
func (d *Daemon) RunSaved() (control.Done, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines, commands, err := d.saved.Read()
	if err != nil {
		return control.Done{}, false, err
	}
	if lines == nil {
		notes, err := d.found()
		return control.Done{Notes: notes}, false, err
	}
	notes, err := d.replace(commands)
	return control.Done{Notes: notes}, true, err
}

// found says how the state file and the chips agree, where they do not.
func (d *Daemon) found() ([]string, error) {
	var notes bytes.Buffer
	d.session.Notes = &notes
	defer func() { d.session.Notes = io.Discard }()
	_, err := d.session.Look()
	return sentences(notes.String()), err
}

func (d *Daemon) config(who caller.Caller, r *control.ConfigRequest) (any, error) {
	if r.Verb != control.ConfigShow && r.Verb != control.ConfigSaved {
		if err := who.MayChange(); err != nil {
			return nil, err
		}
	}
	if r.Verb != control.ConfigLoad && (len(r.Lines) > 0 || r.File != "" || r.Confirm != 0) {
		return nil, inputf("lines, file and confirm are of the verb load")
	}
	defer d.lockFor(who)()
	if d.saved == nil {
		return nil, inputf("this daemon has no place for a saved configuration")
	}
	answer, err := control.Config{Lines: []string{}, Notes: []string{}}, error(nil)
	switch r.Verb {
	case control.ConfigShow:
		answer.Lines, err = d.lines()
	case control.ConfigSaved:
		if answer.Lines, _, err = d.saved.Read(); answer.Lines == nil {
			answer.Lines, answer.Notes = []string{}, []string{"note: no configuration is saved yet"}
		}
	case control.ConfigSave:
		err = d.save()
	case control.ConfigLoad:
		answer.Notes, err = d.load(r)
	case control.ConfigConfirm:
		err = d.confirm()
	default:
		err = inputf("verb must be show, saved, save, load or confirm")
	}
	if p := d.saved.Pending(); p != nil {
		answer.Undo = p.Undo
	}
	return answer, err
}

// lines are the running configuration.
func (d *Daemon) lines() ([]string, error) {
	v, err := d.session.Look()
	if err != nil {
		return nil, err
	}
	return append([]string{}, v.Config()...), nil
}

// checkSettled refuses what cannot be while a load waits for its confirmation.
func (d *Daemon) checkSettled() error {
	if p := d.saved.Pending(); p != nil {
		return inputf("a load waits for its confirmation until %s: confirm it first, or let it be undone", time.Unix(p.Undo, 0).Format(time.TimeOnly))
	}
	return nil
}

func (d *Daemon) save() error {
	if err := d.checkSettled(); err != nil {
		return err
	}
	lines, err := d.lines()
	if err != nil {
		return err
	}
	return d.saved.Write(lines)
}

// load runs another configuration. How it is undone is on the disk before it begins.
func (d *Daemon) load(r *control.ConfigRequest) ([]string, error) {
	commands, err := parsed(r.Lines, cmp.Or(r.File, configName), xfrm.ParseConfig)
	if err != nil {
		return nil, err
	}
	if r.Confirm < 0 || r.Confirm > control.MostConfirm {
		return nil, inputf("a load can wait for its confirmation 1 to %d seconds, not %d", control.MostConfirm, r.Confirm)
	}
	if err := d.checkSettled(); err != nil {
		return nil, err
	}
	if r.Confirm == 0 {
		return d.replace(commands)
	}
	v, err := d.session.Look()
	if err != nil {
		return nil, err
	}
	after, err := v.Replaced(commands)
	if err != nil {
		return nil, err
	}
	if err := d.await(&saved.Pending{Undo: d.now().Unix() + int64(r.Confirm), Before: v.Config(), After: after}); err != nil {
		return nil, err
	}
	notes, err := d.replace(commands)
	if err != nil {
		if settled := d.settle(); settled != nil {
			d.log.Error(settled.Error())
		}
	}
	return notes, err
}

// replace makes the configuration that of some commands.
func (d *Daemon) replace(commands []xfrm.Command) ([]string, error) {
	return d.replaceBy(d.session.Replace, commands)
}

func (d *Daemon) replaceBy(replace func([]xfrm.Command) error, commands []xfrm.Command) ([]string, error) {
	if err := d.prepare(); err != nil {
		return nil, err
	}
	var notes bytes.Buffer
	d.session.Notes = &notes
	defer func() { d.session.Notes = io.Discard }()
	if err := replace(commands); err != nil {
		return nil, err
	}
	return sentences(notes.String()), d.changed(len(commands))
}

func (d *Daemon) confirm() error {
	if d.saved.Pending() == nil {
		return inputf("no load waits for its confirmation: it was confirmed, undone, or never asked for one")
	}
	return d.settle()
}

// undoLoad takes back a load that was not confirmed: what it added goes, what it took away comes
// back, and what others changed since stays.
func (d *Daemon) undoLoad() error {
	now, err := d.lines()
	if err != nil {
		return err
	}
	p := d.saved.Pending()
	text := strings.Join(p.Restored(now), "\n")
	commands, err := xfrm.ParseConfig(configName, []byte(text))
	if err == nil {
		_, err = d.replaceBy(d.session.PutBack, commands)
	}
	if err != nil {
		return fmt.Errorf("a load was not confirmed, but it cannot be undone: %w", err)
	}
	d.log.Warn("a load was not confirmed: the configuration of before it runs again", "event", "config-undone")
	return d.settle()
}

// await and settle tell UndoLoads that a load waits, or waits no more.
func (d *Daemon) await(p *saved.Pending) error { return d.wakeAfter(d.saved.Await(p)) }

func (d *Daemon) settle() error { return d.wakeAfter(d.saved.Settle()) }

func (d *Daemon) wakeAfter(err error) error {
	select {
	case d.waits <- struct{}{}:
	default:
	}
	return err
}

// UndoLoads undoes loads that are not confirmed in time, until ctx ends.
func (d *Daemon) UndoLoads(ctx context.Context) error {
	for {
		var due <-chan time.Time
		if wait, waits := d.undoDue(); waits {
			due = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-d.waits:
		case <-due:
		}
	}
}

// undoDue undoes the load whose time has come, and says how long another one has.
func (d *Daemon) undoDue() (wait time.Duration, waits bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.saved == nil || d.saved.Pending() == nil {
		return 0, false
	}
	if wait = time.Unix(d.saved.Pending().Undo, 0).Sub(d.now()); wait > 0 {
		return wait, true
	}
	if err := d.undoLoad(); err != nil {
		d.log.Error(err.Error())
		return undoAgain, true
	}
	return 0, false
}
