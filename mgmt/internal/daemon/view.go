// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/session"
)

// shown is what the last poll or change found, for those who do not wait for the next.
type shown struct {
	links    events.Links
	statuses events.Statuses
	left     map[string]uint64
}

// show lets others see it. The caller has the daemon's lock.
func (d *Daemon) show() { d.shown.Store(&shown{d.links, d.statuses, d.session.Left()}) }

// view is the configuration that the chips hold. It waits for the daemon's lock only while the chips do not
// hold what they did: a restoration that runs is finished first, so nobody is told of what is not there.
func (d *Daemon) view() (*session.View, error) {
	if v, err := d.session.View(); v != nil || err != nil {
		return v, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.session.Look()
}
