// SPDX-License-Identifier: Apache-2.0

// Package peer connects the two boxes of a pair (docs/decisions/0008): HTTP over mutual TLS 1.3,
// where each box knows the other by its certificate.
//
// A status shows that a box is alive, and needs no lock of the box. Numbers show how far its SAs
// have come. No key of an SA crosses the link.
package peer

import (
	"time"

	"sallyport/mgmt/internal/xfrm"
)

// Side tells the two boxes apart. Each has half of the IVs of every key.
type Side string

// The sides.
const (
	SideA Side = "a"
	SideB Side = "b"
)

// IVMask is what the box of a side XORs its sequence numbers with for IVs.
func (s Side) IVMask() uint64 {
	if s == SideB {
		return xfrm.MaxNumber + 1
	}
	return 0
}

// Status is what a box says of itself.
type Status struct {
	Side   Side `json:"side"`
	Active bool `json:"active"` // its ports are open
	// Yields says that the box does not take the place, as long as the other can.
	Yields bool `json:"yields"`
	// Problems are why the other should rather be active, a sentence each.
	Problems []string `json:"problems"`
}

// Numbers are those of a box's SAs.
type Numbers struct {
	// Age is how long before the answer their reading began.
	Age     time.Duration `json:"age_ns"`
	Numbers []Number      `json:"numbers"`
}

// Number is the last sequence number that an outbound SA of the box used, or the highest that an
// inbound one received.
type Number struct {
	xfrm.ID
	Dir    xfrm.Dir `json:"dir"`
	Number uint64   `json:"number"`
}

// Paths of the requests. The number is the protocol's version.
const (
	pathStatus  = "/pair/1/status"  // GET: a Status
	pathNumbers = "/pair/1/numbers" // GET: Numbers
	pathYield   = "/pair/1/yield"   // POST: the box is to give its place away
	pathClaim   = "/pair/1/claim"   // POST: the box is to leave the place to the one that asks
)

// mostAnswer is the longest answer: the numbers of 64 Ki SAs each way.
const mostAnswer = 64 << 20
