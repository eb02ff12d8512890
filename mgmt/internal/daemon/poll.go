// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/disk"
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/xfrm"
)

// Poll takes the chips' events every `period`, and ends SAs at their limits in time. It runs until
// ctx ends or the chips fail, and calls alive after each successful poll, and during a
// large change.
func (d *Daemon) Poll(ctx context.Context, period time.Duration, alive func()) error {
	ticks := time.NewTicker(period)
	defer ticks.Stop()
	d.mu.Lock()
	d.session.Alive = alive
	d.mu.Unlock()
	for {
		d.mu.Lock()
		err := d.poll()
		if err == nil {
			err = d.mend()
		}
		if err == nil {
			err = d.age()
		}
		d.mu.Unlock()
		if err := d.outlive(err); err != nil {
			return err
		}
		alive()
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// outlive forgives that the keys were erased in the middle of a change, and that a file cannot be
// written: the next poll tries again. The log says once which file, and an event that there is one.
// Other errors end the daemon.
func (d *Daemon) outlive(err error) error {
	if !errors.Is(err, chip.ErrErased) && !disk.IsFailure(err) {
		return err
	}
	if !disk.IsFailure(err) {
		return nil
	}
	text := err.Error()
	before := d.unwritten.Swap(text)
	if before != text {
		d.log.Error(text)
	}
	if before == "" {
		d.tell(events.Event{Kind: events.EventDisk, OK: new(bool)})
	}
	return nil
}

// poll takes the events that wait and tells the monitors. The audit log is the daemon's own log.
func (d *Daemon) poll() error {
	adopted, err := d.session.Adopted()
	if err != nil {
		return err
	}
	if d.owed == nil && (adopted || !d.adopted.Load()) {
		d.adopted.Store(adopted)
	} else if d.owed = d.restore(); d.owed != nil {
		if err := d.outlive(d.owed); err != nil {
			return err
		}
	}
	links, err := events.ReadLinks(d.session.Box)
	if err != nil {
		return err
	}
	for _, e := range d.links.LinkEvents(links) {
		d.tell(e)
	}
	d.links = links
	statuses, err := events.ReadStatuses(d.session.Box)
	if err != nil {
		return err
	}
	for _, e := range d.statuses.Events(statuses) {
		d.tell(e)
	}
	d.statuses = statuses
	if err := d.pollSelfTest(); err != nil {
		return err
	}
	if err := d.pollNoise(); err != nil {
		return err
	}
	if err := d.pollHealth(); err != nil {
		return err
	}
	d.show()
	if !d.adopted.Load() {
		return nil
	}
	var notes strings.Builder
	d.session.Notes = &notes
	defer func() { d.session.Notes = io.Discard }()
	for _, take := range []func() ([]events.Event, error){d.session.Events, d.session.Audit} {
		taken, err := take()
		for _, e := range merged(taken) {
			d.tell(e)
		}
		if err != nil {
			return err
		}
	}
	if err := d.pollHosts(); err != nil {
		return err
	}
	for _, note := range sentences(notes.String()) {
		d.log.Warn(note)
	}
	d.show()
	return nil
}

// pollHosts has Linux look for the hosts that packets went to in vain.
func (d *Daemon) pollHosts() error {
	hosts, err := d.session.Unresolved()
	if err != nil || d.host == nil {
		return err
	}
	for _, host := range hosts {
		d.seek(host)
	}
	return nil
}

// mend writes some rows anew that may have flipped bits.
func (d *Daemon) mend() error {
	if !d.adopted.Load() {
		return nil
	}
	told, err := d.upsets.Step(d.now())
	for _, e := range told {
		d.tell(e)
	}
	d.show()
	return err
}

// restore configures chips again that have lost their configuration, and tells that the SAs are
// gone. ErrErased as long as the crypto chip's tamper input keeps it from being configured.
func (d *Daemon) restore() error {
	if undone, err := d.undo(); undone || err != nil {
		return err
	}
	if d.adopted.Swap(false) {
		d.log.Error("the chips have lost their configuration: a reset, an erasure of the keys, or a change that did not finish")
	}
	gone, err := d.session.Restore()
	if err != nil {
		return err
	}
	d.log.Warn("the chips have their configuration again, but for SAs", "sas_gone", gone)
	d.health.lost = gone > 0
	d.tell(events.Event{Kind: events.EventRestart})
	return d.changed(0)
}

// undo gives chips the configuration of before a change that was cut short. The log says before
// which SAs are lost, so that no end of the daemon keeps that from it.
func (d *Daemon) undo() (undone bool, err error) {
	undone, err = d.session.Undo(func(lost []xfrm.ID) {
		if d.owed != nil {
			return // it was said before
		}
		d.log.Error("a change was cut short: the configuration of before is restored", "sas_lost", len(lost))
		for _, id := range lost {
			d.log.Warn("an SA that the change was about to delete or replace is lost", "dst", id.Dst, "spi", fmt.Sprintf("0x%x", id.SPI))
		}
	})
	if err != nil || !undone {
		return false, err
	}
	return true, d.changed(0)
}

// tell gives an event to the log and to the monitors.
func (d *Daemon) tell(e events.Event) {
	level := slog.LevelInfo
	switch {
	case (e.Kind == events.EventTamper || e.Kind == events.EventSelfTest) && !*e.OK:
		level = slog.LevelError
	case e.Kind == events.EventUpset && !*e.OK:
		level = slog.LevelWarn
	}
	d.log.Log(context.Background(), level, "event", "event", e.Kind, "text", e.String())
	d.events.Publish(e)
}

// merged makes one event of all bad ICVs of an SA, with the fields of the first, and how many
// events there were.
func merged(taken []events.Event) (out []events.Event) {
	first := map[uint32]*events.Dropped{}
	for _, e := range taken {
		if e.Kind == events.EventICV {
			if before := first[e.SPI]; before != nil {
				before.Count++
				continue
			}
			e.Count = 1
			first[e.SPI] = e.Dropped
		}
		out = append(out, e)
	}
	return out
}
