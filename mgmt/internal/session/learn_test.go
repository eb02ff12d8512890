// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"sallyport/mgmt/internal/cuckoo"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

func (r *rig) wanted() string {
	r.T.Helper()
	var wanted []model.NextHop
	err := r.Session(func(s *session.Session) (err error) {
		v, err := s.Look()
		if err == nil {
			wanted, _ = v.NextHops()
		}
		return err
	})
	if err != nil {
		r.T.Fatal(err)
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(wanted), "[]"), "} {", "}, {")
}

func (r *rig) learn(learned map[model.NextHop]xfrm.MAC) {
	r.T.Helper()
	if err := r.Session(func(s *session.Session) error { return s.Learn(learned) }); err != nil {
		r.T.Fatal(err)
	}
}

// macOf is the address in the next-hop row that the tunnel row of the first outbound SA names.
func (r *rig) macOf() xfrm.MAC {
	row := r.Fake.Table(transport.Outer, regs.OuterTableTunnel)[0]
	hop := r.Fake.Table(transport.Outer, regs.OuterTableNextHop)[int(regs.TunnelRow.NextHop.Get(row))]
	var mac xfrm.MAC
	if len(hop) > 0 {
		copy(mac[:], testbox.RowBytes(hop))
	}
	return mac
}

const outSA = `addr add 192.0.2.1/24 dev black
xfrm state add src 192.0.2.1 dst %s proto esp spi 9 reqid 1 mode tunnel dir out aead "rfc4106(gcm(aes))" 0x000102030405060708090a0b0c0d0e0f10111213 128
`

// TestWantedNextHops: gateways, and hosts on the network; not those that were written, are in a
// VLAN, or are nowhere.
func TestWantedNextHops(t *testing.T) {
	for _, test := range []struct{ peer, more, want string }{
		{"192.0.2.9", "", "{black 192.0.2.9 0}"},
		{"198.51.100.9", "", ""},
		{"198.51.100.9", "route add default via 192.0.2.254 dev black", "{black 192.0.2.254 0}"},
		{"192.0.2.9", "neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev black", ""},
		{"198.51.100.9", "link add link black name v7 type vlan id 7\nroute add default via 203.0.113.1 dev v7", ""},
		{"192.0.2.9", "addr add 10.1.0.1/24 dev red\nxfrm policy add src 192.0.2.0/24 dst 10.1.0.5 dir in action allow\nxfrm policy add src 192.0.2.0/24 dst 10.1.0.0/24 dir in action allow", "{black 192.0.2.9 0}, {red 10.1.0.5 0}"},
	} {
		r := newRig(t, fakebox.Small)
		r.Must(fmt.Sprintf(outSA, test.peer) + test.more + "\n")
		if got := r.wanted(); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.peer, test.more, got, test.want)
		}
	}
}

