// SPDX-License-Identifier: Apache-2.0

// Package yang speaks the YANG module ietf-i2nsf-ikeless of RFC 9061 for a box: it turns JSON
// documents of the module (RFC 7951) into requests of the API, and the box's SPD, SAD and events
// into such documents (docs/reference/yang.md).
//
// The mapping is on the client's side. So keys go sealed to the daemon, as ever.
package yang

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"

	"sallyport/mgmt/internal/xfrm"
)

// Module is the name of the module.
const Module = "ietf-i2nsf-ikeless"

const root = "/" + Module + ":ipsec-ikeless"

// Actions of an spd-entry.
const (
	protect = "protect"
	bypass  = "bypass"
	discard = "discard"
)

// policy is an spd-entry.
type policy struct {
	path     string // in the document
	name     string
	dir      xfrm.Dir // fwd alone of a policy that the box has
	reqid    uint32
	sel      xfrm.Selector
	action   string
	mode     string // of protect, like the ends of a tunnel
	src, dst netip.Addr
	priority uint32
}

// derived is the name of a policy that was given none.
func (p *policy) derived() string { return string(p.dir) + " " + p.sel.String() }

// same says whether a policy says what another one says.
func (p *policy) same(o *policy) bool {
	return p.inbound() == o.inbound() && p.reqid == o.reqid && p.sel == o.sel && p.action == o.action && p.mode == o.mode && p.src == o.src && p.dst == o.dst
}

func (p *policy) inbound() bool { return p.dir != xfrm.DirOut }

// names says whether a policy protects by an SA.
func (p *policy) names(s *sa) bool {
	if p.action != protect || p.mode != s.mode || p.reqid != 0 && p.reqid != s.reqid {
		return false
	}
	if p.mode == xfrm.ModeTunnel {
		return p.src == s.src && p.dst == s.dst
	}
	return p.sel.Src.Contains(s.src) && p.sel.Dst.Contains(s.dst)
}

// limits are those of an SA's lifetime; 0 is none.
type limits struct {
	time, packets uint32
	bytes         uint64
}

// The DF bit of outer headers, in the module's words.
const (
	dfClear = "clear"
	dfSet   = "set"
	dfCopy  = "copy"
)

// sa is a sad-entry.
type sa struct {
	path         string
	name         string
	dir          xfrm.Dir // the box's, or that of its policies
	reqid        uint32
	spi          uint32
	src, dst     netip.Addr
	mode         string
	esn          bool
	window       uint32
	sel          xfrm.Selector
	algorithm    algorithm
	key, authKey []byte // hexadecimal, as in the document
	hard, soft   limits
	df           string
	dscp         *dscpMap // nil: copied
	forDSCP      xfrm.DSCPs
	encap        *xfrm.Encap
	current      *current
}

// current is what an SA has carried.
type current struct {
	Bytes   uint64 `json:"bytes"`
	Packets uint64 `json:"packets"`
}

// dscpMap is the outer DSCP for each inner one.
type dscpMap [64]uint8

// copied is the map that changes nothing.
var copied = func() (m dscpMap) {
	for i := range m {
		m[i] = uint8(i)
	}
	return m
}()

func derivedSA(dst netip.Addr, spi uint32) string { return fmt.Sprintf("esp %s 0x%08x", dst, spi) }

func (s *sa) derived() string { return derivedSA(s.dst, s.spi) }

// settle drops what only an outbound SA has once the direction is known: an inbound one makes no
// outer header. DF is of IPv4 alone.
func (s *sa) settle() {
	inward := s.dir == xfrm.DirIn || s.mode != xfrm.ModeTunnel
	if inward || s.dst.Is6() {
		s.df = ""
	}
	if inward || s.dscp != nil && *s.dscp == copied {
		s.dscp = nil
	}
}

// same says whether an SA says what another one says, their keys apart.
func (s *sa) same(o *sa) bool {
	a, b := *s, *o
	for _, of := range []*sa{&a, &b} {
		of.path, of.name, of.key, of.authKey, of.current = "", "", nil, nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// predicate is the path of an entry of a list by its name.
func predicate(list, name string) string {
	if strings.Contains(name, "'") {
		return fmt.Sprintf("%s[name=%q]", list, name)
	}
	return fmt.Sprintf("%s[name='%s']", list, name)
}
