// SPDX-License-Identifier: Apache-2.0

package vrf_test

import (
	"fmt"
	"testing"

	"sallyport/mgmt/internal/testbox"
)

// TestInterfaceInEachVRF: all VRFs that there may be have an interface with routes of both IP
// versions, and equal selectors. They come one after the other, or at once as a saved configuration
// does, and the packets of each leave by its own SA.
func TestInterfaceInEachVRF(t *testing.T) {
	const all = 63
	for _, atOnce := range []bool{false, true} {
		sizes := testbox.WithRules(256)
		sizes.PrefixBits, sizes.PolicyBits, sizes.SABits, sizes.SADBits = 9, 9, 8, 10
		h := testbox.Hold(t, sizes)
		text := black
		for n := 1; n <= all; n++ {
			text += customerOf(fmt.Sprint("v", n), n, n) + fmt.Sprintf("route add 2001:db8:2::/48 dev ipsec%d\n", n) + installed(n)
			if !atOnce || n == all {
				h.Must(text)
				text = ""
			}
		}
		h.Restart()
		m := modelOf(h)
		for n := 1; n <= all; n++ {
			h.Want(fmt.Sprintf("VLAN %d", n), goes(h.Rig, m, n, "10.2.0.9"), fmt.Sprintf("%x", 0x1000+n))
		}
		h.Want("no VLAN", goes(h.Rig, m, 0, "10.2.0.9"), "none")
	}
}
