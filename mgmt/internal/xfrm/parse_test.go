// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

const (
	key128 = "0x000102030405060708090a0b0c0d0e0fa0a1a2a3"
	key256 = "0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fb0b1b2b3"
	sa     = "src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 "
	gcm    = `aead "rfc4106(gcm(aes))" ` + key128 + " 128"
	tmpl   = "tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode tunnel"
	tmpl6  = "tmpl src 2001:db8::1 dst 2001:db8::2 proto esp mode tunnel"
)

func parseOne(t *testing.T, line string) Command {
	t.Helper()
	commands, err := ParseBatch("f", []byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if len(commands) != 1 {
		t.Fatalf("%s: %d commands", line, len(commands))
	}
	return commands[0]
}

func TestState(t *testing.T) {
	base := State{
		ID:   ID{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), "esp", 0x1001},
		Mode: ModeTunnel,
	}
	for _, test := range []struct {
		line string
		want func(s *State)
	}{
		{"xfrm state add " + sa + "mode tunnel " + gcm, func(*State) {}},
		{"x s a " + sa + "mode tu " + gcm, func(*State) {}},
		{"xfrm sa add spi 4097 proto esp dst 192.0.2.2 src 192.0.2.1/32 mode tunnel " + gcm, func(*State) {}},
		{"xfrm state add " + sa + gcm + " mode tunnel", func(*State) {}},
		{"xfrm state add " + sa + "mode tunnel reqid 0x10 replay-window 1024 flag esn " + gcm, func(s *State) {
			s.ReqID, s.ReplayWindow, s.Flags.ESN = 16, 1024, true
		}},
		{"xfrm state add " + sa + "mode tunnel replay-window 64 " + gcm, func(s *State) { s.ReplayWindow = 64 }},
		{"xfrm state add " + sa + "mode tunnel replay-window 4096 replay-seq 0xffffffff replay-seq-hi 0 " + gcm, func(s *State) {
			s.ReplayWindow, s.ReplaySeq = 4096, 0xFFFFFFFF
		}},
		{"xfrm state add " + sa + "mode tunnel dir out flag esn " + gcm, func(s *State) { s.Dir, s.Flags.ESN = DirOut, true }},
		{"xfrm state add " + sa + "mode tunnel flag noecn nopmtudisc af-unspec extra-flag dont-encap-dscp " + gcm, func(s *State) {
			s.Flags = Flags{NoECN: true, NoPMTUDisc: true, AFUnspec: true, DontEncapDSCP: true}
		}},
		{"xfrm state add " + sa + "mode tunnel encap espinudp 4500 0xf001 0.0.0.0 " + gcm, func(s *State) {
			s.Encap = &Encap{4500, 61441, netip.IPv4Unspecified()}
		}},
		{"xfrm state add " + sa + gcm + " dir in encap espinudp 1 4500 198.51.100.7 mode tunnel", func(s *State) {
			s.Dir, s.Encap = DirIn, &Encap{1, PortNATT, netip.MustParseAddr("198.51.100.7")}
		}},
		{"xfrm state add " + sa + "mode tunnel flag 0x25 " + gcm, func(s *State) {
			s.Flags = Flags{NoECN: true, NoPMTUDisc: true, AFUnspec: true}
		}},
		{"xfrm state add " + sa + "mode transport reqid 3 " + gcm, func(s *State) { s.Mode, s.ReqID = ModeTransport, 3 }},
		{"xfrm state add " + sa + gcm, func(s *State) { s.Mode = ModeTransport }},
		{"xfrm state add " + sa + "mode tr " + gcm + " sel src 192.0.2.0/24 proto tcp", func(s *State) {
			s.Mode, s.Sel = ModeTransport, &Selector{Src: netip.MustParsePrefix("192.0.2.0/24"), Dst: Everything, Proto: 6}
		}},
		{"xfrm state add src fe80::1 dst fe80::2 proto esp spi 0x1001 mode transport " + gcm, func(s *State) {
			s.Mode, s.Src, s.Dst = ModeTransport, netip.MustParseAddr("fe80::1"), netip.MustParseAddr("fe80::2")
		}},
		{"xfrm state add " + sa + "mode tunnel mark 0 mask 0 replay-seq 0 replay-oseq 0 seq 7 if_id 0 " + gcm, func(*State) {}},
		{"xfrm state add " + sa + "mode tunnel limit packet-soft 100 limit packet-hard 200 limit byte-hard 18446744073709551615 limit time-hard 0 " + gcm,
			func(s *State) { s.PacketSoft, s.PacketHard = 100, 200 }},
		{"xfrm state add " + sa + "mode tunnel limit time-soft 3000 limit time-hard 3600 limit time-use-soft 1 limit time-use-hard 18446744073709551615 " + gcm,
			func(s *State) { s.Time = TimeLimits{3000, 3600, 1, 18446744073709551615} }},
		{"xfrm state add src 2001:DB8::1 dst 2001:db8:0:0::2/128 proto esp spi 0x1001 mode tunnel " + gcm, func(s *State) {
			s.Src, s.Dst = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
		}},
		// A sel that names no address is of the SA's IP version, wherever it stands.
		{"xfrm state add sel proto ipv6-icmp type 1 mode tunnel src 2001:db8::1 dst 2001:db8::2 proto esp spi 0x1001 " + gcm, func(s *State) {
			s.Src, s.Dst = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
			s.Sel = &Selector{Src: Everything6, Dst: Everything6, Proto: 58, Type: One(1)}
		}},
		{"xfrm state add src 2001:db8::1 dst 2001:db8::2 proto esp spi 0x1001 mode tunnel sel dst 10.2.0.0/16 " + gcm, func(s *State) {
			s.Src, s.Dst = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
			s.Sel = &Selector{Src: Everything, Dst: netip.MustParsePrefix("10.2.0.0/16")}
		}},
		{"xfrm state add " + sa + "mode tunnel sel src 10.1.0.0/16 dst 10.2.0.0/16 proto tcp dport 80 " + gcm, func(s *State) {
			s.Sel = &Selector{Src: netip.MustParsePrefix("10.1.0.0/16"), Dst: netip.MustParsePrefix("10.2.0.0/16"), Proto: 6, DPort: One(80)}
		}},
	} {
		add, ok := parseOne(t, test.line).(StateAdd)
		if !ok {
			t.Fatalf("%s is no StateAdd", test.line)
		}
		a := add.State.Aead
		if hex.EncodeToString(a.Key) != key128[2:] || a.Name != "rfc4106(gcm(aes))" || a.KeyBits != 160 || a.ICVBits != 128 {
			t.Errorf("%s: wrong algorithm or key", test.line)
		}
		add.State.Aead = Algorithm{}
		want := base
		test.want(&want)
		if !reflect.DeepEqual(add.State, want) {
			t.Errorf("%s\n got %+v\nwant %+v", test.line, add.State, want)
		}
	}
}

