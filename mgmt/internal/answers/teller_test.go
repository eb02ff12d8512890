// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"sallyport/mgmt/internal/shares"
)

// TestTellExpired: traceroute's packets of one source are answered up to its share, those of
// another still are, and what ICMP must not answer is not.
func TestTellExpired(t *testing.T) {
	r := newRig(t, 0)
	now := time.Unix(1_700_000_000, 0)
	r.now = func() time.Time { return now }
	r.must("addr add 10.1.0.1/24 dev red")
	frames, told := make(chan Punted), make(chan []byte, 100)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- r.teller.TellFaults(ctx, frames, Expired, ToRed(func(frame []byte) error { told <- frame; return nil }))
	}()
	from := func(host byte) []byte {
		frame := asked(t, 7)
		frame[14+15] = host
		return frame
	}
	multicast, later, icmp := from(9), from(9), from(9)
	multicast[14+16], later[14+7], icmp[14+9], icmp[14+20] = 224, 1, 1, 11
	for _, frame := range [][]byte{multicast, later, icmp, from(255), asked(t, 7)[:20]} {
		frames <- Punted{Bytes: frame}
	}
	for range 100 {
		frames <- Punted{Bytes: from(9)}
	}
	// Of these one in a thousand has the same share, by its hash.
	others := []byte{5, 6, 7, 8}
	for _, host := range others {
		frames <- Punted{Bytes: from(host)}
	}
	// The one before is done then, and this one does not look at the time.
	frames <- Punted{Bytes: multicast}
	now = now.Add(time.Second)
	frames <- Punted{Bytes: from(9)}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	count := map[byte]int{}
	for len(told) > 0 {
		answer := <-told
		count[answer[14+19]]++
		if kind := answer[14+20]; kind != 11 || !bytes.Equal(answer[14+12:14+16], []byte{10, 1, 0, 1}) || !bytes.Equal(answer[14+28:14+28+20], from(answer[14+19])[14:34]) {
			t.Errorf("%x", answer)
		}
	}
	answered := 0
	for _, host := range others {
		answered += count[host]
	}
	if most := len(others); count[9] != shares.AtOnce+1 || answered < most-1 || answered > most || len(count) != answered+1 {
		t.Errorf("told: %v", count)
	}
}

// long is a frame of one flow whose packet has 1500 bytes and may not be cut.
func long(t *testing.T, sport uint16) []byte {
	frame := append(asked(t, sport), make([]byte, 14+1500)...)[:14+1500]
	binary.BigEndian.PutUint16(frame[14+2:], 1500)
	frame[14+6] = 0x40
	return frame
}

// TestTellSenders: a flow is told once a second how long its packets may be, and what may be cut is
// not spoken of.
func TestTellSenders(t *testing.T) {
	r := newRig(t, 0)
	now := time.Unix(1_700_000_000, 0)
	r.now = func() time.Time { return now }
	r.must(local, outbound, "addr add 10.1.0.1/24 dev red", "link set dev black mtu 1400",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel")
	frames, told := make(chan Punted), make(chan []byte, 10)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- r.teller.TellSenders(ctx, frames, ToRed(func(frame []byte) error { told <- frame; return nil }))
	}()
	cut := long(t, 9)
	cut[14+6] = 0
	var got []uint16
	tell := func() {
		t.Helper()
		answer := <-told
		quoted := answer[14+20+8:]
		got = append(got, binary.BigEndian.Uint16(quoted[20:]))
		// 1400 - 20 - 8 - 8 - 16 = 1348, less pad length and next header.
		if mtu := binary.BigEndian.Uint16(answer[14+20+6:]); mtu != 1346 || !bytes.Equal(answer[14+12:14+16], []byte{10, 1, 0, 1}) {
			t.Errorf("%x", answer)
		}
	}
	for _, frame := range [][]byte{long(t, 7), long(t, 7), cut, asked(t, 10), long(t, 8)} {
		frames <- Punted{Bytes: frame}
	}
	tell()
	tell()
	now = now.Add(AskAgain)
	frames <- Punted{Bytes: long(t, 7)}
	tell()
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if fmt.Sprint(got) != "[7 8 7]" {
		t.Errorf("told: %v", got)
	}
}

// TestTellForRed: senders behind black learn the MTU of red from the address there. About a packet
// that came protected no message goes where a policy would let it out in clear.
func TestTellForRed(t *testing.T) {
	r := newRig(t, 0)
	r.must(local, outbound, "addr add 10.1.0.1/24 dev red", "link set dev red mtu 1300",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel",
		"xfrm policy add src 10.1.0.0/16 dst 10.3.0.0/16 dir out priority 9 action allow")
	from := func(network byte, sport uint16) []byte {
		frame := long(t, sport)
		copy(frame[14+12:], []byte{10, network, 0, 9, 10, 1, 0, 9})
		return frame
	}
	cut, fits := from(2, 5), from(2, 6)
	cut[14+6] = 0
	binary.BigEndian.PutUint16(fits[14+2:], 1300)
	for name, want := range map[string]string{"tunnel": "[10.2.0.9 7]", "clear": "[10.2.0.9 7 10.3.0.9 8]"} {
		frames, told := make(chan Punted), make(chan []byte, 10)
		send := func(frame []byte) error { told <- frame; return nil }
		to := map[string]Way{"tunnel": ToTunnel(send), "clear": ToBlack(send)}[name]
		ctx, end := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- r.teller.TellSenders(ctx, frames, to) }()
		for _, frame := range [][]byte{from(2, 7), cut, fits, from(3, 8), from(2, 7)} {
			frames <- Punted{Bytes: frame}
		}
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
		var got []any
		for len(told) > 0 {
			answer := <-told
			got = append(got, netip.AddrFrom4([4]byte(answer[14+16:])), binary.BigEndian.Uint16(answer[14+28+20:]))
			if mtu := binary.BigEndian.Uint16(answer[14+20+6:]); mtu != 1300 || !bytes.Equal(answer[14+12:14+16], []byte{10, 1, 0, 1}) {
				t.Errorf("%s: %x", name, answer)
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: told %v, want %s", name, got, want)
		}
	}
}
