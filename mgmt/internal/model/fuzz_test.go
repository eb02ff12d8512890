// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"strings"
	"testing"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// FuzzConfig: a configuration that a box takes is shown in lines that make the same one again.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"addr add 192.0.2.1/24 dev black\nlink add link black name v type vlan protocol 802.1ad id 7\naddr add fd00::1/64 dev v\nroute add default via fd00::9",
		"link add br0 type bridge\nlink set red master br0\nlink set black master br0 mtu 1400 address 02:00:00:00:00:01 down",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16,10.4.0.0-10.4.0.9 proto udp sport 5-9 dir out flag icmp fragment-first tmpl src 1.2.3.4 dst 4.3.2.1 proto esp spi 7 mode tunnel",
		"xfrm policy add proto ipv6-icmp type opaque code opaque dir in action punt priority 7\nxfrm policy add src ::/0 proto mobility-header type 5 dir fwd",
		"punt set all rate unlimited burst 7\nreassembly set timeout 1500ms per-source 5\nqos set dscp none\nskip-headers set none\nnext-hop default dev red lladdr 02:00:00:00:00:01",
	} {
		f.Add([]byte(seed))
	}
	lines := func(t *testing.T, text string) (string, error) {
		commands, err := xfrm.ParseConfig("file", []byte(text))
		if err != nil {
			return "", err
		}
		m := model.NewModel()
		if err := m.Replace(commands); err != nil {
			return "", err
		}
		return strings.Join(m.Lines(), "\n"), nil
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := lines(t, string(text))
		if err != nil {
			return
		}
		if twice, err := lines(t, once); err != nil || twice != once {
			t.Errorf("%v\n%s\nbecomes\n%s", err, once, twice)
		}
	})
}
