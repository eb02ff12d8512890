// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/shares"
	"sallyport/mgmt/internal/xfrm"
)

// TestTellBehindTunnel: senders behind black hear that their packets have no TTL left or no way on,
// and why: as Linux says of its route's type, and nothing of a blackhole. About a packet that came
// protected no message goes where a policy would let it out in clear.
func TestTellBehindTunnel(t *testing.T) {
	r := newRig(t, 8)
	r.must(local, outbound, "addr add 10.1.0.1/24 dev red", "neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev red",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel",
		"xfrm policy add src 10.1.0.0/16 dst 10.3.0.0/16 dir out priority 9 action allow", "route add 10.1.9.0/24 via 10.1.0.2 dev red")
	var changes []learned.Change
	for network, kind := range map[string]string{"10.1.1.0/24": "blackhole", "10.1.2.0/24": "prohibit", "10.1.3.0/24": "unreachable", "10.1.8.0/22": "blackhole"} {
		p := netip.MustParsePrefix(network)
		changes = append(changes, learned.Change{Prefix: p, Route: &learned.Route{Prefix: p, Type: kind}})
	}
	if taken, err := r.session.LearnRoutes(xfrm.Red, changes); !taken || err != nil {
		t.Fatal(taken, err)
	}
	packet := func(network, to byte) []byte {
		frame := asked(t, uint16(to))
		copy(frame[14+12:], []byte{10, network, 0, 9, 10, 1, to, 9})
		return frame
	}
	for _, c := range []struct {
		fault Judge
		to    byte
		want  string
	}{
		{Expired, 4, "11 0"},
		{NoRoute, 1, ""},
		{NoRoute, 2, "3 13"},
		{NoRoute, 3, "3 1"},
		{NoRoute, 4, "3 0"}, // no route at all
		{NoRoute, 9, "3 0"}, // a longer one that was written, whose gateway does not answer
		{NoHost, 0, "3 1"},
	} {
		for name, networks := range map[string][]byte{"tunnel": {2}, "clear": {2, 3}} {
			var told [][]byte
			send := func(frame []byte) error { told = append(told, frame); return nil }
			to := map[string]Way{"tunnel": ToTunnel(send), "clear": ToBlack(send)}[name]
			r.teller.shares = shares.New()
			for _, network := range []byte{2, 3} {
				if err := r.teller.TellFault(Punted{Bytes: packet(network, c.to)}, c.fault, to); err != nil {
					t.Fatal(err)
				}
			}
			var got, want []string
			for _, answer := range told {
				got = append(got, fmt.Sprint(answer[14+17], answer[14+20], answer[14+21]))
				if !bytes.Equal(answer[14+12:14+16], []byte{10, 1, 0, 1}) || !bytes.Equal(answer[14+28+12:14+28+20], packet(answer[14+17], c.to)[14+12:14+20]) {
					t.Errorf("%s, to %d: %x", name, c.to, answer)
				}
			}
			if c.want != "" {
				for _, network := range networks {
					want = append(want, fmt.Sprint(network, " ", c.want))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, to %d: told %q, want %q", name, c.to, got, want)
			}
		}
	}
}

// TestTellBesideAChange: a message about a packet that came protected is not sent while the chips
// are being written, nor by a configuration that they no longer have; and rows that let packets
// pass in clear are written once the messages before have passed the rows of before.
func TestTellBesideAChange(t *testing.T) {
	r := newRig(t, 0)
	r.must(local, outbound, "addr add 10.1.0.1/24 dev red", "link set dev red mtu 1300",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel")
	before, err := r.session.View()
	if err != nil {
		t.Fatal(err)
	}
	leaving := make(chan struct{})
	changed := make(chan struct{})
	sent, err := r.session.SendBy(before, func() error {
		go func() {
			r.must("xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto icmp dir out priority 1 action allow")
			close(changed)
		}()
		// Further messages go until the chips are being written. The change waits for this one.
		for further := true; further; {
			further, _ = r.session.SendBy(before, func() error { return nil })
			time.Sleep(time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond)
		select {
		case <-changed:
			t.Error("the change did not wait")
		default:
		}
		close(leaving)
		return nil
	})
	if <-leaving; !sent || err != nil {
		t.Errorf("not sent: %v", err)
	}
	<-changed
	if again, err := r.session.SendBy(before, func() error { return nil }); again || err != nil {
		t.Errorf("sent by the configuration of before: %v", err)
	}
}
