// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/testbox"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/waiting"
	"sallyport/mgmt/internal/xfrm"
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
	t    *testing.T
	conn net.Conn
	arp  chan string // the injected frames: port, and the frame from its EtherType on
	own  chan []byte // those by policy
	red  chan []byte // those of IPv4 at red, of others than the box
}

// host makes Linux the host behind the ports of a rig, with the box's addresses.
func (r *rig) host() *engine {
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
	if err := r.daemon.OpenHost(frames, "sp-red", "sp-black", "sp-vpn", nil); err != nil {
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
	e := &engine{r.t, conn, make(chan string, 1000), make(chan []byte, 1000), make(chan []byte, 1000)}
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
		if message[0] == transport.PortRed && bytes.Equal(message[13:15], []byte{8, 0}) && !bytes.Equal(message[27:31], []byte{10, 1, 0, 1}) {
			e.red <- bytes.Clone(message[1:size])
		}
		if text := hex.EncodeToString(message[:size]); size > 15 && text[26:30] == "0806" {
			e.arp <- text[:2] + " " + text[30:]
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

// message is the same; `injected` of Linux's own is 1.
func (e *engine) message(port, reason, injected byte, data []byte) {
	e.t.Helper()
	header := append([]byte{port, reason, 0, injected, byte(len(data) >> 8), byte(len(data)), 0, 0}, make([]byte, 8)...)
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

// TestWaiting: packets to a host whose address is not known leave once it is, in their order, with
// a TTL one less; of too many the last ones. If it does not answer, their senders hear of it, by
// policy. Packets for no host, or too long for red, do not wait.
func TestWaiting(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newRig(t)
	r.must(tunnel[0], tunnel[1], "addr add 10.1.0.1/24 dev red", "link set dev red mtu 1300",
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel",
		"xfrm policy add src 10.1.0.0/16 dst 10.3.0.0/16 dir out priority 9 action allow")
	e := r.host()
	const boxRed = "02720a010001 0a010001 "
	packet := func(network, to byte, sport uint16) []byte {
		frame := asked(t, sport)
		copy(frame, []byte{2, 0x72, 10, 1, 0, 1}) // of the port
		copy(frame[14+12:], []byte{10, network, 0, 9, 10, 1, 0, to})
		frame[14+10], frame[14+11] = 0, 0
		binary.BigEndian.PutUint16(frame[14+10:], sumOf(frame[14:34]))
		return frame
	}
	long := packet(2, 9, 1)
	long = append(long, make([]byte, 1301)...)[:14+1301]
	binary.BigEndian.PutUint16(long[14+2:], 1301)
	for _, frame := range [][]byte{packet(2, 255, 1), long} {
		e.message(transport.PortRed, regs.PuntReasonTunnelHost, 0, frame)
	}
	for n := range uint16(waiting.MostPackets + 1) {
		e.message(transport.PortRed, regs.PuntReasonTunnelHost, 0, packet(2, 9, 7+n))
	}
	e.expect("00 " + arpAsk + boxRed + "000000000000 0a010009")
	e.punt(transport.PortRed, regs.PuntReasonArp, "02720a010001 020000000009 0806"+arpTell+"020000000009 0a010009 02720a010001 0a010001")
	for n := range uint16(waiting.MostPackets) {
		want := packet(2, 9, 8+n)
		copy(want, []byte{2, 0, 0, 0, 0, 9})
		copy(want[6:], []byte{2, 0x72, 10, 1, 0, 1})
		want[14+8]--
		want[14+10], want[14+11] = 0, 0
		binary.BigEndian.PutUint16(want[14+10:], sumOf(want[14:34]))
		total := 14 + int(binary.BigEndian.Uint16(want[14+2:]))
		if got := <-e.red; !bytes.Equal(got, want[:total]) {
			t.Errorf("%x, want\n%x", got, want[:total])
		}
	}
	r.until("the host's row", func() bool { return r.hasHost("020000000009") })

	// A host that does not answer: Linux says so in the end.
	e.message(transport.PortRed, regs.PuntReasonTunnelHost, 0, packet(2, 8, 7))
	// Its message would leave in clear.
	e.message(transport.PortRed, regs.PuntReasonTunnelHost, 0, packet(3, 8, 7))
	e.message(transport.PortRed, regs.PuntReasonClearHost, 0, packet(3, 8, 8))
	told := map[byte]int{}
	for range 2 {
		answer := <-e.own
		if told[answer[14+17]]++; !bytes.Equal(answer[14+20:14+22], []byte{3, 1}) || answer[14+17] == 3 && answer[14+28+21] != 8 {
			t.Errorf("%x", answer)
		}
	}
	time.Sleep(50 * time.Millisecond)
	if len(e.own) != 0 || len(e.red) != 0 || told[2] != 1 || told[3] != 1 {
		t.Errorf("told: %v; %d more messages, %d frames", told, len(e.own), len(e.red))
	}

	// Red's network is another one before the host answers: nothing leaves for it there.
	e.message(transport.PortRed, regs.PuntReasonTunnelHost, 0, packet(2, 7, 7))
	e.expect("00 " + arpAsk + boxRed + "000000000000 0a010007")
	r.must("addr del 10.1.0.1/24 dev red", "addr add 10.9.0.1/24 dev red")
	e.punt(transport.PortRed, regs.PuntReasonArp, "02720a010001 020000000007 0806"+arpTell+"020000000007 0a010007 02720a010001 0a010001")
	time.Sleep(500 * time.Millisecond)
	if len(e.red) != 0 {
		t.Errorf("it left: %x", <-e.red)
	}
}

// sumOf is the checksum of RFC 1071.
func sumOf(data []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(data); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(data[i:]))
	}
	return ^uint16(sum>>16 + sum&0xFFFF)
}

// TestRoutes: the routes that Linux has behind red are where the chip sends packets, as long as
// Linux has them; a daemon that comes again leaves them for a while.
func TestRoutes(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newSizedRig(t, 8)
	r.must("addr add 192.0.2.1/24 dev black", "addr add 10.1.0.1/24 dev red", "neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev red", "neigh add 10.1.0.3 lladdr 02:00:00:00:00:03 dev red", "neigh add 192.0.2.254 lladdr 02:00:00:00:00:fe dev black")
	r.host()
	ip := func(words string) {
		t.Helper()
		if out, err := exec.Command("ip", strings.Fields(words)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v\n%s", words, err, out)
		}
	}
	nextHops := map[transport.Chip]regs.Table{transport.Inner: regs.InnerTableNextHop, transport.Outer: regs.OuterTableNextHop}
	// wayOn is where packets go: to the last bytes of the MAC addresses of their next hops.
	wayOn := func(c transport.Chip, to string) string {
		r.daemon.mu.Lock()
		defer r.daemon.mu.Unlock()
		way, err := r.fake.Route(c, netip.MustParseAddr(to))
		if err != nil {
			t.Error(err)
		}
		hops := strings.Fields(strings.Trim(way, "[]"))
		for i, hop := range hops {
			var index int
			if _, err := fmt.Sscan(hop, &index); err != nil {
				return way
			}
			row := r.fake.Table(c, nextHops[c])[index]
			if hops[i] = "none"; row != nil {
				hops[i] = fmt.Sprint(testbox.RowBytes(row)[5])
			}
		}
		slices.Sort(hops)
		return strings.Join(hops, " ")
	}
	way := func(to string) string { return wayOn(transport.Inner, to) }
	until := func(to, want string) {
		t.Helper()
		r.until("packets to "+to+" go to "+want, func() bool { return way(to) == want })
	}
	until("10.1.0.9", "connected")
	ip("tuntap add dev other mode tap")
	ip("link set other up")
	ip("addr add 10.9.0.1/24 dev other")
	ip("route add 10.2.0.0/16 via 10.1.0.2 metric 20 proto bgp")
	until("10.2.0.1", "2")
	ip("route add 10.2.0.0/16 metric 10 nexthop via 10.1.0.2 nexthop via 10.1.0.3")
	until("10.2.0.1", "2 3")
	ip("route del 10.2.0.0/16 metric 10")
	until("10.2.0.1", "2")
	ip("route replace 10.2.0.0/16 via 10.1.0.3 metric 20")
	until("10.2.0.1", "3")
	ip("route add blackhole 10.2.3.0/24")
	r.until("a way to nowhere", func() bool { return way("10.2.3.1") == "none" })
	r.same("route show", r.get("command", `,"words":["route","show"]`)["output"],
		"10.1.0.0/24 dev red proto kernel\n10.2.0.0/16 via 10.1.0.3 dev red proto boot metric 20\nblackhole 10.2.3.0/24 proto boot\n192.0.2.0/24 dev black proto kernel\n")
	ip("route add 198.51.100.0/24 via 192.0.2.254")
	onBlack := func(to string) string { return wayOn(transport.Outer, to) }
	r.until("a route behind black", func() bool { return onBlack("198.51.100.9") == "254" })
	r.same("hosts of black", onBlack("192.0.2.9"), "connected")
	r.same("a way to nowhere on black", onBlack("10.2.3.1"), "none")
	r.same("routes of red on black", onBlack("10.2.0.1"), "")
	r.same("routes of black on red", way("198.51.100.9"), "")
	ip("route add default via 10.9.0.2")     // of another device
	ip("route add 10.2.4.0/24 via 10.9.0.2") // more exact than red's
	ip("route add 10.3.0.0/16 dev sp-red table 100")
	ip("-6 addr add 2001:db8:1::1/64 dev sp-red nodad")
	ip("-6 route add 2001:db8:2::/48 via fe80::9 dev sp-red")
	ip("-6 route append 2001:db8:2::/48 via fe80::8 dev sp-red") // a further gateway
	ip("-6 route add 2001:db8:3::1/128 via fe80::9 dev sp-red")
	r.until("two gateways", func() bool { return way("2001:db8:2::1") == "none none" })
	ip("-6 route del 2001:db8:2::/48 via fe80::9 dev sp-red")
	r.until("one gateway", func() bool { return way("2001:db8:2::1") == "none" })
	if way("11.0.0.1") != "" || way("10.2.4.1") != "3" || way("10.3.0.1") != "" {
		t.Errorf("routes of others are the chip's: %s, %s, %s", way("11.0.0.1"), way("10.2.4.1"), way("10.3.0.1"))
	}
	r.until("the long prefix", func() bool {
		return strings.Contains(r.get("command", `,"words":["route","show"]`)["output"].(string), "2001:db8:3::1 via fe80::9 dev red proto boot metric 1024 rt_offload_failed\n")
	})
	r.restart()
	r.host()
	time.Sleep(1500 * time.Millisecond)
	until("10.2.0.1", "3")
	ip("route add 10.2.0.0/16 via 10.1.0.2")
	until("10.2.0.1", "2")
	ip("route add 10.4.0.0/16 nexthop via 10.1.0.3 nexthop via 10.9.0.2")
	until("10.4.0.1", "3")
	ip("link set sp-red down") // Linux takes the route away without a word
	until("10.2.0.1", "")
	until("10.4.0.1", "")
	ip("link set sp-red up") // and gives a gateway back without one
	until("10.4.0.1", "3")
}

// TestManyRoutes: of a burst of routes, as of BGP, all are in the chip in the end, though Linux's
// messages be lost meanwhile. Commands are answered in between.
func TestManyRoutes(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newSizedRig(t, 12)
	r.must("addr add 192.0.2.1/24 dev black", "addr add 10.1.0.1/24 dev red", "neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev red")
	r.host()
	const count = 6000
	batch := func(verb string) {
		t.Helper()
		var lines strings.Builder
		for n := range count {
			fmt.Fprintf(&lines, "route %s 20.%d.%d.0/24 via 10.1.0.2\n", verb, n/256, n%256)
		}
		ip := exec.Command("ip", "-batch", "-")
		ip.Stdin = strings.NewReader(lines.String())
		if out, err := ip.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	learned := func() int {
		v, err := r.daemon.view()
		if err != nil {
			t.Fatal(err)
		}
		return v.Model().FromLinux[xfrm.Red].Len()
	}
	client := r.dial()
	batch("add")
	begun, slowest := time.Now(), time.Duration(0)
	r.until("all routes", func() bool {
		asked := time.Now()
		if got := client.ask(`{"id":1,"do":"command","words":["link","set","dev","red","mtu","9000"]}`); !strings.Contains(got, `"ok":true`) {
			t.Fatal(got)
		}
		slowest = max(slowest, time.Since(asked))
		return learned() == count+1
	})
	t.Logf("%d routes took %v; a command took %v at most", count, time.Since(begun), slowest)
	for n := range count {
		if way, err := r.fake.Route(transport.Inner, netip.AddrFrom4([4]byte{20, byte(n / 256), byte(n), 9})); err != nil || way != "[1]" {
			t.Fatal(n, way, err)
		}
	}
	batch("del")
	r.until("none", func() bool { return learned() == 1 })
}
