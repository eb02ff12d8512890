// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
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

const alloc = `{"id":9,"do":"alloc-spi","src":"192.0.2.2","dst":"192.0.2.1","min":3221225472,"max":3221225999}`

// TestNoise: words go to the pool and are taken off the chip, no SPI is given away before the
// health tests have passed or after one has failed, and each change is told once.
func TestNoise(t *testing.T) {
	r := newRig(t)
	client, monitor := r.dial(), r.dial()
	monitor.ask(`{"id":1,"do":"monitor"}`)
	status := func(fields ...regs.Field) {
		row := []uint32{0}
		for _, field := range fields {
			field.Put(row, 1)
		}
		r.fake.Set(transport.Crypto, regs.CryptoNoiseStatus, row[0])
	}
	if got := client.ask(alloc); !strings.Contains(got, `"ok":true`) {
		t.Errorf("a daemon that does not use the source: %s", got)
	}
	var pool bytes.Buffer
	r.daemon.UseNoise(&pool)
	r.poll()
	if got := client.ask(alloc); !strings.Contains(got, "has not passed its health tests") {
		t.Errorf("before the tests have passed: %s", got)
	}

	r.fake.Set(transport.Crypto, regs.CryptoNoiseWord, 0x0a0b0c0d)
	status(regs.CryptoNoiseStatusGood, regs.CryptoNoiseStatusWords)
	r.poll()
	if !bytes.Equal(pool.Bytes(), []byte{0x0d, 0x0c, 0x0b, 0x0a}) {
		t.Errorf("the pool got %x", pool.Bytes())
	}
	if got := r.fake.Get(transport.Crypto, regs.CryptoNoiseControl); got != 1 {
		t.Errorf("NOISE_CONTROL is 0x%x: the word was not taken", got)
	}
	if got := client.ask(alloc); !strings.Contains(got, `"ok":true`) {
		t.Errorf("of a good source: %s", got)
	}

	status(regs.CryptoNoiseStatusProportionFailed, regs.CryptoNoiseStatusWords)
	r.poll()
	if got := r.fake.Get(transport.Crypto, regs.CryptoNoiseControl); got != 2 || pool.Len() != 4 {
		t.Errorf("NOISE_CONTROL is 0x%x and the pool has %d bytes: the tests begin anew and nothing is taken", got, pool.Len())
	}
	if got := client.ask(alloc); !strings.Contains(got, "has not passed its health tests") {
		t.Errorf("after a failure: %s", got)
	}
	status() // the tests begin anew, and fail again
	r.poll()
	status(regs.CryptoNoiseStatusRepetitionFailed)
	r.poll()
	status(regs.CryptoNoiseStatusGood)
	r.poll()
	for _, want := range []string{`{"event":"noise","ok":true}`, `{"event":"noise","ok":false}`, `{"event":"noise","ok":true}`} {
		if got := monitor.next(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestSelfTest: each lane that leaves service or returns is told once, the metrics show it, and a
// client reads the result and starts a run.
func TestSelfTest(t *testing.T) {
	r := newRig(t)
	client, monitor := r.dial(), r.dial()
	monitor.ask(`{"id":1,"do":"monitor"}`)
	failed := func(encrypt, decrypt uint64) {
		row := []uint32{0}
		regs.CryptoSelfTestFailedEncrypt.Put(row, encrypt)
		regs.CryptoSelfTestFailedDecrypt.Put(row, decrypt)
		r.fake.Set(transport.Crypto, regs.CryptoSelfTestFailed, row[0])
	}
	status := []uint32{0}
	regs.CryptoSelfTestStatusRuns.Put(status, 7)
	r.fake.Set(transport.Crypto, regs.CryptoSelfTestStatus, status[0])
	r.fake.Set(transport.Crypto, regs.CryptoSelfTestCycles, 30000)
	r.poll()

	failed(0b0100, 0b0001)
	r.poll()
	r.poll()
	for _, want := range []string{
		`{"event":"selftest","path":"encrypt","lane":2,"ok":false}`,
		`{"event":"selftest","path":"decrypt","lane":0,"ok":false}`,
	} {
		if got := monitor.next(); got != want {
			t.Errorf("monitor: %s instead of %s", got, want)
		}
	}
	text := r.scrape()
	for _, want := range []string{
		`sallyport_lane_in_service{lane="2",path="encrypt"} 0`, `sallyport_lane_in_service{lane="0",path="encrypt"} 1`,
		`sallyport_lane_in_service{lane="0",path="decrypt"} 0`, `sallyport_selftest_runs_total 7`, `sallyport_selftest_seconds 0.0001`,
		`sallyport_events_total{event="selftest"} 2`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	want := `"running":false,"runs":7,"cycles":30000,"seconds":0.0001,"lanes":4,"encrypt":[2],"decrypt":[0]`
	if got := client.ask(`{"id":2,"do":"selftest"}`); !strings.Contains(got, want) || r.fake.Get(transport.Crypto, regs.CryptoSelfTestControl) != 0 {
		t.Errorf("selftest: %s", got)
	}
	if got := client.ask(`{"id":3,"do":"selftest","run":true}`); !strings.Contains(got, want) || r.fake.Get(transport.Crypto, regs.CryptoSelfTestControl) != 1 {
		t.Errorf("selftest run: %s", got)
	}

	// The last lanes of a path, and one that is back.
	failed(0b1111, 0)
	r.poll()
	for _, lane := range []string{"0", "1", "3"} {
		if got := monitor.next(); got != `{"event":"selftest","path":"encrypt","lane":`+lane+`,"ok":false}` {
			t.Errorf("monitor: %s", got)
		}
	}
	if got := monitor.next(); got != `{"event":"selftest","path":"decrypt","lane":0,"ok":true}` {
		t.Errorf("monitor: %s", got)
	}
	if !strings.Contains(r.log.String(), "nothing crosses it") {
		t.Error("the log does not say that a path is closed")
	}
}
