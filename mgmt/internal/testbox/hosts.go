// SPDX-License-Identifier: Apache-2.0

package testbox

import (
	"net/netip"
	"slices"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// HostRow is the row of a host in a network, found as a packet finds it at the port of a chip; nil
// if there is none.
func (r *Rig) HostRow(c transport.Chip, network int, host netip.Addr) []uint32 {
	f, table, version := regs.HostRow, regs.InnerTableHost, 4
	if c == transport.Outer {
		table = regs.OuterTableBlackHost
	}
	if host.Is6() {
		version = 6
	}
	address := IpBytes(host.String(), 16)
	key := slices.Concat(address, Le16(uint16(version|network<<4)))
	rows := r.Fake.Table(c, table)
	for _, place := range places(1<<r.Fake.Get(c, regs.CommonCapabilityHostBits), key) {
		row := rows[place]
		if row != nil && f.Valid.Get(row) == 1 && slices.Equal(RowBytes(row)[:16], address) && f.Version.Get(row) == uint64(version) && f.Network.Get(row) == uint64(network) {
			return row
		}
	}
	return nil
}
