// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"encoding/hex"
	"encoding/json"
	"testing"

	"sallyport/mgmt/internal/events"
	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/punt"
	"sallyport/mgmt/internal/session"
	"sallyport/mgmt/internal/xfrm"
)

// The frames behind their MAC addresses, as scapy makes them.
const (
	frameUDP = "08004500001f00010000401166b90a0100090a02000900070009000b2751616263"
	// TCP in two VLANs, behind IP options
	frameTags = "88a800078100000808004600002c00010000400663b50a0100090a020009010101019c4001bb000000000000000050022000ddd20000"
	frameSCTP = "86dd60000000000c844020010db800010000000000000000000920010db80002000000000000000000090001000200000000fd988051"
	framePing = "08004500001c00010000400166cc0a0100090a0200090800f7ff00000000"
	// an echo reply behind hop-by-hop options
	frameHop      = "86dd600000000010004020010db800010000000000000000000920010db80002000000000000000000093a000104000000008100233600000000"
	frameRouting  = "86dd6000000000282b4020010db800010000000000000000000920010db80002000000000000000000093c0200000000000020010db80000000000000000000000011100010400000000000700090008a447"
	frameESP      = "08004500002400010000403266930a0100090a02000900000000000000000000000000000000"
	frameCut      = "08004500001600010000401166c20a0100090a0200096162"
	frameMobility = "86dd600000000008874020010db800010000000000000000000920010db80002000000000000000000093b00050000000000"
)

