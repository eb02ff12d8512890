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
		{"xfrm state add " + sa + "mode tunnel dir out node 0 of 2 " + gcm, func(s *State) { s.Dir, s.Node = DirOut, Node{0, 2} }},
		{"xfrm state add " + sa + "mode tunnel node 127 of 128 " + gcm, func(s *State) { s.Node = Node{127, 128} }},
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
