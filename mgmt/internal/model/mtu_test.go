// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
)

// TestRedMTU: red keeps to an MTU of its own; with IPv6 addresses to none below that of IPv6, and
// the old one stays.
func TestRedMTU(t *testing.T) {
	const v6 = "addr add 2001:db8:1::1/64 dev red\n"
	for _, test := range []struct {
		name, before, text, reason string
		mtu                        uint32
	}{
		{"none", "", "addr add 10.1.0.1/24 dev red", "", 9582},
		{"IPv4", "", "addr add 10.1.0.1/24 dev red\nlink set dev red mtu 68", "", 68},
		{"IPv6", "", v6 + "link set dev red mtu 1280", "", 1280},
		{"black's is another's", "", v6 + "link set dev black mtu 1279\nlink set dev red mtu 1500", "", 1500},
		{"too short", v6 + "link set dev red mtu 1500", "link set dev red mtu 1279", "f:1: red has the IPv6 address 2001:db8:1::1/64, which needs an mtu of at least 1280 (RFC 8200, 5), but that of red is 1279", 1500},
		{"an address that comes later", "link set dev red mtu 1279", "addr add 10.1.0.1/24 dev red\n" + v6, "f:2: red has the IPv6 address 2001:db8:1::1/64, which needs an mtu of at least 1280", 1279},
		{"of one link", "link set dev red mtu 1279", "addr add fe80::1/64 dev red", "f:1: red has the IPv6 address fe80::1/64", 1279},
		{"both at once", v6, "addr del 2001:db8:1::1/64 dev red\nlink set dev red mtu 576", "", 576},
		{"no MTU at all", "", "link set dev red mtu 67", "f:1: mtu must be 68 to 9582, not 67", 9582},
	} {
		r := newRig(t, fakebox.Small)
		if test.before != "" {
			r.Must(test.before)
		}
		before, writes := r.Snapshot(), r.Fake.Writes
		err := r.Run(test.text)
		if test.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		} else if err == nil || !strings.HasPrefix(err.Error(), test.reason) || !session.IsInput(err) || r.Snapshot() != before || r.Fake.Writes != writes {
			t.Errorf("%s: %v, %d writes", test.name, err, r.Fake.Writes-writes)
		}
		if got := r.Fake.Get(transport.Inner, regs.InnerPortMtu); got != test.mtu {
			t.Errorf("%s: PORT_MTU is %d", test.name, got)
		}
	}
}
