// SPDX-License-Identifier: Apache-2.0

// Package compile computes the rows of the chips' tables from a model.
package compile

import (
	"iter"
	"net/netip"
	"sallyport/mgmt/internal/clock"
	"slices"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// Sizes are the capacities of the chips' tables.
type Sizes struct {
	SAs, FlowRows, SADRows, InnerRules, OuterRules, RedHops, BlackHops, Peers, Window, WindowRows int
	// Hosts are the rows of the tables of hosts, and Prefixes those of the last level of the trees
	// of prefixes, by device; 0: the chip has none.
	Hosts, Prefixes map[string]int
	// Policies are the rows of the table of policies by prefix, where row 0 is never used; 0: the
	// chip has none.
	Policies int
	Suites   uint32
	// Clock is the inner chip's.
	Clock clock.Clock
}

// Placed is a row that still needs its place in a table: the one of its owner, or one part
// of several.
type Placed struct {
	Owner    string
	Part     int
	Whole    bool // of all packets of its policy, behind what that has for two hosts alone
	Row      Row
	Priority uint32
	Age      uint64
	Pos      xfrm.Pos
	Optional bool // it is left out where the table is full
	// Route is, of a row of hosts, the route that it is for; invalid: it is for the host itself.
	// Set is that of Linux's routes which has it; empty: it is a written one.
	Route netip.Prefix
	Set   string
}

// Target is what the tables should hold.
type Target struct {
	Flows, Sad []Placed // in order of age
	// Named are the rows of policies by prefix, in the SPD's order, by destination. In a part, one
	// that has none any more is there without rows.
	Named map[Destination][]Placed
	// Steering are the routes to XFRM interfaces; nil if there are none.
	Steering               *Steering
	Hosts                  map[string][]Placed // by device
	Peers                  []Placed            // of black; in a part those that came
	InnerRules, OuterRules []Placed
	// of the inner chip, for inbound SAs that have several selector sets and for clear packets
	InboundRules []Placed
	// Joins is, by owner of an inbound rule that goes, the group that the SAs of its policy join.
	Joins map[string]int
	// Leaves are owners of inbound rules that are a group's until its SAs have one selector each,
	// and DISCARD then.
	Leaves                       map[string]bool
	Selectors, Tunnels, Dummies  map[int]Row
	DscpMap, DscpSA              map[int]Row            // of the outer and of the inner chip
	Hops                         map[string]map[int]Hop // by device
	Wanted                       map[model.NextHop]bool // whose addresses are to be learned
	BypassEncrypt, BypassDecrypt bool
	// Ways are prefixes of the trees by device, and NoWay those of Linux's without a next hop that
	// has a row, by set.
	Ways map[string][]Way
	// Apart are those of the networks of VRFs, by number; nil of a part, which changes none.
	Apart map[int][]Way
	// Moved are, of a part, those of VRFs whose routes were learned anew, by number.
	Moved map[int]*Moved
	// Networks are the rows of VLANs that are in VRFs; nil of a part.
	Networks map[int]Row
	NoWay    map[string][]netip.Prefix
	// NoRows are small routes of Linux for which there are no rows of hosts, by set.
	NoRows map[string][]netip.Prefix
	// Leads are the next hops that rows of SAs and policies lead to.
	Leads []Lead
	// Part says what the tables hold besides, if the target is of a part alone: all that it does
	// not name stays.
	Part *Part
}

// Moved are ways of a VRF some of whose routes were learned anew.
type Moved struct {
	Treed bool         // its packets need a tree
	Ways  []Way        // of the prefixes that changed
	All   func() []Way // of all prefixes, for a tree that is to be made
}

// compiler works out the target from the model.
type compiler struct {
	m        *model.Model
	old      *Image
	sizes    Sizes
	report   *model.Report
	out      Target
	hopRows  map[model.NextHop]int
	reuse    bool                        // rows of going entries may be taken at once
	sets     map[*model.SA][]set         // of inbound SAs, as policies name them
	selector map[*model.SA]xfrm.Selector // of those that one selector is enough for
	group    map[*model.SA]*group        // of the others
	standing *Standing                   // of rows that are not computed anew; nil if all are
	user     uint64                      // age of the SA whose rows are made; 0: those of a policy
	arrays   map[Block]int               // of the maps of DSCPs that SAs have
	blocks   map[Block]int               // of the SAs that policies choose from by DSCP
}

func Compile(m *model.Model, old *Image, sizes Sizes, reuse bool, r *model.Report) (*Target, error) {
	c := newCompiler(m, old, sizes, r)
	c.reuse = reuse
	for _, step := range []func() error{c.checkSteering, c.checkNetworks, c.checkSAs, c.checkSPIs, c.checkExtensions, c.placeSAs, c.placeWindows, c.placeUsage, c.placeDummies, c.placeDSCPs, c.outPolicies, c.steering, c.inPolicies, c.outboundSAs, c.inboundSAs, c.peers, c.networks, c.gateways, c.ways} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.hops()
	c.hosts()
	if m.Bump() {
		// ARP and neighbour discovery pass a bridge whatever the policies say.
		c.out.BypassEncrypt, c.out.BypassDecrypt = true, true
	}
	return &c.out, nil
}

func newCompiler(m *model.Model, old *Image, sizes Sizes, r *model.Report) *compiler {
	c := &compiler{m: m, old: old, sizes: sizes, report: r, hopRows: map[model.NextHop]int{}, sets: map[*model.SA][]set{}, selector: map[*model.SA]xfrm.Selector{}, group: map[*model.SA]*group{}}
	c.out = Target{Named: map[Destination][]Placed{}, Leaves: map[string]bool{}, Selectors: map[int]Row{}, Tunnels: map[int]Row{}, Dummies: map[int]Row{}, Hops: map[string]map[int]Hop{}, Hosts: map[string][]Placed{}, Ways: map[string][]Way{}, NoWay: map[string][]netip.Prefix{}, NoRows: map[string][]netip.Prefix{}, Wanted: map[model.NextHop]bool{}}
	return c
}

// sas are those whose rows are made.
func (c *compiler) sas() iter.Seq[*model.SA] {
	if c.standing != nil {
		return slices.Values(c.m.Changes.Added())
	}
	return c.m.SAs.All()
}

// FullError says that a table has no room; it may have some once old rows are gone.
type FullError struct{ Err error }

func (e *FullError) Error() string { return e.Err.Error() }

func (e *FullError) Unwrap() error { return e.Err }
