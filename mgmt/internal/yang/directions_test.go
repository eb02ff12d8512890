// SPDX-License-Identifier: Apache-2.0

package yang

import (
	"net/netip"
	"testing"

	"sallyport/mgmt/internal/xfrm"
)

// TestDirections: an SA finds the directions of its policies, and looks at two of them however many
// a tunnel has.
func TestDirections(t *testing.T) {
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	prefix := netip.MustParsePrefix
	tunnel := func(dir xfrm.Dir, reqid uint32) *policy {
		return &policy{dir: dir, action: protect, mode: xfrm.ModeTunnel, reqid: reqid, src: a, dst: b}
	}
	var policies []*policy
	for range 1000 {
		policies = append(policies, tunnel(xfrm.DirOut, 1), tunnel(xfrm.DirIn, 2), tunnel(xfrm.DirFwd, 2), tunnel(xfrm.DirIn, 3), tunnel(xfrm.DirOut, 3))
	}
	host := xfrm.Selector{Src: prefix("192.0.2.1/32"), Dst: prefix("192.0.2.0/24")}
	policies = append(policies,
		&policy{dir: xfrm.DirOut, action: protect, mode: xfrm.ModeTransport, reqid: 4, sel: host},
		&policy{dir: xfrm.DirOut, action: discard, mode: xfrm.ModeTunnel, reqid: 5, src: a, dst: b},
		&policy{dir: xfrm.DirIn, action: protect, mode: xfrm.ModeTunnel, src: b, dst: a},
	)
	d := directionsOf(policies)
	for of, some := range d {
		if len(some) > 2 {
			t.Errorf("%v: %d policies", of, len(some))
		}
	}
	for _, c := range []struct {
		sa      sa
		in, out bool
	}{
		{sa{mode: xfrm.ModeTunnel, reqid: 1, src: a, dst: b}, false, true},
		{sa{mode: xfrm.ModeTunnel, reqid: 2, src: a, dst: b}, true, false},
		{sa{mode: xfrm.ModeTunnel, reqid: 3, src: a, dst: b}, true, true},
		{sa{mode: xfrm.ModeTransport, reqid: 4, src: a, dst: b}, false, true},
		{sa{mode: xfrm.ModeTransport, reqid: 4, src: b, dst: b}, false, false},
		{sa{mode: xfrm.ModeTransport, reqid: 1, src: a, dst: b}, false, false},
		{sa{mode: xfrm.ModeTunnel, reqid: 5, src: a, dst: b}, false, false},
		{sa{mode: xfrm.ModeTunnel, reqid: 7, src: b, dst: a}, true, false},
	} {
		if in, out := d.of(&c.sa); in != c.in || out != c.out {
			t.Errorf("%+v: %v %v", c.sa, in, out)
		}
	}
}
