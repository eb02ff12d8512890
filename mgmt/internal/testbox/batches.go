// SPDX-License-Identifier: Apache-2.0

package testbox

import (
	"fmt"
	"strings"
)

func State(i int, way string) string {
	src, dst := "192.0.2.1", "192.0.2.2"
	if way == "in" {
		src, dst = dst, src
	}
	return fmt.Sprintf("xfrm state add src %s dst %s proto esp spi %d reqid %d mode tunnel dir %s replay-window 64 aead 'rfc4106(gcm(aes))' 0x%032x%08x 128\n", src, dst, 0x1000+i, i+1, way, i+1, i)
}

func FlowPolicy(i int) string {
	return fmt.Sprintf("xfrm policy add src 10.1.0.%d dst 10.2.0.%d proto udp sport 7 dport %d dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid %d mode tunnel\n", i%256, i/256, 1000+i, i+1)
}

// Encapsulated is the tunnel of session_test.go with both its SAs in UDP, through a NAT that moves
// the peer to port 61000.
var Encapsulated = strings.NewReplacer(
	"spi 0x1001 reqid 1", "spi 0x1001 encap espinudp 4500 61000 0.0.0.0 reqid 1",
	"spi 0x2001 reqid 1", "spi 0x2001 encap espinudp 61000 4500 10.9.8.7 reqid 1",
).Replace(Tunnel)

// Sa6 is an SA between two addresses.
func Sa6(src, dst string, spi, reqid int, rest string) string {
	return fmt.Sprintf("xfrm state add src %s dst %s proto esp spi 0x%x reqid %d mode tunnel replay-window 64 %s aead 'rfc4106(gcm(aes))' 0x%032x%08x 128\n", src, dst, spi, reqid, rest, spi, reqid)
}

const (
	OutTmpl = " tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel\n"
	InTmpl  = " tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel\n"
)

// Windowed is an inbound SA with a window, and the policy that gives it a selector row.
func Windowed(n, window int, rest string) string {
	src := fmt.Sprintf("198.51.100.%d", n)
	return WindowedState("add", n, window, rest) +
		fmt.Sprintf("xfrm policy add src 10.%d.0.0/16 dir fwd tmpl src %s dst 192.0.2.1 proto esp mode tunnel\n", n, src)
}

func WindowedState(verb string, n, window int, rest string) string {
	return fmt.Sprintf("xfrm state %s src 198.51.100.%d dst 192.0.2.1 proto esp spi %d mode tunnel dir in replay-window %d %s aead 'rfc4106(gcm(aes))' %s 128\n",
		verb, n, 0x500+n, window, rest, Key256)
}

const (
	Key128 = "0x000102030405060708090a0b0c0d0e0fa0a1a2a3"
	Key256 = "0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fb0b1b2b3"
)

const Tunnel = `
addr add 10.1.0.1/24 dev red
addr add 192.0.2.1/24 dev black
route add 10.2.0.0/16 via 192.0.2.2 dev black
neigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev black
neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev red
xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 1 mode tunnel replay-window 64 flag esn aead "rfc4106(gcm(aes))" ` + Key128 + ` 128
xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2001 reqid 1 mode tunnel replay-window 1024 flag esn aead "rfc4106(gcm(aes))" ` + Key256 + ` 128
xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 100 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel
xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir fwd priority 100 tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel
xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir in priority 100 tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 1 mode tunnel
xfrm policy add src 10.1.0.5/32 dst 10.2.0.7/32 proto udp sport 1000 dport 2000 dir out priority 50 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel
`

// Bridged makes a box a bump in the wire.
const Bridged = "link add br0 type bridge\nlink set red master br0\nlink set black master br0\nlink set br0 up\n"

// HostSA is an SA in transport mode between two hosts.
func HostSA(src, dst string, spi, reqid int, rest string) string {
	return fmt.Sprintf("xfrm state add src %s dst %s proto esp spi 0x%x reqid %d mode transport replay-window 64 %s aead 'rfc4106(gcm(aes))' 0x%032x%08x 128\n", src, dst, spi, reqid, rest, spi, reqid)
}

const (
	hostsTmpl = " tmpl src 10.1.0.1 dst 10.2.0.1 proto esp mode transport\n"
	AnyTmpl   = " tmpl src 0.0.0.0 dst 0.0.0.0 proto esp reqid 1\n"
)

// Hosts protects what 10.1.0.1 and 10.2.0.1 say to one another.
var Hosts = Bridged + HostSA("10.1.0.1", "10.2.0.1", 0x1001, 1, "") + HostSA("10.2.0.1", "10.1.0.1", 0x2001, 2, "") +
	"xfrm policy add src 10.1.0.1 dst 10.2.0.1 dir out priority 5" + hostsTmpl +
	"xfrm policy add src 10.2.0.1 dst 10.1.0.1 dir fwd" + strings.ReplaceAll(AnyTmpl, "reqid 1", "mode transport")

// Limited is an SA of either direction with limits.
func Limited(verb, dir string, spi int, limits string) string {
	return fmt.Sprintf("xfrm state %s src 192.0.2.%d dst 192.0.2.%d proto esp spi %d reqid %d mode tunnel replay-window 64 dir %s %s aead \"rfc4106(gcm(aes))\" 0x%016x0102030405060708090a0b0c 128\n",
		verb, spi, spi+1, spi, spi, dir, limits, spi+1)
}