func TestKeys(t *testing.T) {
	for text, want := range map[string]string{
		key256:                      key256[2:],
		"0x1" + key128[4:]:          "01" + key128[4:],
		"0xABCDEF" + key128[8:]:     "abcdef" + key128[8:],
		"sixteen byte key" + "salt": hex.EncodeToString([]byte("sixteen byte keysalt")),
	} {
		line := fmt.Sprintf("xfrm state add %s mode tunnel aead 'rfc4106(gcm(aes))' '%s' 128", sa, text)
		add := parseOne(t, line).(StateAdd)
		if got := hex.EncodeToString(add.State.Aead.Key); got != want {
			t.Errorf("%s: key %s, want %s", text, got, want)
		}
	}
}

func TestPolicy(t *testing.T) {
	prefix := netip.MustParsePrefix
	out := func(s Selector, change func(p *Policy)) Policy {
		p := Policy{Selector: s, Dir: DirOut, Action: ActionAllow}
		if !s.Src.IsValid() {
			p.Src = Everything
		}
		if !s.Dst.IsValid() {
			p.Dst = Everything
		}
		if change != nil {
			change(&p)
		}
		return p
	}
	both := Selector{Src: prefix("10.1.0.0/16"), Dst: prefix("10.2.0.0/16")}
	hosts := Selector{Src: prefix("192.0.2.1/32"), Dst: prefix("192.0.2.2/32")}
	template := Template{ID: ID{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), "esp", 0}, Mode: ModeTunnel}
	template6 := Template{ID: ID{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), "esp", 0}, Mode: ModeTunnel}
	for line, want := range map[string]Policy{
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out":                out(both, nil),
		"x p a dir out src 10.1/16 dst 10.2.0.0/255.255.0.0":                     out(both, nil),
		"xfrm policy add dir out":                                                out(Selector{}, nil),
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out " + tmpl:        out(both, func(p *Policy) { p.Template = &template }),
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 proto any dir out":      out(both, nil),
		"xfrm policy add dst 10.2.0.0/16 dir out priority 7 action block":        out(Selector{Dst: both.Dst}, func(p *Policy) { p.Priority, p.Action = 7, ActionBlock }),
		"xfrm policy add dst 10.2.0.0/16 dir out action reject":                  out(Selector{Dst: both.Dst}, func(p *Policy) { p.Action = ActionReject }),
		"xfrm policy add dst 10.2.0.0/16 dir out index 9 ptype main action punt": out(Selector{Dst: both.Dst}, func(p *Policy) { p.Index, p.Action = 9, ActionPunt }),
		"xfrm policy add src 10.1.0.1 dst 10.2.0.1 proto udp sport 53 dport 1024 dev black dir out": out(
			Selector{Src: prefix("10.1.0.1/32"), Dst: prefix("10.2.0.1/32"), Proto: 17, SPort: One(53), DPort: One(1024)}, nil).on("black"),
		"xfrm policy add src 192.0.2.1 dst 192.0.2.2 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode transport": out(
			hosts, func(p *Policy) { p.Template = &Template{ID: template.ID, Mode: ModeTransport} }),
		"xfrm policy add src 192.0.2.1 dst 192.0.2.2 dir out tmpl src 0.0.0.0 dst 0.0.0.0 proto esp reqid 7": out(
			hosts, func(p *Policy) { p.Template = &Template{ID: ID{Proto: "esp"}, Mode: ModeTransport, ReqID: 7} }),
		"xfrm policy add src 2001:db8::/32 dir out tmpl src :: dst :: proto esp mode transport": out(
			Selector{Src: prefix("2001:db8::/32"), Dst: Everything6}, func(p *Policy) { p.Template = &Template{ID: ID{Proto: "esp"}, Mode: ModeTransport} }),
		"xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out " + tmpl6:                      out(both, func(p *Policy) { p.Template = &template6 }),
		"xfrm policy add dst 10.2.0.0/16 dport 80 dir out":                                      out(Selector{Dst: both.Dst, DPort: One(80)}, nil),
		"xfrm policy add dst 10.2.0.0/16 proto 47 dir out":                                      out(Selector{Dst: both.Dst, Proto: 47}, nil),
		"xfrm policy add dst 10.2.0.0/16 proto ICMP dir out limit byte-soft 0xffffffffffffffff": out(Selector{Dst: both.Dst, Proto: 1}, nil),
	} {
		add, ok := parseOne(t, line).(PolicyAdd)
		if !ok || !reflect.DeepEqual(add.Policy, want) {
			t.Errorf("%s\n got %+v\nwant %+v", line, add.Policy, want)
		}
	}
}

