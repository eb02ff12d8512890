// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"sallyport/mgmt/internal/session"
)

// TestTellRejected: the sender of a packet that a policy rejects is told, also while its flow asks
// often; what a policy blocks or punts is not spoken of, and nothing of it comes to Linux.
func TestTellRejected(t *testing.T) {
	r := newRig(t, 0)
	r.must("addr add 10.1.0.1/24 dev red", "xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto udp sport 7 dir out action reject",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 9 action block")
	frames, told := make(chan Punted), make(chan []byte, 100)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- r.teller.AnswerAsking(ctx, frames, nil, ToRed(func(frame []byte) error { told <- frame; return nil }))
	}()
	for _, frame := range [][]byte{asked(t, 7), asked(t, 8), asked(t, 7), asked(t, 9)} {
		frames <- Punted{Bytes: frame}
	}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(told) != 2 {
		t.Errorf("%d told", len(told))
	}
	for len(told) > 0 {
		if answer := <-told; !bytes.Equal(answer[14+20:14+22], []byte{3, 13}) || !bytes.HasPrefix(asked(t, 7)[14:], answer[14+28:]) {
			t.Errorf("%x", answer)
		}
	}
}

// TestAcquireInVRF: a punted packet is of the network that its header names. It asks for an SA by
// the policy of the VRF, with a VLAN or without, and so does one of another VRF with the same
// addresses at once; packets to the box's own address there are Linux's.
func TestAcquireInVRF(t *testing.T) {
	r := newRig(t, 0)
	lines := []string{local, "addr add 10.2.0.1/24 dev red"}
	for id, name := range map[int]string{7: "blue", 8: "green"} {
		lines = append(lines, fmt.Sprintf("link add link red name red.%d type vlan id %[1]d", id), fmt.Sprintf("link add %s type vrf table %d", name, id),
			fmt.Sprintf("link set red.%d master %s", id, name),
			fmt.Sprintf("xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dev %s dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid %d mode tunnel", name, id))
	}
	lines = append(lines, "addr add 10.2.0.9/32 dev red.8", "xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/24 dev blue dir in priority 5 tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 7 mode tunnel")
	r.must(lines...)
	r.must("link add hub type vrf table 9", "xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dev hub dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 9 mode tunnel")
	v, err := r.session.Look()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		vrf    string
		asking session.Asking
		reqid  uint32
	}{{"blue", session.AskedSA, 7}, {"green", session.AskedPunt, 0}, {"hub", session.AskedSA, 9}, {"", session.AskedNothing, 0}} {
		asking, event, err := r.teller.acquire(Punted{asked(t, 7), v.Model().NetworkOf(test.vrf)})
		if err != nil || asking != test.asking || event.ReqID != test.reqid {
			t.Errorf("%q: asking %d for reqid %d, %v", test.vrf, asking, event.ReqID, err)
		}
	}
	if asking, _, err := r.teller.acquire(Punted{asked(t, 7), 62}); err != nil || asking != session.AskedNothing {
		t.Errorf("a network without a VRF: asking %d, %v", asking, err)
	}
}
