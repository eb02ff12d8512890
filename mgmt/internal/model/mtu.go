// SPDX-License-Identifier: Apache-2.0

package model

import "sallyport/mgmt/internal/xfrm"

// CheckMTU refuses a red port of IPv6 addresses whose MTU no link of IPv6 may have (RFC 8200, 5):
// senders never make their packets shorter than that, so longer ones would be lost. The error is at
// the line that gave the MTU or the address, whichever came last. A change of neither is not
// judged.
func (m *Model) CheckMTU() error {
	mtu := m.Mtu(xfrm.Red)
	if mtu >= xfrm.MinMTU6 || m.redMTU == nil {
		return nil
	}
	for _, a := range m.Addrs {
		if a.Dev == xfrm.Red && a.Prefix.Addr().Is6() {
			return xfrm.Errorf(*m.redMTU, "red has the IPv6 address %s, which needs an mtu of at least %d (RFC 8200, 5), but that of red is %d", a.Prefix, xfrm.MinMTU6, mtu)
		}
	}
	return nil
}
