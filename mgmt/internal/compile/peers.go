// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/regs"
)

// PeerKey gives the lookup key of a row of peers.
func PeerKey(r Row) string { return r.low(16) + string([]byte{byte(regs.PeerRow.Version.Get(r))}) }

// peerRow is an address that IKE of peers comes from.
func peerRow(peer netip.Addr) Row {
	f, row := regs.PeerRow, newRow(regs.PeerRow.Bits)
	f.Addr.PutBytes(row, addrBytes(peer))
	f.Version.Put(row, 4)
	if peer.Is6() {
		f.Version.Put(row, 6)
	}
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

// partPeers gives those of new SAs and policies a row, and lets go of those that no SA and no
// policy has any more.
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
	for _, addr := range each(came) {
		c.peer(addr)
	}
	for _, addr := range each(left) {
		if !c.m.IsPeer(addr) {
			c.out.Part.Peers = append(c.out.Part.Peers, PeerKey(peerRow(addr)))
		}
	}
	return nil
}

// each gives the valid ones of some addresses, each once.
func each(addrs []netip.Addr) []netip.Addr {
	slices.SortFunc(addrs, netip.Addr.Compare)
	return slices.DeleteFunc(slices.Compact(addrs), func(addr netip.Addr) bool { return !addr.IsValid() })
}
