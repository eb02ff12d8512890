// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/rib"
	"sallyport/mgmt/internal/session"
)

// source is a part of Linux's routes.
type source struct {
	devices *punt.Devices
	set     string
}

func (s source) Routes(ctx context.Context, to punt.RouteTable) error {
	return s.devices.Routes(ctx, s.set, to)
}

// router is the box as what learns Linux's routes of a set.
type router struct {
	d      *Daemon
	dev    string
	waited *string // why routes waited the last time
}

// LearnRoutes takes changes of routes. What cannot be written now is tried again. The time while
// others change the box does not count.
func (r router) LearnRoutes(changes []learned.Change) (taken bool, took time.Duration, err error) {
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	begun := time.Now()
	defer func() { took = time.Since(begun) }()
	if err = r.d.prepare(); err == nil {
		taken, err = r.d.session.LearnRoutes(r.dev, changes)
	}
	if session.IsInput(err) { // of the configuration, which the routes have to wait for
		if *r.waited != err.Error() {
			r.d.log.Warn("routes of Linux wait: " + err.Error())
		}
		*r.waited = err.Error()
		return false, 0, nil
	}
	*r.waited = ""
	return taken && err == nil, 0, r.d.outlive(err)
}

// LearnedRoutes are those that the box has.
func (r router) LearnedRoutes() (*learned.Routes, error) {
	v, err := r.d.view()
	if err != nil {
		return nil, err
	}
	if routes := v.Model().FromLinux[r.dev]; routes != nil {
		return routes, nil
	}
	return learned.New(), nil // a VRF without any
}

// networks are the VRFs of the box as what learns Linux's routes of their tables.
type networks struct {
	d    *Daemon
	of   *model.Model // whose they are
	vrfs []punt.VRF
}

// VRFs are those that there are, with their VLANs and XFRM interfaces.
func (n *networks) VRFs() ([]punt.VRF, error) {
	v, err := n.d.view()
	if err != nil || v.Model() == n.of {
		return n.vrfs, err
	}
	n.of, n.vrfs = v.Model(), nil
	for _, vrf := range n.of.VRFs {
		own := punt.VRF{Name: vrf.Name, Table: vrf.Table, VLANs: map[uint16]punt.VLAN{}}
		for _, i := range n.of.InterfacesOf(vrf.Name) {
			own.Interfaces = append(own.Interfaces, i.Name)
		}
		for _, vlan := range n.of.VLANs {
			if vlan.VRF == vrf.Name {
				own.VLANs[vlan.ID] = punt.VLAN{Name: vlan.VLANName(), Protocol: vlan.Protocol}
			}
		}
		n.vrfs = append(n.vrfs, own)
	}
	return n.vrfs, nil
}

// Of is the box as what learns the routes of a set of a VRF.
func (n *networks) Of(set string) rib.Box { return router{n.d, set, new(string)} }

// ignored is what Linux has of VRFs that does not fit the box's.
func (d *Daemon) ignored() []string {
	if d.host == nil {
		return nil
	}
	return d.host.devices.Ignored()
}
