// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// alone runs a test again, as a process in a network namespace of its own, and says whether this is
// that process.
func alone(t *testing.T) bool {
	t.Helper()
	const inside = "SALLYPORT_TEST_ALONE"
	if os.Getenv(inside) != "" {
		return true
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil || os.Geteuid() != 0 {
		t.Skip("TAP devices need root and /dev/net/tun")
	}
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), inside+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	switch text, err := again.CombinedOutput(); {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EINVAL): // the latter of qemu-user
		t.Skipf("network namespaces cannot be made here: %v", err)
	case err != nil:
		t.Errorf("%v\n%s", err, text)
	}
	return false
}

// engine is the simulator's end of the frames of a box.
type engine struct {
	t     *testing.T
	conn  net.Conn
	arp   chan string // the injected frames: port, and the frame from its EtherType on
	vlan  chan string // those of ARP with a tag: the port, and the frame from its tag on
	own   chan []byte // those by policy
	red   chan []byte // those of IPv4 at red, of others than the box
	told  chan []byte // those of ICMP from the box there
	black chan []byte // those of IPv4 at black, of others than the box
}

// host makes Linux the host behind the ports of a rig, with the box's addresses.
func (r *rig) host(interfaces ...string) *engine {
	r.t.Helper()
	path := filepath.Join(r.dir, "box0.frames")
	listener, err := net.Listen("unixpacket", path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer listener.Close()
	frames, err := transport.DialFrames(path)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.daemon.OpenHost(frames, "sp-red", "sp-black", "sp-vpn", interfaces); err != nil {
		r.t.Fatal(err)
	}
	for device, address := range map[string]string{"sp-red": "10.1.0.1/24", "sp-black": "192.0.2.1/24"} {
		addr, err := netlink.ParseAddr(address)
		if err == nil {
			err = netlink.AddrAdd(r.link(device), addr)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	conn, err := listener.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	e := &engine{r.t, conn, make(chan string, 1000), make(chan string, 1000), make(chan []byte, 1000), make(chan []byte, 1000), make(chan []byte, 1000), make(chan []byte, 1000)}
	go e.read()
	ctx, cancel := context.WithCancel(context.Background())
	relayed := make(chan error, 1)
	go func() { relayed <- r.daemon.Relay(ctx) }()
	end := r.end
	r.end = func() {
		cancel()
		if err := <-relayed; err != nil {
			r.t.Errorf("Relay: %v", err)
		}
		end()
	}
	return e
}

func (r *rig) link(device string) netlink.Link {
	r.t.Helper()
	link, err := netlink.LinkByName(device)
	if err != nil {
		r.t.Fatal(err)
	}
	return link
}

func (e *engine) read() {
	for message := make([]byte, 10_000); ; {
		size, err := e.conn.Read(message)
		if err != nil {
			return
		}
		if message[0] == transport.ByPolicy {
			e.own <- bytes.Clone(message[1:size])
		}
		at := 13
		if bytes.Equal(message[13:15], []byte{0x81, 0}) {
			at += 4
		}
		if message[0] == transport.PortRed && bytes.Equal(message[at:at+2], []byte{8, 0}) && !bytes.Equal(message[at+14:at+18], []byte{10, 1, 0, 1}) {
			e.red <- bytes.Clone(message[1:size])
		}
		if ip := message[at+2:]; bytes.Equal(message[at:at+2], []byte{8, 0}) {
			switch {
			case message[0] == transport.PortBlack && !bytes.Equal(ip[12:16], []byte{192, 0, 2, 1}):
				e.black <- bytes.Clone(message[1:size])
			case message[0] == transport.PortRed && bytes.Equal(ip[12:16], []byte{10, 1, 0, 1}) && ip[9] == 1:
				e.told <- bytes.Clone(message[1:size])
			}
		}
		if text := hex.EncodeToString(message[:size]); size > 15 && text[26:30] == "0806" {
			e.arp <- text[:2] + " " + text[30:]
		} else if size > 19 && text[26:30] == "8100" && text[34:38] == "0806" {
			e.vlan <- text[:2] + " " + text[30:]
		}
	}
}

// punt is a frame that a chip punts.
func (e *engine) punt(port, reason byte, frame string) {
	e.t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(frame, " ", ""))
	if err != nil {
		e.t.Fatal(err)
	}
	e.message(port, reason, 0, data)
}

// message is the same; `flags`: 1 of Linux's own, 2 for another tunnel, and four times the network.
func (e *engine) message(port, reason, flags byte, data []byte) {
	e.t.Helper()
	header := append([]byte{port, reason, 0, flags, byte(len(data) >> 8), byte(len(data)), 0, 0}, make([]byte, 8)...)
	if _, err := e.conn.Write(append(header, data...)); err != nil {
		e.t.Fatal(err)
	}
}

// expect waits for an ARP packet among those that are injected.
func (e *engine) expect(want string) {
	e.t.Helper()
	want = want[:3] + strings.ReplaceAll(want[3:], " ", "")
	for end := time.After(20 * time.Second); ; {
		select {
		case got := <-e.arp:
			if got == want {
				return
			}
		case <-end:
			e.t.Fatalf("no %s", want)
		}
	}
}

// until waits for something that comes of what others do.
func (r *rig) until(what string, is func() bool) {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%s: never\n%s", what, r.log)
		}
	}
}