func (p Policy) on(dev string) Policy {
	// The device of a selector does not name packets here, but a policy is listed as it
	// was written.
	p.Dev = dev
	return p
}

func TestNetworkLines(t *testing.T) {
	addr, prefix := netip.MustParseAddr, netip.MustParsePrefix
	up, down := true, false
	mac, br0 := MAC{2, 0, 0, 0, 0, 1}, "br0"
	at := At{Pos{"f", 1}}
	for line, want := range map[string]Command{
		"addr add 10.1.0.1/16 dev red":                                         Addr{at, false, prefix("10.1.0.1/16"), "red"},
		"a a local 10.1.0.1 brd + scope global dev black":                      Addr{at, false, prefix("10.1.0.1/32"), "black"},
		"address del 10.1.0.1/16 dev red":                                      Addr{at, true, prefix("10.1.0.1/16"), "red"},
		"link set dev red mtu 1500 up":                                         Link{at, "red", 1500, nil, &up, nil, nil},
		"link set black address 02:00:00:00:00:01 down":                        Link{at, "black", 0, &mac, &down, nil, nil},
		"link set red master br0":                                              Link{at, "red", 0, nil, nil, nil, &br0},
		"l s dev black up master br0":                                          Link{at, "black", 0, nil, &up, nil, &br0},
		"link set nomaster red":                                                Link{at, "red", 0, nil, nil, nil, new(string)},
		"link set br0 up":                                                      Link{at, "br0", 0, nil, &up, nil, nil},
		"link set red promisc on":                                              Link{at, "red", 0, nil, nil, &up, nil},
		"link set dev black promisc off mtu 1500":                              Link{at, "black", 1500, nil, nil, &down, nil},
		"link add br0 type bridge":                                             Bridge{at, "br0"},
		"link add name br0 type bridge":                                        Bridge{at, "br0"},
		"l a dev lan.7_x-1 type bridge":                                        Bridge{at, "lan.7_x-1"},
		"link add link red name red.100 type vlan id 100":                      VLAN{at, "red.100", "red", 0x8100, 100},
		"l a link red.100 inner type vlan proto 802.1AD id 0xffe":              VLAN{at, "inner", "red.100", 0x88a8, 4094},
		"link del br0":                                                         LinkDelete{at, "br0"},
		"link delete dev br0 type bridge":                                      LinkDelete{at, "br0"},
		"route add default via 192.0.2.2 dev black":                            Route{at, false, false, Everything, addr("192.0.2.2"), "black", 0, "", 0, false},
		"route replace 10.2.0.0/16 via 192.0.2.2 dev black mtu 1400":           Route{at, false, true, prefix("10.2.0.0/16"), addr("192.0.2.2"), "black", 1400, "", 0, false},
		"ro add 10.2.0.0/16 dev black":                                         Route{at, false, false, prefix("10.2.0.0/16"), netip.Addr{}, "black", 0, "", 0, false},
		"route del 10.2.0.0/16":                                                Route{at, true, false, prefix("10.2.0.0/16"), netip.Addr{}, "", 0, "", 0, false},
		"neigh add 192.0.2.2 lladdr 02:00:00:00:00:01 dev black nud permanent": Neigh{at, false, false, addr("192.0.2.2"), mac, "black"},
		"n replace 192.0.2.2 lladdr 02:00:00:00:00:01 dev black":               Neigh{at, false, true, addr("192.0.2.2"), mac, "black"},
		"neighbour del 192.0.2.2 dev black":                                    Neigh{at, true, false, addr("192.0.2.2"), MAC{}, "black"},
		"addr add 2001:db8::1/64 nodad dev red":                                Addr{at, false, prefix("2001:db8::1/64"), "red"},
		"addr del fe80::1 dev black":                                           Addr{at, true, prefix("fe80::1/128"), "black"},
		"route add default via 2001:db8::1 dev red":                            Route{at, false, false, Everything6, addr("2001:db8::1"), "red", 0, "", 0, false},
		"route add via fe80::1 default dev red":                                Route{at, false, false, Everything6, addr("fe80::1"), "red", 0, "", 0, false},
		"route add default via inet6 2001:db8::1 dev red":                      Route{at, false, false, Everything6, addr("2001:db8::1"), "red", 0, "", 0, false},
		"route add default dev red":                                            Route{at, false, false, Everything, netip.Addr{}, "red", 0, "", 0, false},
		"route del default via 2001:db8::1":                                    Route{at, true, false, Everything6, addr("2001:db8::1"), "", 0, "", 0, false},
		"route add ::/0 dev red":                                               Route{at, false, false, Everything6, netip.Addr{}, "red", 0, "", 0, false},
		"route add 2001:db8:2::/48 via 2001:db8::1 mtu 1400":                   Route{at, false, false, prefix("2001:db8:2::/48"), addr("2001:db8::1"), "", 1400, "", 0, false},
		"route add 10.2.0.0/16 via inet6 2001:db8::1 mtu lock 68 dev black":    Route{at, false, false, prefix("10.2.0.0/16"), addr("2001:db8::1"), "black", 68, "", 0, false},
		"route add 2001:db8:2::/48 via inet 192.0.2.2 dev black":               Route{at, false, false, prefix("2001:db8:2::/48"), addr("192.0.2.2"), "black", 0, "", 0, false},
		"route add 10.2.0.0/16 via inet6 fe80::1 dev black":                    Route{at, false, false, prefix("10.2.0.0/16"), addr("fe80::1"), "black", 0, "", 0, false},
		"neigh add fe80::1/128 lladdr 02:00:00:00:00:01 router dev black":      Neigh{at, false, false, addr("fe80::1"), mac, "black"},
		"link add blue type vrf table 10":                                      VRF{at, "blue", 10},
		"l a name blue type vrf table 0xffffffff":                              VRF{at, "blue", 0xffffffff},
		"link set br0 nomaster":                                                Link{at, "br0", 0, nil, nil, nil, new(string)},
		"link set dev eth0.7 master br0 up":                                    Link{at, "eth0.7", 0, nil, &up, nil, &br0},
		"route add 10.2.0.0/16 via 192.0.2.2 vrf blue":                         Route{at, false, false, prefix("10.2.0.0/16"), addr("192.0.2.2"), "", 0, "blue", 0, false},
		"route del 10.2.0.0/16 table 10":                                       Route{at, true, false, prefix("10.2.0.0/16"), netip.Addr{}, "", 0, "", 10, false},
		"route add 10.2.0.0/16 dev red table main":                             Route{at, false, false, prefix("10.2.0.0/16"), netip.Addr{}, "red", 0, "", 254, false},
		"neigh show": Show{at, "neigh"},
	} {
		if got := parseOne(t, line); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", line, got, want)
		}
	}
}

