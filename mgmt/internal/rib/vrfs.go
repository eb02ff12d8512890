// SPDX-License-Identifier: Apache-2.0

package rib

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/punt"
)

// VRFBox is a box with VRFs.
type VRFBox interface {
	// VRFs are those that there are. It costs little while they are the same.
	VRFs() ([]punt.VRF, error)
	// Of is the box as what learns the routes of a set of a VRF.
	Of(set string) Box
}

// Tables tells Linux's routes of the tables of VRFs until ctx ends, changes were lost, or Linux has
// other VRFs.
type Tables interface {
	TableRoutes(ctx context.Context, vrfs []punt.VRF, to punt.RouteTable) error
	Ignored() []string
}

// look is how often the box is asked which VRFs it has.
const look = time.Second

// VRFs keep the routes of VRFs as Linux has them in their tables. One listener reads all tables,
// and each VRF has two followers: of the routes out of its VLANs, and of all, which steer packets
// to XFRM interfaces. The followers of a kind share the room that the chip has.
type VRFs struct {
	box         VRFBox
	log         *slog.Logger
	room, steer *room
	pace        *Pace

	ignored []string // as the log has it

	mu        sync.Mutex
	followers map[uint32]*following // by table
}

// following are the followers of a VRF at work.
type following struct {
	ways, steer *Follower
	vrf         punt.VRF
	end         func()
}

func (f *following) both() [2]*Follower { return [2]*Follower{f.ways, f.steer} }

// NewVRFs makes them for a box whose chip is meant for so many routes.
func NewVRFs(box VRFBox, most int, pace *Pace, log *slog.Logger) *VRFs {
	shared := func() *room { return &room{most: int64(most), share: most / model.MostVRFs} }
	return &VRFs{box: box, log: log, room: shared(), steer: shared(), pace: pace, followers: map[uint32]*following{}}
}

// Over is how many routes of Linux had no room in the tables, by set as the metrics name it.
func (v *VRFs) Over() map[string]uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := map[string]uint64{}
	for _, f := range v.followers {
		out["vrf "+f.vrf.Name] = f.ways.Over()
		if len(f.vrf.Interfaces) > 0 {
			out[learned.Steering+" vrf "+f.vrf.Name] = f.steer.Over()
		}
	}
	return out
}

// Follow runs until ctx ends or the box fails.
func (v *VRFs) Follow(ctx context.Context, from Tables) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		for ctx.Err() == nil {
			if err := v.once(ctx, group, from); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// once follows the VRFs that there are until the box has others. Linux tells all routes again each
// time that changes were lost.
func (v *VRFs) once(ctx context.Context, group *errgroup.Group, from Tables) error {
	vrfs, err := v.box.VRFs()
	if err != nil {
		return err
	}
	to := v.follow(ctx, group, vrfs)
	ctx, end := context.WithCancel(ctx)
	defer end()
	listening := make(chan error, 1)
	go func() { listening <- v.listen(ctx, from, vrfs, to) }()
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for {
		select {
		case err := <-listening:
			return err
		case <-ticks.C:
		}
		v.tell(from.Ignored())
		now, err := v.box.VRFs()
		if err != nil || !slices.EqualFunc(now, vrfs, same) {
			end()
			<-listening
			return err
		}
	}
}

// tell logs what of Linux does not fit, once.
func (v *VRFs) tell(ignored []string) {
	for _, text := range ignored {
		if !slices.Contains(v.ignored, text) {
			v.log.Warn(text)
		}
	}
	v.ignored = ignored
}

func same(a, b punt.VRF) bool { return a.String() == b.String() }

// listen has Linux tell the routes of the tables until ctx ends.
func (v *VRFs) listen(ctx context.Context, from Tables, vrfs []punt.VRF, to tables) error {
	return retold(ctx, func(once context.Context, cancel context.CancelFunc) error {
		for _, f := range to {
			for _, one := range f.both() {
				one.resync.Store(&cancel)
			}
		}
		return from.TableRoutes(once, vrfs, to)
	})
}

// follow has followers of some VRFs, and of no others, and gives them by their tables.
func (v *VRFs) follow(ctx context.Context, group *errgroup.Group, vrfs []punt.VRF) tables {
	v.mu.Lock()
	defer v.mu.Unlock()
	to := tables{}
	for _, vrf := range vrfs {
		f := v.followers[vrf.Table]
		if f == nil || f.vrf.Name != vrf.Name {
			own, end := context.WithCancel(ctx)
			f = &following{
				newFollower(v.box.Of(learned.OfTable(vrf.Table, vrf.Name)), "the VRF "+vrf.Name, false, v.room, v.pace, v.log),
				newFollower(v.box.Of(learned.SteeringOf(vrf.Table, vrf.Name)), learned.Steering+" in the VRF "+vrf.Name, true, v.steer, v.pace, v.log), vrf, end,
			}
			for _, one := range f.both() {
				group.Go(func() error { return one.apply(own) })
			}
		}
		f.vrf = vrf // it may have other interfaces
		to[vrf.Table] = f
	}
	for table, f := range v.followers {
		if to[table] != f {
			f.end()
			for _, one := range f.both() {
				one.table.Begin() // which gives its room back
			}
		}
	}
	v.followers = to
	return to
}

// tables are those of VRFs, as what Linux tells its routes.
type tables map[uint32]*following

// Begin says that Linux tells all its routes now.
func (t tables) Begin() {
	for _, f := range t {
		for _, one := range f.both() {
			one.table.Begin()
		}
	}
}

// Change takes a route.
func (t tables) Change(c punt.RouteChange) {
	switch f := t[c.Table]; {
	case f == nil:
	case c.Steers:
		f.steer.table.Change(c)
	default:
		f.ways.table.Change(c)
	}
}

// Dumped says that Linux has told all of them.
func (t tables) Dumped() {
	for _, f := range t {
		for _, one := range f.both() {
			one.table.Dumped()
		}
	}
}