// hasHop says whether a next-hop row of black has an address.
func (r *rig) hasHop(mac string) bool {
	r.daemon.mu.Lock()
	defer r.daemon.mu.Unlock()
	for _, row := range r.fake.Table(transport.Outer, regs.OuterTableNextHop) {
		if fmt.Sprintf("%08x%04x", bits.ReverseBytes32(row[0]), bits.ReverseBytes16(uint16(row[1]))) == mac && regs.NextHopRow.Valid.Get(row) == 1 {
			return true
		}
	}
	return false
}

const (
	arpAsk, arpTell = "0001 0800 06 04 0001 ", "0001 0800 06 04 0002 "
	boxBlack        = "0262c0000201 c0000201 "
)

// TestHost: the kernel answers ARP for the box; a gateway that the box needs is looked for, and its
// address is the next hop's, unless somebody wrote another. What waits for an SA is an event and
// comes to no device. All of it is there again when the daemon is.
func TestHost(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	r.must("addr add 192.0.2.1/24 dev black", "addr add 10.1.0.1/24 dev red", "route add 198.51.100.0/24 via 192.0.2.254 dev black",
		"xfrm policy add src 10.1.0.0/16 dst 198.51.100.0/24 dir out priority 9 action allow",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 5 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel")
	e := r.host()
	for port, device := range []string{"sp-red", "sp-black"} {
		want := map[int]string{0: "02:72:0a:01:00:01", 1: "02:62:c0:00:02:01"}[port]
		if got := r.link(device).Attrs().HardwareAddr.String(); got != want {
			t.Errorf("%s has %s, want %s", device, got, want)
		}
	}
	e.punt(transport.PortBlack, regs.PuntReasonArp, "ffffffffffff 020000000202 0806"+arpAsk+"020000000202 c0000202 000000000000 c0000201")
	e.expect("01 " + arpTell + boxBlack + "020000000202 c0000202")

	e.expect("01 " + arpAsk + boxBlack + "000000000000 c00002fe")
	e.punt(transport.PortBlack, regs.PuntReasonArp, "0262c0000201 0200000002fe 0806"+arpTell+"0200000002fe c00002fe 0262c0000201 c0000201")
	r.until("the gateway's address", func() bool { return r.hasHop("0200000002fe") })
	r.same("neigh show", r.get("command", `,"words":["neigh","show"]`)["output"], "192.0.2.2 dev black lladdr 02:00:00:00:02:02 nud reachable\n192.0.2.254 dev black lladdr 02:00:00:00:02:fe nud reachable\n")

	// Linux learns another address, and forgets: the chips have the last known address.
	gateway := &netlink.Neigh{LinkIndex: r.link("sp-black").Attrs().Index, State: netlink.NUD_STALE, IP: net.IPv4(192, 0, 2, 254), HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 3, 254}}
	if err := netlink.NeighSet(gateway); err != nil {
		t.Fatal(err)
	}
	r.until("the new address", func() bool { return r.hasHop("0200000003fe") })
	if err := netlink.NeighDel(gateway); err != nil {
		t.Fatal(err)
	}
	e.expect("01 " + arpAsk + boxBlack + "000000000000 c00002fe")
	if !r.hasHop("0200000003fe") {
		t.Error("a host that Linux has forgotten is gone")
	}
	// Written addresses count.
	r.must("neigh add 192.0.2.254 lladdr 02:00:00:00:04:fe dev black")
	if !r.hasHop("0200000004fe") || r.hasHop("0200000003fe") {
		t.Error("the address that was written is not the next hop's")
	}
	r.must("neigh del 192.0.2.254 dev black")
	e.expect("01 " + arpAsk + boxBlack + "000000000000 c00002fe")
	e.punt(transport.PortBlack, regs.PuntReasonArp, "0262c0000201 0200000005fe 0806"+arpTell+"0200000005fe c00002fe 0262c0000201 c0000201")
	r.until("the address that was asked for", func() bool { return r.hasHop("0200000005fe") })

	monitor := r.dial()
	monitor.ask(`{"id":1,"do":"monitor"}`)
	e.punt(transport.PortRed, regs.PuntReasonPolicy, "02720a010001 020000000102 0800 4500001f00010000401166b90a0100090a02000900070009000b2751616263")
	want := `{"event":"acquire","src":"10.1.0.9","dst":"10.2.0.9","proto":17,"reqid":7,"policy":"src 10.1.0.0/16 dst 10.2.0.0/16","sport":7,"dport":9}`
	if got := monitor.next(); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	if packets := r.link("sp-red").Attrs().Statistics.RxPackets; packets != 0 {
		t.Errorf("%d frames came in at sp-red", packets)
	}
	// ESP without an SA is told, and is Linux's too.
	before := r.link("sp-black").Attrs().Statistics.RxPackets
	e.punt(transport.PortBlack, regs.PuntReasonUnknownSpi, "0262c0000201 020000000099 0800450000340001000040327c8ccb007109c00002010000babe00000007"+strings.Repeat("78", 24))
	want = `{"event":"unknown_spi","src":"203.0.113.9","dst":"192.0.2.1","proto":"esp","spi":47806,"dir":"in","reason":"unknown_spi","seq":7,"count":1,"time":"`
	if got := monitor.next(); !strings.HasPrefix(got, want) {
		t.Errorf("%s, want\n%s", got, want)
	}
	r.until("the stray packet at sp-black", func() bool { return r.link("sp-black").Attrs().Statistics.RxPackets > before })
	// A port's new address is its device's.
	r.must("link set dev black address 02:00:00:00:00:99")
	if got := r.link("sp-black").Attrs().HardwareAddr.String(); got != "02:00:00:00:00:99" {
		t.Error(got)
	}
	r.must("link set dev black mtu 1400")
	if !strings.Contains(r.log.String(), "ip link set sp-black mtu N") {
		t.Error(r.log)
	}

	// A daemon that comes again has no devices yet, and leaves the chips as they are.
	r.restart()
	if _, err := netlink.LinkByName("sp-black"); err == nil {
		t.Error("a device outlives its daemon")
	}
	r.host()
	if !r.daemon.Adopted() || !r.hasHop("0200000005fe") {
		t.Error("what was learned is gone")
	}
}

