// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// peers are the addresses in the rows of the table, sorted.
func (r *rig) peers() string {
	var out []string
	for _, row := range r.Fake.Table(transport.Outer, regs.OuterTablePeer) {
		if regs.PeerRow.Valid.Get(row) == 0 {
			continue
		}
		bytes := testbox.RowBytes(row)[:16]
		slices.Reverse(bytes)
		addr := netip.AddrFrom16([16]byte(bytes))
		if regs.PeerRow.Version.Get(row) == 4 {
			addr = netip.AddrFrom4([4]byte(bytes[12:]))
		}
		out = append(out, addr.String())
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestPeers: the far end of each SA and of each policy has a row, as long as either is there; no
// change of others writes it.
func TestPeers(t *testing.T) {
	r := newRig(t, fakebox.Small)
	step := func(text string, writes int, want string) {
		t.Helper()
		r.Must(text)
		r.Want(text, r.peers(), want)
		if wrote := len(r.Fake.LogOf(regs.OuterTablePeer)); wrote != writes {
			t.Errorf("%s: %d rows were written, want %d", text, wrote, writes)
		}
	}
	out := func(far string, spi int) string { return testbox.Sa6("192.0.2.1", far, spi, spi, "dir out") }
	in := func(far string, spi int) string { return testbox.Sa6(far, "192.0.2.1", spi, spi, "dir in") }
	del := func(src, dst string, spi int) string {
		return fmt.Sprintf("xfrm state delete src %s dst %s proto esp spi 0x%x\n", src, dst, spi)
	}
	policy := func(verb, far, tmpl string) string {
		return fmt.Sprintf("xfrm policy %s src 10.0.0.0/8 dst %s dir out %s\n", verb, far, tmpl)
	}
	const both = "192.0.2.2 2001:db8:b::2"
	step("addr add 192.0.2.1/24 dev black\naddr add 2001:db8:b::1/64 dev black\n", 0, "")
	step(out("192.0.2.2", 1), 1, "192.0.2.2")
	step(in("192.0.2.2", 2)+in("192.0.2.2", 3), 0, "192.0.2.2")
	step(testbox.Sa6("2001:db8:b::2", "2001:db8:b::1", 4, 4, "dir in"), 1, both)
	step(del("192.0.2.1", "192.0.2.2", 1)+del("192.0.2.2", "192.0.2.1", 2), 0, both)
	step(del("192.0.2.2", "192.0.2.1", 3), 1, "2001:db8:b::2")
	// A policy that waits for IKE to set up its SA names its peer.
	step(policy("add", "10.2.0.0/16", "tmpl src 192.0.2.1 dst 192.0.2.9 proto esp reqid 9 mode tunnel"), 1, "192.0.2.9 2001:db8:b::2")
	step(out("192.0.2.9", 9), 0, "192.0.2.9 2001:db8:b::2")
	step(policy("delete", "10.2.0.0/16", ""), 0, "192.0.2.9 2001:db8:b::2")
	step(del("192.0.2.1", "192.0.2.9", 9), 1, "2001:db8:b::2")
	// The whole is computed anew as its parts were.
	step(policy("update", "10.2.0.0/16", "tmpl src 192.0.2.1 dst 192.0.2.8 proto esp reqid 9 mode tunnel"), 1, "192.0.2.8 2001:db8:b::2")
	step(policy("update", "10.2.0.0/16", "tmpl src 192.0.2.1 dst 192.0.2.7 proto esp reqid 9 mode tunnel"), 2, "192.0.2.7 2001:db8:b::2")
	step("addr add 10.1.0.1/24 dev red\n", 0, "192.0.2.7 2001:db8:b::2")
	step("xfrm state flush\nxfrm policy flush\n", 2, "")
}

// TestPeersWithoutRoom: more peers than rows are policed as other addresses, and no change fails
// for them.
func TestPeersWithoutRoom(t *testing.T) {
	sizes := fakebox.Small
	sizes.PeerBits = 3
	r := newRig(t, sizes)
	var text strings.Builder
	for n := range 9 {
		text.WriteString(testbox.Sa6(fmt.Sprintf("198.51.100.%d", n), "192.0.2.1", n+1, n+1, "dir in"))
	}
	r.Must(text.String())
	rows := len(strings.Fields(r.peers()))
	if left := 9 - rows; left < 1 || !strings.Contains(r.Notes, fmt.Sprintf("peers without room: %d; their IKE is policed as that of other addresses (the peer table has 8 rows)", left)) {
		t.Errorf("%d rows; %s", rows, r.Notes)
	}
}

// crowded is a box with a row less than its nine peers, and the number of the one without.
func crowded(t *testing.T, load func(r *rig, text string)) (r *rig, without int) {
	t.Helper()
	sizes := fakebox.Small
	sizes.PeerBits = 3
	r = newRig(t, sizes)
	var text strings.Builder
	for n := range 9 {
		text.WriteString(arrives(n))
	}
	load(r, text.String())
	have := strings.Fields(r.peers())
	if len(have) != 8 {
		t.Fatalf("%d of 8 rows are used", len(have))
	}
	for n := range 9 {
		if !slices.Contains(have, fmt.Sprintf("198.51.100.%d", n)) {
			without = n
		}
	}
	return r, without
}

func arrives(n int) string {
	return testbox.Sa6(fmt.Sprintf("198.51.100.%d", n), "192.0.2.1", n+1, n+1, "dir in")
}

func leaves(n int) string {
	return fmt.Sprintf("xfrm state delete src 198.51.100.%d dst 192.0.2.1 proto esp spi 0x%x\n", n, n+1)
}

// held runs batches in one session that holds the box, as the daemon does.
func (r *rig) held(batches ...string) {
	r.T.Helper()
	err := r.Session(func(s *session.Session) error {
		if err := s.Hold(r.T.Context()); err != nil {
			return err
		}
		for _, text := range batches {
			commands, err := xfrm.ParseBatch("f", []byte(text))
			if err != nil {
				return err
			}
			if err := s.Run(commands); err != nil {
				return err
			}
		}
		return s.Release()
	})
	if err != nil {
		r.T.Fatal(err)
	}
}

// TestPeersReplacedInAFullTable: a change that frees rows has room for those that come with it, and
// for one that had found none, be it planned as a whole or as a part.
func TestPeersReplacedInAFullTable(t *testing.T) {
	for _, how := range []string{"whole", "part"} {
		r, without := crowded(t, (*rig).Must)
		change := ""
		for n := range 9 {
			if n != without {
				change += leaves(n)
			}
		}
		change += arrives(10)
		if how == "whole" {
			r.Must("addr add 192.0.2.1/24 dev black\n" + change)
		} else {
			r.held("link set red up\n", change)
		}
		r.Want(how, r.peers(), fmt.Sprintf("198.51.100.10 198.51.100.%d", without))
	}
}

// TestRoomForAPeerLater: a peer that found no room gets the first row that is free, of a change of
// other peers too.
func TestRoomForAPeerLater(t *testing.T) {
	r, without := crowded(t, func(r *rig, text string) { r.held(text) })
	batches := []string{"link set red up\n"}
	for n := range 9 {
		if n != without {
			batches = append(batches, leaves(n))
		}
	}
	r.held(batches...)
	r.Want("the last one", r.peers(), fmt.Sprintf("198.51.100.%d", without))
}
