// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sallyport/mgmt/internal/learned"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/shares"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/xfrm"
)

// TestTellBeforeBlack: the senders of packets in clear hear why these have no way on at black, by
// black's routes alone. The routes of red lead to the senders, in their VLANs. Linux hears of its
// own packets, and nothing leaves for a sender that is not at red, nor about broadcasts.
func TestTellBeforeBlack(t *testing.T) {
	r := newRig(t, 8)
	r.must(local, "addr add 10.1.0.1/24 dev red", "addr add 2001:db8:1::1/64 dev red", "neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev red", "neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev red",
		"link add link red name red.5 type vlan id 5", "neigh add 10.8.0.1 lladdr 02:00:00:00:00:05 dev red.5", "route add 10.8.0.0/16 via 10.8.0.1 dev red.5",
		"route add 10.4.0.0/14 via 10.1.0.2 dev red", "route add 10.6.0.0/16 dev black encap xfrm",
		"xfrm policy add src 10.0.0.0/8 dst 0.0.0.0/0 dir out priority 9 action allow")
	learn := func(dev string, kinds map[string]string) {
		t.Helper()
		var changes []learned.Change
		for network, kind := range kinds {
			p := netip.MustParsePrefix(network)
			changes = append(changes, learned.Change{Prefix: p, Route: &learned.Route{Prefix: p, Type: kind}})
		}
		if taken, err := r.session.LearnRoutes(dev, changes); !taken || err != nil {
			t.Fatal(taken, err)
		}
	}
	learn(xfrm.Black, map[string]string{"198.18.1.0/24": "blackhole", "198.18.2.0/24": "prohibit", "198.18.3.0/24": "unreachable"})
	learn(xfrm.Red, map[string]string{"198.18.4.0/24": "blackhole", "10.7.0.0/16": "blackhole"})
	same := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	const box, vlan = "02720a010001", "81000005"
	station := [4]byte{10, 1, 0, 9}
	for _, c := range []struct {
		from, to [4]byte
		station  string
		told     string
	}{
		{station, [4]byte{198, 18, 1, 9}, "", ""},
		{station, [4]byte{198, 18, 2, 9}, "020000000009", "030d"},
		{station, [4]byte{198, 18, 3, 9}, "020000000009", "0301"},
		{station, [4]byte{198, 18, 4, 9}, "020000000009", "0300"}, // that is red's
		{[4]byte{10, 5, 0, 9}, [4]byte{198, 18, 4, 9}, "020000000002", "0300"},
		{[4]byte{10, 8, 0, 9}, [4]byte{198, 18, 4, 9}, "020000000005", "0300"},
		{[4]byte{10, 1, 0, 1}, [4]byte{198, 18, 4, 9}, "linux", "0300"},
		{[4]byte{192, 0, 2, 1}, [4]byte{198, 18, 4, 9}, "linux", "0300"},
		{[4]byte{10, 1, 0, 77}, [4]byte{198, 18, 4, 9}, "", ""},  // not known
		{[4]byte{10, 6, 0, 9}, [4]byte{198, 18, 4, 9}, "", ""},   // behind a tunnel
		{[4]byte{10, 7, 0, 9}, [4]byte{198, 18, 4, 9}, "", ""},   // nowhere
		{[4]byte{10, 99, 0, 9}, [4]byte{198, 18, 4, 9}, "", ""},  // no route
		{[4]byte{10, 1, 0, 255}, [4]byte{198, 18, 4, 9}, "", ""}, // broadcast
		{station, [4]byte{192, 0, 2, 255}, "", ""},
		{station, [4]byte{192, 0, 2, 1}, "", ""}, // the box's own at black
		{[4]byte{10, 1, 0, 1}, [4]byte{192, 0, 2, 255}, "", ""},
		{station, [4]byte{224, 0, 0, 9}, "", ""},
	} {
		var red, linux, unknown []string
		r.teller.shares = shares.New()
		own := ToLinux(func(frame []byte) error {
			linux = append(linux, fmt.Sprintf("from %v: %x", frame[14+12:14+16], frame[14+20:14+22]))
			return nil
		})
		to := ToSource(own, ToStations(func(frame []byte) error {
			red = append(red, fmt.Sprintf("from %x to %x: %x", frame[6:12], frame[:6], frame[12:]))
			return nil
		}, func(station model.NextHop, _ []byte) { unknown = append(unknown, station.IP.String()) }))
		frame := testbox.Cleared(t, c.from, c.to, 7)
		if err := r.teller.TellFault(Punted{Bytes: frame}, NoRouteBlack, to); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint(c.from, " to ", c.to)
		switch {
		case c.told == "":
			same(name, fmt.Sprint(red, linux), "[] []")
		case c.station == "linux":
			same(name, fmt.Sprint(red, linux), fmt.Sprintf("[] [from %v: %s]", c.to[:], c.told))
		default:
			tags := map[bool]string{true: vlan}[c.from[1] == 8]
			want := fmt.Sprintf("from %s to %s: %s0800", box, c.station, tags)
			if len(red) != 1 || !strings.HasPrefix(red[0], want) {
				t.Errorf("%s: sent %q, want %q", name, red, want)
				continue
			}
			message, _ := hex.DecodeString(red[0][len(want):])
			if !bytes.Equal(message[12:20], slices.Concat([]byte{10, 1, 0, 1}, c.from[:])) || hex.EncodeToString(message[20:22]) != c.told || !bytes.Equal(message[28:], frame[14:14+31]) || len(linux) != 0 {
				t.Errorf("%s: %x", name, message)
			}
		}
		// Linux may know the station that the chips do not know, of this network alone.
		same(name, fmt.Sprint(unknown), map[bool]string{true: "[10.1.0.77]", false: "[]"}[c.from == [4]byte{10, 1, 0, 77}])
	}
}

// TestTellBeforeBlackV6: and of IPv6.
func TestTellBeforeBlackV6(t *testing.T) {
	r := newRig(t, 0)
	r.must(local, "addr add 2001:db8:1::1/64 dev red", "neigh add 2001:db8:1::9 lladdr 02:00:00:00:00:09 dev red")
	var red []string
	packet := "60000000000c113f20010db800010000000000000000000920010db80002000000000000000000010007829a000c5cf661626364"
	frame, _ := hex.DecodeString("0262c0000201" + "0262c0000201" + "86dd" + packet)
	err := r.teller.TellFault(Punted{Bytes: frame}, NoRouteBlack, ToSource(Way{}, ToStations(func(frame []byte) error {
		red = append(red, fmt.Sprintf("to %x: %x", frame[:6], frame[12:]))
		return nil
	}, nil)))
	if err != nil || len(red) != 1 || !strings.Contains(red[0], "to 020000000009: 86dd6000000000") || !strings.Contains(red[0], packet) {
		t.Errorf("%q %v", red, err)
	}
}