// hasHost says whether a row of red's hosts has an address.
func (r *rig) hasHost(mac string) bool {
	return r.hasHostOn(transport.Inner, regs.InnerTableHost, mac)
}

func (r *rig) hasHostOn(c transport.Chip, table regs.Table, mac string) bool {
	r.daemon.mu.Lock()
	defer r.daemon.mu.Unlock()
	f := regs.HostRow
	for _, row := range r.fake.Table(c, table) {
		if f.Valid.Get(row) == 1 && fmt.Sprintf("%012x", bits.ReverseBytes64(f.Mac.Get(row))>>16) == mac {
			return true
		}
	}
	return false
}

// TestUnresolved: a host that packets went to is looked for once, and gets a row when it answers.
// The row follows its address, and goes when it is deleted or does not answer. Nothing is
// looked for elsewhere.
func TestUnresolved(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	r.must("addr add 192.0.2.1/24 dev black", "addr add 10.1.0.1/24 dev red")
	e := r.host()
	poll := func() {
		t.Helper()
		r.daemon.mu.Lock()
		defer r.daemon.mu.Unlock()
		if err := r.daemon.poll(); err != nil {
			t.Fatal(err)
		}
	}
	for _, host := range []string{"10.2.0.9", "10.1.0.255", "10.1.0.1", "2001:db8::9", "10.1.0.9"} {
		r.fake.Unresolved(transport.Inner, netip.MustParseAddr(host))
	}
	poll()
	const boxRed = "02720a010001 0a010001 "
	e.expect("00 " + arpAsk + boxRed + "000000000000 0a010009")
	e.punt(transport.PortRed, regs.PuntReasonArp, "02720a010001 020000000009 0806"+arpTell+"020000000009 0a010009 02720a010001 0a010001")
	r.until("the host's row", func() bool { return r.hasHost("020000000009") })
	r.same("neigh show", r.get("command", `,"words":["neigh","show"]`)["output"], "10.1.0.9 dev red lladdr 02:00:00:00:00:09 nud reachable\n")

	host := &netlink.Neigh{LinkIndex: r.link("sp-red").Attrs().Index, State: netlink.NUD_STALE, IP: net.IPv4(10, 1, 0, 9), HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 1, 9}}
	if err := netlink.NeighSet(host); err != nil {
		t.Fatal(err)
	}
	r.until("its new address", func() bool { return r.hasHost("020000000109") && !r.hasHost("020000000009") })
	if err := netlink.NeighDel(host); err != nil {
		t.Fatal(err)
	}
	r.until("the end of a host that was deleted", func() bool { return !r.hasHost("020000000109") })
	// Its next packet has it looked for again.
	r.fake.Unresolved(transport.Inner, netip.MustParseAddr("10.1.0.9"))
	poll()
	e.expect("00 " + arpAsk + boxRed + "000000000000 0a010009")
	e.punt(transport.PortRed, regs.PuntReasonArp, "02720a010001 020000000209 0806"+arpTell+"020000000209 0a010009 02720a010001 0a010001")
	r.until("the host's row again", func() bool { return r.hasHost("020000000209") })
	// Linux asks it, and it is silent.
	host.State, host.HardwareAddr = netlink.NUD_PROBE, net.HardwareAddr{2, 0, 0, 0, 2, 9}
	if err := netlink.NeighSet(host); err != nil {
		t.Fatal(err)
	}
	r.until("the end of a host that does not answer", func() bool { return !r.hasHost("020000000209") })
	// A host behind black is found likewise, and has its row in the outer chip.
	r.fake.Unresolved(transport.Outer, netip.MustParseAddr("192.0.2.77"))
	poll()
	e.expect("01 " + arpAsk + boxBlack + "000000000000 c000024d")
	e.punt(transport.PortBlack, regs.PuntReasonArp, "0262c0000201 02000000004d 0806"+arpTell+"02000000004d c000024d 0262c0000201 c0000201")
	r.until("the row of a host behind black", func() bool {
		return r.hasHostOn(transport.Outer, regs.OuterTableBlackHost, "02000000004d")
	})
	r.same("hosts of red", r.hasHost("02000000004d"), false)
	for end := false; !end; {
		select {
		case asked := <-e.arp:
			if strings.HasPrefix(asked, "00 "+strings.ReplaceAll(arpAsk, " ", "")) && !strings.HasSuffix(asked, "0a010009") {
				t.Errorf("looked for %s", asked)
			}
		default:
			end = true
		}
	}
}
