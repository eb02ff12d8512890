package box

import (
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

// Sizes are the capacities of the chips' tables.
type Sizes struct {
	SAs, FlowRows, SADRows, InnerRules, OuterRules, RedHops, BlackHops, Window, WindowRows int
	Suites                                                                                 uint32
}

// placed is a row that still needs its place in a table: the one of its owner, or one part of several.
type placed struct {
	owner    string
	part     int
	whole    bool // of all packets of its policy, behind what that has for two hosts alone
	row      Row
	priority uint32
	age      uint64
	pos      xfrm.Pos
}

// target is what the tables should hold.
type target struct {
	flows, sad                   []placed // in order of age
	innerRules, outerRules       []placed
	inboundRules                 []placed // of the inner chip, for inbound SAs that have several selector sets
	selectors, tunnels, dummies  map[int]Row
	dscpMap, dscpSA              map[int]Row            // of the outer and of the inner chip
	hops                         map[string]map[int]Hop // by device
	wanted                       map[NextHop]bool       // whose addresses are to be learned
	bypassEncrypt, bypassDecrypt bool
}

// compiler works out the target from the model.
type compiler struct {
	m        *Model
	old      *Image
	sizes    Sizes
	report   *report
	out      target
	hopRows  map[string]map[netip.Addr]int
	reuse    bool                  // rows of what is going may be taken at once
	sets     map[*SA][]set         // of inbound SAs, as policies name them
	selector map[*SA]xfrm.Selector // of those that one selector is enough for
	group    map[*SA]*group        // of the others
	find     finder
	arrays   map[block]int // of the maps of DSCPs that SAs have
	blocks   map[block]int // of the SAs that policies choose from by DSCP
}

func compile(m *Model, old *Image, sizes Sizes, reuse bool, r *report) (*target, error) {
	c := &compiler{m: m, old: old, sizes: sizes, report: r, reuse: reuse, hopRows: map[string]map[netip.Addr]int{}, sets: map[*SA][]set{}, selector: map[*SA]xfrm.Selector{}, group: map[*SA]*group{}, find: newFinder(m.SAs)}
	c.out = target{selectors: map[int]Row{}, tunnels: map[int]Row{}, dummies: map[int]Row{}, hops: map[string]map[int]Hop{}, wanted: map[NextHop]bool{}}
	for _, dev := range devices {
		c.hopRows[dev] = map[netip.Addr]int{}
	}
	for _, step := range []func() error{c.checkSAs, c.checkSPIs, c.checkExtensions, c.placeSAs, c.placeWindows, c.placeUsage, c.placeDummies, c.placeDSCPs, c.outPolicies, c.inPolicies, c.outboundSAs, c.inboundSAs} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.hops()
	if m.bump() {
		// ARP and neighbour discovery pass a bridge whatever the policies say.
		c.out.bypassEncrypt, c.out.bypassDecrypt = true, true
	}
	return &c.out, nil
}

// fullError says that a table has no room; it may have some once old rows are gone.
type fullError struct{ error }

func (e *fullError) Unwrap() error { return e.error }
