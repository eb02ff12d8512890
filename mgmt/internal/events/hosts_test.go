// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"fmt"
	"net/netip"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// TestHosts: the hosts of both ports' events, of both IP versions, each once; 16 at a time.
func TestHosts(t *testing.T) {
	r := newRig(t, fakebox.Small)
	take := func() (hosts []model.NextHop) {
		t.Helper()
		if err := r.Session(func(s *session.Session) (err error) { hosts, err = s.Unresolved(); return err }); err != nil {
			t.Fatal(err)
		}
		return hosts
	}
	if got := take(); len(got) != 0 {
		t.Errorf("%v without events", got)
	}
	var want []model.NextHop
	addrs := []netip.Addr{netip.MustParseAddr("10.1.0.9"), netip.MustParseAddr("2001:db8:1:2:3:4:5:6"), netip.MustParseAddr("::10.1.0.9")}
	for _, host := range addrs {
		r.Fake.Unresolved(transport.Inner, host)
		want = append(want, model.NextHop{Dev: xfrm.Red, IP: host})
	}
	for _, host := range addrs[1:] {
		r.Fake.Unresolved(transport.Outer, host)
		want = append(want, model.NextHop{Dev: xfrm.Black, IP: host})
	}
	if got := take(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := take(); len(got) != 0 {
		t.Errorf("%v again", got)
	}
	// A host of a VRF has the number of its network, whatever its address.
	r.Fake.UnresolvedIn(transport.Inner, 1, addrs[0])
	r.Fake.UnresolvedIn(transport.Inner, 63, addrs[1])
	r.Fake.Unresolved(transport.Inner, addrs[2])
	apart := []model.NextHop{{Dev: xfrm.Red, IP: addrs[0], Network: 1}, {Dev: xfrm.Red, IP: addrs[1], Network: 63}, want[2]}
	if got := take(); fmt.Sprint(got) != fmt.Sprint(apart) {
		t.Errorf("%v, want %v", got, apart)
	}
	for n := range 20 {
		r.Fake.Unresolved(transport.Inner, netip.AddrFrom4([4]byte{10, 1, 0, byte(n)}))
	}
	if got := take(); len(got) != 16 {
		t.Errorf("%d of 16 events", len(got))
	}
}