// TestRefusals: every mistake is one sentence with its file and line, and no key is ever in it.
func TestRefusals(t *testing.T) {
	add := "xfrm state add " + sa
	add6 := "xfrm state add src 2001:db8::1 dst 2001:db8::2 proto esp spi 1 mode tunnel "
	for _, test := range []struct{ line, reason string }{
		{"frobnicate", "unknown command"},
		{"xfrm", "state or policy"},
		{"xfrm stats", "unknown word"},
		{"xfrm state frob", "unknown word"},
		{add + "mode beet " + gcm, "only tunnel and transport are"},
		{add + "mode frob " + gcm, "mode must be tunnel or transport, not \"frob\""},
		{add + "mode transport encap espinudp 4500 4500 0.0.0.0 " + gcm, "encap is not supported in transport mode, for the hardware does not mend the checksums that a NAT breaks"},
		{add + "encap espinudp 4500 4500 192.0.2.9 " + gcm, "encap is not supported in transport mode"},
		{add + "mode transport sel dst 192.0.2.3 " + gcm, "must hold its own src 192.0.2.1 and dst 192.0.2.2"},
		{add + "mode transport sel src ::/0 " + gcm, "must hold its own src 192.0.2.1 and dst 192.0.2.2"},
		{"xfrm state add src 192.0.2.1 dst 224.0.0.1 proto esp spi 1 " + gcm, "multicast"},
		{"xfrm state add dst 192.0.2.1 proto esp spi 1 mode transport " + gcm, "both its ends"},
		{add + "mode tunnel", "needs its algorithm"},
		{add + "mode tunnel " + gcm + " " + gcm, "a second"},
		{add + "mode tunnel replay-window 1 " + gcm, "write 64 to 4096 packets, or 0"},
		{add + "mode tunnel replay-window 32 " + gcm, "write 64 to 4096 packets, or 0"},
		{add + "mode tunnel replay-window 63 " + gcm, "write 64 to 4096 packets, or 0"},
		{add + "mode tunnel replay-window 4097 " + gcm, "write 64 to 4096 packets, or 0"},
		{add + "mode tunnel replay-window 4294967295 " + gcm, "write 64 to 4096 packets, or 0"},
		{add + "mode tunnel replay-window 64 replay-seq 4294967296 " + gcm, "the value of replay-seq"},
		{add + "mode tunnel replay-seq 5 " + gcm, "needs a replay-window"},
		{add + "mode tunnel replay-window 64 flag esn replay-seq-hi 0x80000000 " + gcm, "at most 2^63 - 1"},
		{add + "mode tunnel replay-window 64 replay-seq-hi 1 " + gcm, "above 2^32 - 1 needs flag esn"},
		{add + "mode tunnel replay-oseq 5000000000 " + gcm, "the value of replay-oseq must be a number of 0 to 4294967295"},
		{add + "mode tunnel replay-oseq-hi 5 " + gcm, "above 2^32 - 1 needs flag esn"},
		{add + "mode tunnel flag esn " + gcm, "replay-window"},
		{add + "mode tunnel flag decap-dscp " + gcm, "decap-dscp"},
		{add + "mode tunnel flag purple " + gcm, "unknown flag"},
		{add + "mode tunnel extra-flag oseq-may-wrap " + gcm, "nonce"},
		{add + "mode tunnel mark 5 " + gcm, "mark is not supported"},
		{add + "mode tunnel encap espintcp 4500 4500 0.0.0.0 " + gcm, "only espinudp"},
		{add + "mode tunnel encap espinudp-nonike 500 500 0.0.0.0 " + gcm, "only espinudp"},
		{add + "mode tunnel encap espinudp6 4500 4500 0.0.0.0 " + gcm, "encap must be espinudp"},
		{add + "mode tunnel encap espinudp 0 4500 0.0.0.0 " + gcm, "the source port of encap must be 1 to 65535"},
		{add + "mode tunnel encap espinudp 4500 0 0.0.0.0 " + gcm, "the destination port of encap must be 1 to 65535"},
		{add + "mode tunnel encap espinudp 4500 65536 0.0.0.0 " + gcm, "must be a number of 0 to 65535"},
		{add + "mode tunnel encap espinudp 4500 4500 " + gcm, "the original address of encap"},
		{add + "mode tunnel encap espinudp 4500 4500", "the line ends where the original address"},
		{add + "mode tunnel dir in encap espinudp 4500 4501 0.0.0.0 " + gcm, "received at port 4500 alone"},
		{add + "mode tunnel offload dev eth0 dir in " + gcm, "hardware"},
		{add + "mode tunnel limit time-use 1000 " + gcm, "unknown limit"},
		{add + "mode tunnel limit time-hard soon " + gcm, "the value of time-hard must be a number"},
		{add + "mode tunnel limit byte-hard 0 " + gcm, "limit byte-hard 0 would let no packet pass"},
		{add + "mode tunnel limit packet-hard 72057594037927936 " + gcm, "at most 72057594037927935 packets"},
		{add + "mode tunnel dir fwd " + gcm, "dir must be one of in, out"},
		{add + "mode tunnel src 192.0.2.9 " + gcm, "unexpected word"},
		{add + "mode tunnel frob " + gcm, "unexpected word"},
		{"xfrm state add src 192.0.2.1 dst 192.0.2.2 proto ah spi 1 mode tunnel", "proto ah is not supported"},
		{"xfrm state add src 192.0.2.1 dst 192.0.2.2 spi 1 mode tunnel " + gcm, "needs its protocol"},
		{"xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp mode tunnel " + gcm, "SPI"},
		{"xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x100000000 mode tunnel " + gcm, "SPI"},
		{"xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0 mode tunnel " + gcm, "needs an SPI other than 0"},
		{"xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 1_0 mode tunnel " + gcm, "SPI"},
		{"xfrm state add src 192.0.2.1 dst 2001:db8::2 proto esp spi 1 mode tunnel " + gcm, "one IP version, that of its outer header, not 192.0.2.1 and 2001:db8::2"},
		{"xfrm state add dst 192.0.2.1 src 2001:db8::2 proto esp spi 1 mode tunnel " + gcm, "one IP version, that of its outer header, not 192.0.2.1 and 2001:db8::2"},
		{"xfrm state delete src 192.0.2.1 dst 2001:db8::2 proto esp spi 1", "one IP version"},
		{"xfrm state list src 2001:db8::/32 dst 0.0.0.0/0", "one IP version"},
		{"xfrm state add src :: dst 2001:db8::2 proto esp spi 1 mode tunnel " + gcm, "both its ends"},
		{"xfrm state add src 2001:db8::2 dst 2001:db8:0::2 proto esp spi 1 mode tunnel " + gcm, "the same address, 2001:db8::2"},
		{"xfrm state add src 2001:db8::1 dst ff0e::2 proto esp spi 1 mode tunnel " + gcm, "multicast"},
		{"xfrm state add src fe80::1 dst 2001:db8::2 proto esp spi 1 mode tunnel " + gcm, "cannot be a link-local address"},
		{"xfrm state add src 2001:db8::1 dst febf::2 proto esp spi 1 mode tunnel " + gcm, "cannot be a link-local address"},
		{"xfrm state add src 2001:db8::1/64 dst 2001:db8::2 proto esp spi 1 mode tunnel " + gcm, "one address"},
		{"xfrm state get dst 2001:db8::/64 proto esp spi 1", "one address"},
		{add6 + "encap espinudp 4500 4500 0.0.0.0 " + gcm, "the original address of encap must be of one IP version with the SA's endpoints, 0.0.0.0 or :: if there is none, not 0.0.0.0"},
		{"xfrm state add encap espinudp 4500 4501 :: dir in mode tunnel src 2001:db8::1 dst 2001:db8::2 proto esp spi 1 " + gcm, "received at port 4500 alone"},
		{add + "mode tunnel encap espinudp 4500 4500 :: " + gcm, "the original address of encap must be of one IP version"},
		{add6 + "sel proto icmp type 8 " + gcm, "type of icmp is of no packet in an IPv6 selector"},
		{add + "mode tunnel sel src 10.0.0.0/8 dst 2001:db8::/32 " + gcm, "one IP version, not 10.0.0.0/8 and 2001:db8::/32"},
		{add + "mode tunnel sel proto ipv6-icmp code 0 " + gcm, "write src or dst as an IPv6 prefix"},
		{"xfrm state add src 192.0.2.1/24 dst 192.0.2.2 proto esp spi 1 mode tunnel " + gcm, "one address"},
		{"xfrm state add dst 192.0.2.2 proto esp spi 1 mode tunnel " + gcm, "both its ends"},
		{"xfrm state delete dst 192.0.2.2 proto esp", "named by dst, proto and spi"},
		{"xfrm state allocspi " + sa, "not supported"},
		{"xfrm policy add src 10.1.0.0/16", "dir"},
		{"xfrm policy add src 10.1.0.1/16 dir out", "write 10.1.0.0/16"},
		{"xfrm policy add src 10.1.0.0/33 dir out", "0 to 32"},
		{"xfrm policy add src 10.1.0.0/255.0.255.0 dir out", "0 to 32"},
		{"xfrm policy add src 10.1.0.256 dir out", "IPv4 or IPv6 address"},
		{"xfrm policy add src any dir out", "IPv4 or IPv6 address"},
		{"xfrm policy add src 2001:db8::1/32 dir out", "write 2001:db8::/32"},
		{"xfrm policy add src 2001:db8::/129 dir out", "0 to 128"},
		{"xfrm policy add src 2001:db8:::1 dir out", "IPv4 or IPv6 address"},
		{"xfrm policy add src fe80::1%red dir out", "IPv4 or IPv6 address"},
		{"xfrm policy add src 10.0.0.0/8 dst ::/0 dir out", "one IP version, not 10.0.0.0/8 and ::/0"},
		{"xfrm policy add dst ::/0 src 10.0.0.0/8 dir out", "one IP version, not ::/0 and 10.0.0.0/8"},
		{"xfrm policy delete src ::/0 dst 0.0.0.0/0 dir out", "one IP version"},
		{"xfrm policy list src ::/0 dst 0.0.0.0/0", "one IP version"},
		{"xfrm policy add dst 10.0.0.0/8 proto frob dir out", "unknown protocol"},
		{"xfrm policy add dst 10.0.0.0/8 proto icmp sport 5 dir out", "needs proto tcp, udp or sctp"},
		{"xfrm policy add dst 10.0.0.0/8 proto tcp type 8 dir out", "type needs proto icmp, ipv6-icmp or mobility-header"},
		{"xfrm policy add dst 10.0.0.0/8 code 0 dir out", "code needs proto icmp or ipv6-icmp"},
		{"xfrm policy add src ::/0 proto mobility-header type 1 code 0 dir out", "code needs proto icmp or ipv6-icmp: other packets have none"},
		{"xfrm policy add src ::/0 proto 135 code opaque dir out", "code needs proto icmp or ipv6-icmp"},
		{"xfrm policy add src ::/0 proto 135 sport 5 dir out", "sport needs proto tcp, udp or sctp: the chips find no ports in protocol 135"},
		{"xfrm policy add src ::/0 proto 135 type 256 dir out", "the number after type must be a number of 0 to 255"},
		{"xfrm policy add proto 135 type 1 dir out", "type of protocol 135 is of no packet in an IPv4 selector: write src or dst as an IPv6 prefix"},
		{"xfrm policy add dst 10.0.0.0/8 proto 135 type opaque dir out", "type of protocol 135 is of no packet in an IPv4 selector"},
		{"xfrm policy add dst 10.0.0.0/8 proto icmp type 256 dir out", "the number after type must be a number of 0 to 255"},
		{"xfrm policy add dst 10.0.0.0/8 proto icmp code 256 dir out", "the number after code must be a number of 0 to 255"},
		{"xfrm policy add dst 10.0.0.0/8 proto icmp type 8 dport 5 dir out", "dport needs proto tcp, udp or sctp"},
		{"xfrm policy add dst 10.0.0.0/8 proto udp type 8 dport 5 dir out", "type needs proto icmp, ipv6-icmp or mobility-header"},
		{"xfrm policy add dst ::/0 proto icmp type 8 dir out", "type of icmp is of no packet in an IPv6 selector: write proto ipv6-icmp"},
		{"xfrm policy add proto icmp code 1 dst ::/0 dir out", "code of icmp is of no packet in an IPv6 selector"},
		{"xfrm policy add dst 10.0.0.0/8 proto ipv6-icmp type 128 dir out", "type of ipv6-icmp is of no packet in an IPv4 selector"},
		{"xfrm policy add proto ipv6-icmp type 128 dir out", "::/0 is any"},
		{"xfrm policy add dst 10.0.0.0/8 proto gre key 8 dir out", "key is not supported"},
		{"xfrm policy add dst 10.0.0.0/8 proto tcp dport 65536 dir out", "0 to 65535"},
		{"xfrm policy add proto ipv6-frag src 2001:db8::/32 dir fwd", "proto 44 is of no packet in an IPv6 selector"},
		{"xfrm policy add dst ::/0 proto 44 dir in", "it is an extension header, and the protocol is what follows those"},
		{add6 + "sel proto ipv6-frag " + gcm, "proto 44 is of no packet in an IPv6 selector"},
		{"xfrm policy add dst 10.0.0.0/8 proto tcp dport 443-80 dir out", "the range 443-80 after dport is the wrong way round: write 80-443"},
		{"xfrm policy add dst 10.0.0.0/8 proto tcp sport 65535-0 dir out", "wrong way round: write 0-65535"},
		{"xfrm policy add dst 10.0.0.0/8 proto icmp type 3 code 4-1 dir out", "the range 4-1 after code is the wrong way round"},
		{"xfrm policy add dst 10.0.0.0/8 proto tcp dport 80-65536 dir out", "the port after dport must be a number of 0 to 65535, a range N-M of such numbers, or opaque, not \"80-65536\""},
		{"xfrm policy add dst 10.0.0.0/8 proto tcp dport 80- dir out", "a range N-M of such numbers, or opaque, not \"80-\""},
		{"xfrm policy add dst 10.0.0.0/8 proto tcp dport -80 dir out", "a range N-M"},
		{"xfrm policy add dst 10.0.0.0/8 proto tcp dport 1-2-3 dir out", "a range N-M"},
		{"xfrm policy add dst 10.0.0.0/8 proto tcp dport 80:443 dir out", "a range N-M"},
		{"xfrm policy add dst 10.0.0.0/8 proto tcp dport dir out", "a range N-M"},
		{"xfrm policy add dst 10.0.0.0/8 proto icmp type 3-256 dir out", "must be a number of 0 to 255, a range N-M"},
		{"xfrm policy add dst 10.0.0.0/8 proto gre dport 80-443 dir out", "dport needs proto tcp, udp or sctp"},
		{"xfrm policy add dst 10.0.0.0/8 proto icmp dport 0 dir out", "dport needs proto tcp, udp or sctp"},
		{"xfrm policy add dst 10.0.0.0/8 proto icmp sport 0-65535 dir out", "sport needs proto tcp, udp or sctp"},
		{"xfrm policy add dst 10.0.0.0/8 proto tcp type 0-255 dir out", "type needs proto icmp, ipv6-icmp or mobility-header"},
		{"xfrm policy add dst ::/0 proto icmp type 1-4 dir out", "type of icmp is of no packet in an IPv6 selector"},
		{add + "mode tunnel sel proto tcp dport 443-80 " + gcm, "the range 443-80 after dport"},
		{"xfrm policy add dst 10.0.0.0/8 dir sideways", "dir must be one of"},
		{"xfrm policy add dst 10.0.0.0/8 dir out dir in", "twice"},
		{"xfrm policy add dst 10.0.0.0/8 dir out action maybe", "allow, block, reject or punt"},
		{"xfrm policy add dst 10.0.0.0/8 dir out action block " + tmpl, "no tmpl"},
		{"xfrm policy add dst 10.0.0.0/8 dir out " + tmpl + " " + tmpl, "second tmpl"},
		{"xfrm policy add dst 10.0.0.0/8 dir out " + tmpl + " level use", "required"},
		{"xfrm policy add dst 10.0.0.0/8 dir out tmpl src 192.0.2.1 dst 192.0.2.2 proto esp", "the tmpl's dst 192.0.2.2 is not in the policy's dst 10.0.0.0/8: in transport mode"},
		{"xfrm policy add src 10.0.0.1 dst 10.0.0.2 dir in tmpl src 10.0.0.2 dst 10.0.0.1 proto esp mode transport", "the tmpl's src 10.0.0.2 is not in the policy's src 10.0.0.1/32"},
		{"xfrm policy add src ::/0 dir out tmpl src 10.0.0.2 proto esp mode transport", "the tmpl's src 10.0.0.2 is not in the policy's src ::/0"},
		{"xfrm policy add src 10.0.0.1 dst 10.0.0.2 dir out flag fragment-first tmpl proto esp mode transport", "fragment-first is not supported in transport mode"},
		{"xfrm policy add dst 10.0.0.0/8 dir out flag localok", "localok concerns a host's own sockets"},
		{"xfrm policy add dst 10.0.0.0/8 dir out flag icmp flag never", "flag must be icmp, fragment-first or mss, not \"never\""},
		{"xfrm policy add dst 10.0.0.0/8 dir out flag mss", "flag mss is for a policy with a tmpl of mode tunnel"},
		{"xfrm policy add src 10.0.0.1 dst 10.0.0.2 dir out flag mss tmpl proto esp mode transport", "flag mss is for a policy with a tmpl of mode tunnel"},
		{"xfrm policy add src 10.0.0.1 dst 10.0.0.2 dir in flag icmp mss action block", "flag mss is for a policy with a tmpl of mode tunnel"},
		{"xfrm policy add src 10.0.0.1 dst 10.0.0.2 dir out tmpl mode transport", "a tmpl needs its protocol"},
		{"xfrm policy add dst 10.0.0.0/8 dir out tmpl proto esp mode tunnel", "both endpoints"},
		{"xfrm policy add dst ::/0 dir out tmpl src 2001:db8::1 dst 192.0.2.2 proto esp mode tunnel", "one IP version"},
		{"xfrm policy add dst 10.0.0.0/8 dir out tmpl src 2001:db8::1 dst :: proto esp mode tunnel", "both endpoints"},
		{"xfrm policy add dst 10.0.0.0/8 dir out tmpl", "a template should follow"},
		{"xfrm policy add dst 10.0.0.0/8 dev eth0 dir out", "an out policy with dev eth0 and without a tmpl would let clear packets out"},
		{"xfrm policy add dst 10.0.0.0/8 dev red dir out", "leave by black"},
		{"xfrm policy add dst 10.0.0.0/8 dir out priority -1", "priority"},
		{"xfrm policy add dst 10.0.0.0/8 dir out src 10.0.0.0/8", "stand together"},
		{"xfrm policy delete dst 10.0.0.0/8", "dir is missing"},
		{"xfrm policy setdefault in block", "always discarded"},
		{"addr add 10.0.0.1/24 dev a/b", "red and black"},
		{"addr add 10.0.0.1/24", "addr add ADDR/LEN"},
		{"addr add 0.0.0.0/0 dev red", "cannot be the address"},
		{"link set dev red mtu 9583", "68 to 9582"},
		{"link add br0", "link add NAME type bridge"},
		{"link add br0 type dummy", "type \"dummy\" is not supported: a bridge over red and black, VLANs of them, VRFs and XFRM interfaces"},
		{"link add br0 type", "the line ends where the type, bridge, vlan, vrf or xfrm, should follow"},
		{"link add v type vlan id 5", "link add link red|black name NAME type vlan id N"},
		{"link add link red name v type vlan", "link add link red|black name NAME type vlan id N"},
		{"link add link red name v type vlan id 4095", "0 to 4094, not 4095"},
		{"link add link red name v type vlan protocol 802.1x id 1", "802.1Q or 802.1ad, not \"802.1x\""},
		{"link add link red name v type vlan id 1 gvrp on", "unexpected word \"gvrp\""},
		{"link add link red name black type vlan id 1", "black is a port"},
		{"link add link red name br0 type bridge", "link add NAME type bridge"},
		{"link add red type bridge", "red is a port: a bridge, a VLAN's device, a VRF and an XFRM interface need names of their own"},
		{"link add a-name-of-16-bytes type bridge", "cannot be the name of a device"},
		{"link add a/b type bridge", "cannot be the name of a device"},
		{"link add a\x01b type bridge", "cannot be the name of a device"},
		{"link add a\u200bb type bridge", "cannot be the name of a device"},
		{"link add br0 type bridge stp_state 1", "unexpected word \"stp_state\""},
		{"link del", "the line ends where the name of the device should follow"},
		{"link set red master", "the line ends where the bridge or the VRF after master should follow"},
		{"link set red master black", "black is a port"},
		{"link set master br0", "a link line is"},
		{"link set eth0 mtu 1500", "unknown device \"eth0\": the devices are red and black"},
		{"link set br0 mtu 1500", "unknown device \"br0\""},
		{"link set br0 down", "unknown device \"br0\": the devices are red and black, and a bridge over them, a VLAN's device, a VRF or an XFRM interface can be set up, added and deleted alone"},
		{"link set dev red address ff:ff:ff:ff:ff:ff", "one station"},
		{"addr add ::/0 dev red", "cannot be the address"},
		{"addr add ff02::1/64 dev red", "cannot be the address"},
		{"route add 10.0.0.1/8 via 192.0.2.1 dev black", "write 10.0.0.0/8"},
		{"route add 2001:db8::1/48 via 2001:db8::2 dev black", "write 2001:db8::/48"},
		{"route add 2001:db8::/48 via 192.0.2.1 dev black", "the gateway 192.0.2.1 is of another IP version than the destination 2001:db8::/48"},
		{"route add via 2001:db8::2 10.0.0.0/8 dev black", "is of another IP version"},
		{"route add 0.0.0.0/0 via 2001:db8::2 dev black", "is of another IP version"},
		{"route add 2001:db8:2::/48 via 2001:db8::1 dev black mtu 1279", "the mtu of a route to IPv6 must be 1280 to 9582, not 1279"},
		{"route add default mtu 68 via 2001:db8::1 dev black", "the mtu of a route to IPv6"},
		{"route add 10.0.0.0/8 via inet6 2001:db8::1 dev black mtu 67", "mtu must be 68 to 9582"},
		{"route add default via inet 2001:db8::2 dev black", "cannot be \"2001:db8::2\", which is of the other IP version"},
		{"route add default via inet6 192.0.2.1 dev black", "of the other IP version"},
		{"neigh add fe80::1%red lladdr 02:00:00:00:00:01 dev red", "IPv4 or IPv6 address"},
		{"neigh add 192.0.2.1 dev black", "neigh add ADDR lladdr"},
		{"neigh add 192.0.2.1 lladdr 02:00 dev black", "Ethernet address"},
		{"link add ipsec0 type xfrm dev black", "`link add NAME type xfrm dev black if_id N`, with an N from 1"},
		{"link add ipsec0 type xfrm dev black if_id 0", "with an N from 1"},
		{"link add ipsec0 type xfrm dev red if_id 1", "dev must be black, by which tunnels leave, not \"red\""},
		{"link add ipsec0 type xfrm dev black external", "external is not supported: write the if_id of the interface"},
		{"link add ipsec0 type xfrm if_id 4294967296", "the value of if_id"},
		{"link add black type xfrm if_id 1", "black is a port"},
		{"xfrm state add " + sa + "if_id 1 " + gcm, "an SA with if_id needs mode tunnel"},
		{"xfrm state add " + sa + "mode tunnel if_id x " + gcm, "the value of if_id"},
		{"xfrm policy add dir out if_id 1", "without a tmpl lets nothing out"},
		{"xfrm policy add dir in if_id 1 action block", "an in or fwd policy with if_id needs a tmpl"},
		{"xfrm policy add dir out if_id 1 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp", "a policy with if_id needs a tmpl of mode tunnel"},
		{"next-hop default dev red lladdr 02:00:00:00:00:01", "sallyctl alone"},
		{"xfrm state add 'unfinished", "no closing '"},
		{"xfrm state add \\", "no line follows"},
	} {
		_, err := ParseBatch("some.conf", []byte("# first line\n\n"+test.line))
		if err == nil {
			t.Errorf("accepted: %s", test.line)
			continue
		}
		message := err.Error()
		if !strings.HasPrefix(message, "some.conf:3: ") || !strings.Contains(message, test.reason) || strings.Contains(message, "\n") {
			t.Errorf("%s\n gave %q\n want %q", test.line, message, test.reason)
		}
		if strings.Contains(message, "0102030405") {
			t.Errorf("%s: the key is in %q", test.line, message)
		}
	}
}