func framed(t *testing.T, behind string) []byte {
	t.Helper()
	frame, err := hex.DecodeString("020000000072020000000099" + behind)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// protecting has a policy for each IP version, no SA, and policies that come before and
// behind them.
const protecting = `addr add 192.0.2.1/24 dev black
xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 10 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel
xfrm policy add src 2001:db8:1::/48 dst 2001:db8:2::/48 dir out priority 10 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 8 mode tunnel
xfrm policy add src 10.0.0.0/8 dst 10.0.0.0/8 dir out priority 20 action allow
`

// TestAcquire: the event has the packet's selectors, and the reqid of the policy that the
// chip found.
func TestAcquire(t *testing.T) {
	const head4, head6 = `{"event":"acquire","src":"10.1.0.9","dst":"10.2.0.9","proto":`, `{"event":"acquire","src":"2001:db8:1::9","dst":"2001:db8:2::9","proto":`
	const tail4, tail6 = `,"reqid":7,"policy":"src 10.1.0.0/16 dst 10.2.0.0/16"`, `,"reqid":8,"policy":"src 2001:db8:1::/48 dst 2001:db8:2::/48"`
	r := newRig(t, fakebox.Small)
	r.Must(protecting)
	for _, test := range []struct{ frame, event, text string }{
		{frameUDP, head4 + `17` + tail4 + `,"sport":7,"dport":9}`, "Acquire src 10.1.0.9 dst 10.2.0.9 proto 17 sport 7 dport 9 policy src 10.1.0.0/16 dst 10.2.0.0/16 reqid 7"},
		{frameTags, head4 + `6` + tail4 + `,"sport":40000,"dport":443}`, ""},
		{framePing, head4 + `1` + tail4 + `,"type":8,"code":0}`, "Acquire src 10.1.0.9 dst 10.2.0.9 proto 1 type 8 code 0 policy src 10.1.0.0/16 dst 10.2.0.0/16 reqid 7"},
		{frameESP, head4 + `50` + tail4 + `}`, ""},
		{frameCut, head4 + `17` + tail4 + `}`, ""},
		{frameSCTP, head6 + `132` + tail6 + `,"sport":1,"dport":2}`, ""},
		{frameHop, head6 + `58` + tail6 + `,"type":129,"code":0}`, ""},
		{frameRouting, head6 + `17` + tail6 + `,"sport":7,"dport":9}`, ""},
		{frameMobility, head6 + `135` + tail6 + `,"type":5}`, ""},
	} {
		asking, event := r.asking(framed(t, test.frame))
		text, err := json.Marshal(event)
		if asking != session.AskedSA || err != nil || string(text) != test.event {
			t.Errorf("%d %s %v, want\n%s", asking, text, err, test.event)
		}
		if test.text != "" && event.String() != test.text {
			t.Errorf("%s, want\n%s", event, test.text)
		}
	}
}

func (r *rig) asking(frame []byte) (asking session.Asking, event events.Event) {
	r.T.Helper()
	err := r.Session(func(s *session.Session) (err error) {
		v, err := s.Look()
		if err != nil {
			return err
		}
		if packet, ok := punt.ReadPacket(frame, v.Skipped()); ok {
			asking, event = v.Acquire(packet)
		}
		return nil
	})
	if err != nil {
		r.T.Fatal(err)
	}
	return asking, event
}

// TestAcquireOfThePolicyThatDecides: the first by priority, at equality one flow before others,
// then the older one; headers that are not skipped are the protocol.
func TestAcquireOfThePolicyThatDecides(t *testing.T) {
	const before = "xfrm policy add src 10.1.0.9 dst 10.2.0.9 proto udp sport 7 dport 9 dir out priority "
	for _, test := range []struct {
		more  string
		want  session.Asking
		reqID uint32
	}{
		{"", session.AskedSA, 7},
		{before + "10 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 9 mode tunnel", session.AskedSA, 9},
		{before + "11 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 9 mode tunnel", session.AskedSA, 7},
		{before + "10 action punt", session.AskedPunt, 0},
		{before + "10 action reject", session.AskedReject, 0},
		{before + "10 action allow", session.AskedNothing, 0},
		{before + "9 action block", session.AskedNothing, 0},
		{"xfrm policy add src 10.1.0.9 dst 10.2.0.9 dir out priority 10 action punt", session.AskedSA, 7},
		{"xfrm policy add src 10.1.0.0-10.1.0.8,10.1.0.10-10.1.0.20 dst 10.2.0.9 dir out priority 9 action punt", session.AskedSA, 7},
		{"xfrm policy add src 10.1.0.3-10.1.0.20 dst 10.2.0.9 dir out priority 9 action punt", session.AskedPunt, 0},
		{"xfrm policy delete src 10.1.0.0/16 dst 10.2.0.0/16 dir out", session.AskedNothing, 0},
		{"xfrm policy add src 10.1.0.9 dst 10.2.0.9 proto udp sport opaque dport opaque dir out priority 9 action punt", session.AskedSA, 7},
	} {
		r := newRig(t, fakebox.Small)
		r.Must(protecting + test.more + "\n")
		if asking, event := r.asking(framed(t, frameUDP)); asking != test.want || event.ReqID != test.reqID {
			t.Errorf("%s: %d %v", test.more, asking, event)
		}
	}
	r := newRig(t, fakebox.Small)
	r.Must(protecting)
	skip, err := xfrm.Parse(xfrm.Words([]string{"skip-headers", "set", "hop,dst"}))
	if err == nil {
		err = r.Session(func(s *session.Session) error { return s.Run([]xfrm.Command{skip}) })
	}
	if err != nil {
		t.Fatal(err)
	}
	if asking, event := r.asking(framed(t, frameRouting)); asking != session.AskedSA || event.Proto != "43" || event.SPort != nil {
		t.Errorf("%d %v", asking, event)
	}
}

// TestAcquireBetweenHosts: in a bump in the wire a policy of networks asks for two hosts.
func TestAcquireBetweenHosts(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must("link add br0 type bridge\nlink set red master br0\nlink set black master br0\n" +
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl proto esp reqid 7 mode transport\n")
	for _, frame := range []string{frameUDP, framePing} {
		asking, event := r.asking(framed(t, frame))
		if asking != session.AskedSA || event.Src.String() != "10.1.0.9" || event.Dst.String() != "10.2.0.9" || event.ReqID != 7 {
			t.Errorf("%d %v", asking, event)
		}
	}
}

// TestAcquireOfNoPacket: a frame without a whole IP packet asks for nothing.
func TestAcquireOfNoPacket(t *testing.T) {
	r := newRig(t, fakebox.Small)
	r.Must(protecting)
	for _, whole := range []string{frameUDP, frameTags, frameHop, frameRouting} {
		frame := framed(t, whole)
		for length := range len(frame) {
			if asking, _ := r.asking(frame[:length]); asking != session.AskedNothing {
				t.Errorf("%d bytes of %s: %d", length, whole, asking)
			}
		}
	}
	arp := framed(t, "08060001080006040001020000000099c0000209000000000000c0000201")
	if asking, _ := r.asking(arp); asking != session.AskedNothing {
		t.Error("ARP asks for an SA")
	}
}