// TestLearned: a learned address becomes the next hop's and the host's, and survives other changes.
// A written address and a newly learned one replace it.
func TestLearned(t *testing.T) {
	peer := model.NextHop{Dev: xfrm.Black, IP: netip.MustParseAddr("192.0.2.9")}
	first, second, written := xfrm.MAC{2, 0, 0, 0, 0, 1}, xfrm.MAC{2, 0, 0, 0, 0, 2}, xfrm.MAC{2, 0, 0, 0, 0, 3}
	r := newRig(t, fakebox.Small)
	r.Must(fmt.Sprintf(outSA, "192.0.2.9"))
	check := func(want xfrm.MAC) {
		t.Helper()
		if got := r.macOf(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	check(xfrm.MAC{})
	r.learn(map[model.NextHop]xfrm.MAC{peer: first})
	check(first)
	r.learn(map[model.NextHop]xfrm.MAC{peer: first})
	if len(r.Fake.Log) != 0 {
		t.Errorf("nothing new, and %d rows were written", len(r.Fake.Log))
	}
	r.learn(map[model.NextHop]xfrm.MAC{peer: second})
	check(second)
	if len(r.Fake.Log) != 2 { // the next hop of its tunnel, and the host that clear packets go to
		t.Errorf("%d rows were written", len(r.Fake.Log))
	}
	r.Must("xfrm policy add src 10.1.0.0/16 dst 192.0.2.0/24 dir out action allow\n")
	check(second)
	// One host on a network that a policy is for is not the way to the whole network.
	if rows := r.Fake.Table(transport.Inner, regs.InnerTableRule); regs.RuleRow.Sa.Get(rows[0]) != 0 {
		t.Errorf("next hop %d", regs.RuleRow.Sa.Get(rows[0]))
	}
	r.Must("neigh add 192.0.2.9 lladdr 02:00:00:00:00:03 dev black\n")
	check(written)
	r.Must("neigh show\n")
	if r.Out != "192.0.2.9 dev black lladdr 02:00:00:00:00:03\n" {
		t.Error(r.Out)
	}
	r.Must("neigh del 192.0.2.9 dev black\n")
	check(second)
	r.Must("neigh show\n")
	if r.Out != "192.0.2.9 dev black lladdr 02:00:00:00:00:02 nud reachable\n" {
		t.Error(r.Out)
	}
	r.Must("neigh replace " + strings.TrimSpace(r.Out) + "\n") // as printed
	check(second)
	r.learn(nil)
	check(second)
}

// TestHosts: a host straight behind red gets a row as soon as it is learned, follows its Ethernet
// address and goes; no other row is written for that. Of more than fit, those stay that were there.
func TestHosts(t *testing.T) {
	host := func(n int) model.NextHop {
		return model.NextHop{Dev: xfrm.Red, IP: netip.AddrFrom4([4]byte{10, 1, 0, byte(n)})}
	}
	r := newRig(t, fakebox.Small)
	r.Must(fmt.Sprintf(outSA, "192.0.2.9") + "addr add 10.1.0.1/24 dev red\n")
	macs := func() map[byte]byte {
		out := map[byte]byte{}
		for _, row := range r.Fake.Table(transport.Inner, regs.InnerTableHost) {
			if regs.HostRow.Valid.Get(row) == 1 {
				bytes := testbox.RowBytes(row)
				out[bytes[0]] = bytes[18+5]
			}
		}
		return out
	}
	step := func(learned map[model.NextHop]xfrm.MAC, writes int, want map[byte]byte) {
		t.Helper()
		r.learn(learned)
		if got := macs(); !maps.Equal(got, want) || len(r.Fake.Log) != writes {
			t.Errorf("%v, want %v; %d rows were written", got, want, len(r.Fake.Log))
		}
	}
	step(map[model.NextHop]xfrm.MAC{host(8): {2, 0, 0, 0, 0, 8}, host(9): {2, 0, 0, 0, 0, 9}}, 2, map[byte]byte{8: 8, 9: 9})
	step(map[model.NextHop]xfrm.MAC{host(8): {2, 0, 0, 0, 0, 8}, host(9): {2, 0, 0, 0, 0, 99}}, 1, map[byte]byte{8: 8, 9: 99})
	step(map[model.NextHop]xfrm.MAC{host(8): {2, 0, 0, 0, 0, 8}}, 1, map[byte]byte{8: 8})
	r.Must("neigh add 10.1.0.8 lladdr 02:00:00:00:00:77 dev red\n")
	if got := macs(); got[8] != 0x77 {
		t.Errorf("%v: not the address that was written", got)
	}
	r.Must("neigh del 10.1.0.8 dev red\n")
	if got := macs(); got[8] != 8 {
		t.Errorf("%v: not the address that was learned", got)
	}
	// Not of another network, nor the box's own; and with the address of red they all go.
	r.learn(map[model.NextHop]xfrm.MAC{host(8): {2, 0, 0, 0, 0, 8}, {Dev: xfrm.Red, IP: netip.MustParseAddr("10.2.0.9")}: {2}})
	if got := macs(); !maps.Equal(got, map[byte]byte{8: 8}) {
		t.Errorf("%v", got)
	}
	r.Must("addr del 10.1.0.1/24 dev red\n")
	if got := macs(); len(got) != 0 {
		t.Errorf("%v are left", got)
	}
	r.Must("addr add 10.1.0.1/24 dev red\n")

	// 64 rows: the ones there were stay, some find no room, and no change fails for them.
	all := map[model.NextHop]xfrm.MAC{}
	for n := range 30 {
		all[host(100+n)] = xfrm.MAC{2, 0, 0, 0, 0, byte(100 + n)}
	}
	r.learn(all)
	before := macs()
	if len(before) != len(all) {
		t.Errorf("%d of %d hosts have rows", len(before), len(all))
	}
	for n := range 90 {
		all[host(10+n)] = xfrm.MAC{2, 0, 0, 0, 0, byte(10 + n)}
	}
	r.learn(all)
	after := macs()
	for last, mac := range before {
		if after[last] != mac {
			t.Errorf("the host %d is gone", last)
		}
	}
	if len(after) < 60 || len(after) > 64 || !strings.Contains(r.Notes, "packets to them are dropped (the host table has 64 rows)") {
		t.Errorf("%d hosts; %s", len(after), r.Notes)
	}
}

// TestCrowdedHosts: hosts that share all their places leave one of them without a row, and none of
// those that come behind it.
func TestCrowdedHosts(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(fmt.Sprintf(outSA, "192.0.2.9") + "addr add 10.0.0.1/8 dev red\n")
	host := func(n uint32) model.NextHop {
		return model.NextHop{Dev: xfrm.Red, IP: netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})}
	}
	places := func(n uint32) [cuckoo.Ways]int {
		key := make([]byte, 18)
		binary.LittleEndian.PutUint32(key, 10<<24|n)
		key[16] = 4
		return cuckoo.Places(string(key), 64/cuckoo.Ways)
	}
	all := map[model.NextHop]xfrm.MAC{}
	for n := uint32(2); len(all) <= cuckoo.Ways; n++ {
		if places(n) == places(2) {
			all[host(n)] = xfrm.MAC{2, 0, 0, 0, 0, byte(len(all))}
		}
	}
	const behind = 20
	for n := range uint32(behind) {
		all[host(1<<24-100+n)] = xfrm.MAC{2, 0, 0, 0, 1, byte(n)}
	}
	r.learn(all)
	rows := 0
	for _, row := range r.Fake.Table(transport.Inner, regs.InnerTableHost) {
		rows += int(regs.HostRow.Valid.Get(row))
	}
	if rows != cuckoo.Ways+behind || !strings.Contains(r.Notes, "learned hosts without room: 1; packets to them are dropped") {
		t.Errorf("%d rows of %d hosts; %s", rows, len(all), r.Notes)
	}
}

// TestLearnedHostsWithoutRoom: more of them than rows go to the default, and no change fails
// for them.
func TestLearnedHostsWithoutRoom(t *testing.T) {
	sizes := fakebox.Small
	sizes.NextHops = 2
	r := newRig(t, sizes)
	r.Must(fmt.Sprintf(outSA, "192.0.2.9") + "xfrm policy add src 10.1.0.0/16 dst 192.0.2.10 dir out action allow\n")
	r.learn(map[model.NextHop]xfrm.MAC{
		{Dev: xfrm.Black, IP: netip.MustParseAddr("192.0.2.9")}:  {2, 0, 0, 0, 0, 9},
		{Dev: xfrm.Black, IP: netip.MustParseAddr("192.0.2.10")}: {2, 0, 0, 0, 0, 10},
	})
	if !strings.Contains(r.Notes, "was learned: the table of black has 2 rows, and what goes there goes to the default") {
		t.Error(r.Notes)
	}
}
