// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"strings"
	"testing"
)

// FuzzBatch: any text is commands, or one sentence with a place; a key is in no sentence.
func FuzzBatch(f *testing.F) {
	for _, seed := range []string{
		"xfrm state add " + sa + gcm, "xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16,10.4.0.0-10.4.0.9 proto udp sport 5-9 dir out " + tmpl,
		"x s a " + sa + `auth-trunc "hmac(sha256)" 0x00 128 enc "cbc(aes)" 0x01 limit time-hard 5 encap espinudp 4500 4500 ::`,
		"addr add 192.0.2.1/24 dev black\nlink add link black name v type vlan id 7\n", "route add default via inet6 fe80::1 dev red mtu 1400 # c",
		"neigh add 1.2.3.4 lladdr 02:00:00:00:00:01 dev red", "xfrm policy add proto ipv6-icmp type 0 code opaque dir in action block", "link set red master br0 \\\n down", "'quoted", "qos set dscp ef,7 none",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, parse := range []func(string, []byte) ([]Command, error){ParseBatch, ParseConfig} {
			commands, err := parse("file", text)
			if err == nil {
				continue
			}
			if len(commands) != 0 {
				t.Error("there are commands beside an error")
			}
			if reason := err.Error(); !strings.HasPrefix(reason, "file:") || strings.Contains(reason, "\n") || strings.Contains(reason, key128) {
				t.Errorf("%q", reason)
			}
		}
	})
}