func TestLex(t *testing.T) {
	input := "# comment\n\n  addr add 10.0.0.1/8 \\\n  dev red # to the end \\\nlink show\r\nxfrm 'a b' \"c d\"e\n"
	lines, err := Lex("f", []byte(input))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, words := range lines {
		for _, word := range words {
			got = append(got, fmt.Sprintf("%d:%s", word.Pos.Line, word.Text))
		}
		got = append(got, "|")
	}
	want := "3:addr 3:add 3:10.0.0.1/8 4:dev 4:red | 5:link 5:show | 6:xfrm 6:a b 6:c d 6:e |"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	add := parseOne(t, "xfrm state add "+sa+"mode tunnel "+gcm).(StateAdd)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if text := fmt.Sprintf(format, add.State.Aead.Key); text != Redacted {
			t.Errorf("%s prints %q", format, text)
		}
		if text := fmt.Sprintf(format, add); strings.Contains(text, "0203") || strings.Contains(text, "2 3 4") {
			t.Errorf("%s of a command prints the key: %q", format, text)
		}
	}
	if text, err := json.Marshal(add); err != nil || strings.Contains(string(text), "AQID") {
		t.Errorf("JSON of a command: %s, %v", text, err)
	}
	if _, err := json.Marshal(add.State.Aead.Key); err == nil {
		t.Error("a key was marshalled")
	}
	Wipe([]Command{add})
	if strings.Trim(string(add.State.Aead.Key), "\x00") != "" {
		t.Error("the key was not wiped")
	}
}
