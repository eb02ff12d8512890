// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"maps"
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/regs"
)

// PeerKey gives the lookup key of a row of peers.
func PeerKey(r Row) string { return addressKey(r, regs.PeerRow.Version) }

// peerRow is an address that IKE of peers comes from.
func peerRow(peer netip.Addr) Row {
	f, row := regs.PeerRow, newRow(regs.PeerRow.Bits)
	putAddress(row, f.Addr, f.Version, peer)
	f.Valid.Put(row, 1)
	return row
}

func (c *compiler) peer(addr netip.Addr) {
	c.out.Peers = append(c.out.Peers, Placed{Owner: "the peer " + addr.String(), Row: peerRow(addr), Optional: true})
}

// peers gives the far end of each SA and policy a row.
func (c *compiler) peers() error {
	for addr := range c.m.Peers() {
		c.peer(addr)
	}
	return nil
}

// partPeers gives those of new SAs and policies a row, lets go of those that no SA and no policy
// has any more, and gives the rows of these to peers that had found no room.
func (c *compiler) partPeers() error {
	var came, left []netip.Addr
	for _, sa := range c.m.Changes.Added() {
		came = append(came, sa.FarEnd())
	}
	for _, p := range c.m.Changes.AddedPolicies() {
		came = append(came, p.FarEnd())
	}
	for _, sa := range c.m.Changes.Removed() {
		left = append(left, sa.FarEnd())
	}
	for _, p := range c.m.Changes.RemovedPolicies() {
		left = append(left, p.FarEnd())
	}
	came, left = each(came), each(left)
	for _, addr := range came {
		c.peer(addr)
	}
	for _, addr := range left {
		if !c.m.IsPeer(addr) {
			c.out.Part.Peers = append(c.out.Part.Peers, PeerKey(peerRow(addr)))
		}
	}
	c.waiting(len(c.out.Part.Peers), came)
	return nil
}

// waiting gives peers that have found no room, as many as rows become free.
func (c *compiler) waiting(free int, came []netip.Addr) {
	if free == 0 {
		return
	}
	taken := map[string]bool{}
	for _, addr := range came {
		taken[PeerKey(peerRow(addr))] = true
	}
	for _, key := range c.out.Part.Peers {
		taken[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(c.standing.roomless)) {
		if free > 0 && !taken[key] {
			c.out.Peers = append(c.out.Peers, c.standing.roomless[key])
			free--
		}
	}
}

// RoomlessAfter are the peers without a row, by their keys, behind a part of a change whose own
// ones without are `roomless`.
func (s *Standing) RoomlessAfter(t *Target, roomless []Placed) map[string]Placed {
	out := maps.Clone(s.roomless)
	for _, key := range t.Part.Peers {
		delete(out, key)
	}
	for _, peer := range t.Peers {
		delete(out, PeerKey(peer.Row))
	}
	maps.Copy(out, byPeerKey(roomless))
	return out
}

func byPeerKey(peers []Placed) map[string]Placed {
	out := map[string]Placed{}
	for _, peer := range peers {
		out[PeerKey(peer.Row)] = peer
	}
	return out
}

// each gives the valid ones of some addresses, each once.
func each(addrs []netip.Addr) []netip.Addr {
	slices.SortFunc(addrs, netip.Addr.Compare)
	return slices.DeleteFunc(slices.Compact(addrs), func(addr netip.Addr) bool { return !addr.IsValid() })
}
