// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/peer"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// TestHostOfCards: with cards, too, the kernel answers ARP for the box, by the mailbox of the card
// that has the port, while the daemon drives the chips.
func TestHostOfCards(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	r.must("addr add 192.0.2.1/24 dev black", "addr add 10.1.0.1/24 dev red")
	shells := r.fake.AddShells()
	frames, err := transport.OpenMailbox(r.daemon.session.Box.Transport(), r.daemon.log)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.daemon.OpenHost(frames, "sp-red", "sp-black", "sp-vpn", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	relayed := make(chan error, 1)
	go func() { relayed <- r.daemon.Relay(ctx) }()
	for port, side := range []struct {
		chip                         transport.Chip
		device, cidr, ask, mac, tell string
	}{
		{transport.Inner, "sp-red", "10.1.0.1/24", "020000000102 0a010002 000000000000 0a010001", "02720a010001", "02720a010001 0a010001 020000000102 0a010002"},
		{transport.Outer, "sp-black", "192.0.2.1/24", "020000000202 c0000202 000000000000 c0000201", "0262c0000201", "0262c0000201 c0000201 020000000202 c0000202"},
	} {
		addr, err := netlink.ParseAddr(side.cidr)
		if err == nil {
			err = netlink.AddrAdd(r.link(side.device), addr)
		}
		if err != nil {
			t.Fatal(err)
		}
		mailbox := shells[side.chip].Mailbox
		ask := unhex(t, "ffffffffffff "+side.ask[:12]+" 0806"+arpAsk+side.ask)
		header := []byte{byte(port), regs.PuntReasonArp, regs.PuntGroupArp, 0, 0, byte(len(ask)), 15: 0}
		r.fake.Behind(func() { mailbox.Punt(append(header, ask...)) })
		want := string(unhex(t, side.ask[:12]+side.mac+"0806"+arpTell+side.tell))
		r.until("the answer at "+side.device, func() bool { return r.injected(mailbox, want) })
	}
	r.must("link set dev black address 02:00:00:00:00:99")
	cancel()
	if err := <-relayed; err != nil {
		t.Error(err)
	}
	if strings.Contains(r.log.String(), "is lost") {
		t.Error(r.log)
	}
}

// injected says whether a card got a frame to inject that begins so.
func (r *rig) injected(mailbox *fakebox.Mailbox, want string) (is bool) {
	r.fake.Behind(func() {
		for _, frame := range mailbox.Injected {
			is = is || strings.HasPrefix(string(frame), want)
		}
	})
	return is
}

// TestPairOfCards: a box of a pair that takes over tells hosts by the mailboxes.
func TestPairOfCards(t *testing.T) {
	h := newHalf(t, peer.SideA)
	h.must("addr add 192.0.2.1/24 dev black", "addr add 10.1.0.1/24 dev red")
	shells := h.fake.AddShells()
	frames, err := transport.OpenMailbox(h.daemon.session.Box.Transport(), h.daemon.log)
	if err != nil {
		t.Fatal(err)
	}
	h.daemon.pair.Send = frames.Send
	h.later(4 * time.Second)
	h.is(true)
	for chip, source := range map[transport.Chip]string{transport.Inner: "ffffffffffff 02720a010001 0806 " + arpAsk, transport.Outer: "ffffffffffff 0262c0000201 0806 " + arpAsk} {
		if !h.injected(shells[chip].Mailbox, string(unhex(t, source))) {
			t.Errorf("the %s card announces nothing: %x", chip, shells[chip].Mailbox.Injected)
		}
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	out, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
