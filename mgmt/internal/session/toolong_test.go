// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// TestTooLong: the sender learns the MTU of the row that punts its packet, from the red port's
// address; no sender is told where ICMP must be silent.
func TestTooLong(t *testing.T) {
	const gcm = `aead "rfc4106(gcm(aes))" 0x` + "000102030405060708090a0b0c0d0e0f10111213 128"
	r := newRig(t, fakebox.Small)
	r.Must(`addr add 192.0.2.1/24 dev black
addr add 10.1.0.1/24 dev red
addr add fe80::1/64 dev red
link set dev black mtu 1500
route add 10.3.0.0/16 via 192.0.2.9 dev black mtu 1400
route add 192.0.2.3/32 via 192.0.2.9 dev black mtu 1300
xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 1 mode tunnel for-dscp 46 encap espinudp 4500 4500 0.0.0.0 ` + gcm + `
xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1002 reqid 1 mode tunnel ` + strings.Replace(gcm, "0x00", "0x01", 1) + `
xfrm state add src 192.0.2.1 dst 192.0.2.3 proto esp spi 0x1003 reqid 3 mode tunnel ` + strings.Replace(gcm, "0x00", "0x02", 1) + `
xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 1 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel
xfrm policy add src 10.1.0.0/16 dst 10.3.0.0/16 dir out priority 2 action allow
xfrm policy add src 10.1.0.0/16 dst 10.4.0.0/16 dir out priority 3 tmpl src 192.0.2.1 dst 192.0.2.3 proto esp reqid 3 mode tunnel
xfrm policy add src 10.1.0.0/16 dst 10.5.0.0/16 dir out priority 4 action block
xfrm policy add src 2001:db8:1::/48 dst 2001:db8:2::/48 dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel
`)
	told := func(frame string) string {
		t.Helper()
		out := ""
		err := r.Session(func(s *session.Session) error {
			head, _, _ := punt.SplitFrame(framed(t, frame))
			packet, ok := punt.ReadPacket(framed(t, frame), xfrm.AllExtensionHeaders)
			if !ok || !punt.Answerable(packet, true) {
				return nil
			}
			v, err := s.Look()
			if err != nil {
				return err
			}
			if from, mtu := v.Router(packet), v.TooLong(packet); from.IsValid() && mtu != 0 {
				out = fmt.Sprintf("%x %s %d", head[12:], from, mtu)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	to := func(network string) string { return strings.Replace(frameUDP, "0a020009", network, 1) }
	row := func(index int) uint64 {
		return regs.RuleRow.Mtu.Get(r.Fake.Table(transport.Inner, regs.InnerTableRule)[index])
	}
	for network, want := range map[string]uint64{"0a020009": 1438, "0a030009": 1400, "0a040009": 1246} {
		if got := told(to(network)); got != fmt.Sprintf("0800 10.1.0.1 %d", want) {
			t.Errorf("%s: %q, want %d", network, got, want)
		}
	}
	if rows := [3]uint64{row(0), row(1), row(2)}; rows != [3]uint64{1438, 1400, 1246} {
		t.Errorf("the rows have %d", rows)
	}
	if got := told(strings.Replace(frameTags, "0a020009", "0a030009", 1)); got != "88a80007810000080800 10.1.0.1 1400" {
		t.Errorf("in VLANs: %q", got)
	}
	for what, frame := range map[string]string{
		"a policy to discard":               to("0a050009"),
		"no policy":                         to("0a060009"),
		"a group":                           to("e0000001"),
		"everybody":                         to("ffffffff"),
		"from a group":                      strings.Replace(frameUDP, "0a010009", "e0010009", 1),
		"from a network's broadcast":        strings.Replace(frameUDP, "0a010009", "0a0100ff", 1),
		"an error of ICMP":                  strings.Replace(framePing, "0800f7ff", "0301f7ff", 1),
		"IPv6, and red has no such address": frameSCTP,
		"no IP":                             "0806" + "0001080006040001",
	} {
		if got := told(frame); got != "" {
			t.Errorf("%s: %q", what, got)
		}
	}
	if got := told(framePing); got != "0800 10.1.0.1 1438" {
		t.Errorf("a ping: %q", got)
	}
	r.Must("addr add 2001:db8:1::1/64 dev red")
	if got := told(frameSCTP); got != "86dd 2001:db8:1::1 1438" {
		t.Errorf("IPv6: %q", got)
	}
}
