// SPDX-License-Identifier: Apache-2.0

package punt

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"sallyport/mgmt/internal/model"
)

// Messages of scapy: Ether()/IP(src="203.0.113.9", dst="192.0.2.1")/ICMP(type=3, code=4,
// nexthopmtu=1400)/… about IP(src="192.0.2.1", dst="192.0.2.2", flags="DF", len=1496)/
// ESP(spi=0x1001, seq=9, data=…), the same in UDP(sport=4500, dport=4501), and
// ICMPv6PacketTooBig(mtu=1400)/….
const (
	told4   = "0262c000020102000000009908004500004c0001000040017ca5cb007109c0000201030432c500000578450005d8000740003c32b4e9c0000201c000020200001001000000097878787878787878787878787878787878787878"
	toldUDP = "0262c00002010200000000990800450000540001000040017c9dcb007109c0000201030409d800000578450005d8000740003c11b50ac0000201c00002021194119505c4000000001001000000097878787878787878787878787878787878787878"
	told6   = "0262c000020102000000009986dd60000000004d3a4020010db800770000000000000000000920010db800c000000000000000000001020069a8000005786000000005b0324020010db800c00000000000000000000120010db800c0000000000000000000020000100100000009787878787878787878787878787878787878787878"
)

func TestReadPathReport(t *testing.T) {
	want4 := model.PathReport{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"), SPI: 0x1001, Number: 9, Length: 1496, MTU: 1400}
	wantUDP, want6 := want4, want4
	wantUDP.Encap, wantUDP.SPort, wantUDP.DPort = true, 4500, 4501
	want6.Src, want6.Dst = netip.MustParseAddr("2001:db8:c0::1"), netip.MustParseAddr("2001:db8:c0::2")
	for _, test := range []struct {
		frame string
		want  model.PathReport
	}{{told4, want4}, {toldUDP, wantUDP}, {told6, want6}} {
		if got, ok := ReadPathReport(unhex(t, test.frame)); !ok || got != test.want {
			t.Errorf("%t %+v, want %+v", ok, got, test.want)
		}
		// A bit of the message that is flipped on its way shows in the checksum.
		for at := 14 + 40; at < len(test.frame)/2; at++ {
			frame := unhex(t, test.frame)
			frame[at] ^= 4
			if _, ok := ReadPathReport(frame); ok {
				t.Errorf("a wrong bit in byte %d of %s", at, test.frame)
			}
		}
	}
}

// TestNoPathReport: messages with a right checksum that say nothing of a packet of ESP that their
// receiver sent.
func TestNoPathReport(t *testing.T) {
	const ip, message4, quoted4, message6, quoted6 = 14, 34, 42, 54, 62
	short := func(text string, lengthAt, bytes int) []byte {
		frame := unhex(t, text)
		frame = frame[:len(frame)-bytes]
		binary.BigEndian.PutUint16(frame[lengthAt:], binary.BigEndian.Uint16(frame[lengthAt:])-uint16(bytes))
		return frame
	}
	for name, test := range map[string]struct {
		frame []byte
		edit  map[int]byte
		want  bool
	}{
		"as it is":                          {unhex(t, told4), nil, true},
		"another type":                      {unhex(t, told4), map[int]byte{message4: 11}, false},
		"another code":                      {unhex(t, told4), map[int]byte{message4 + 1: 3}, false},
		"may be cut":                        {unhex(t, told4), map[int]byte{quoted4 + 6: 0}, false},
		"about a later fragment":            {unhex(t, told4), map[int]byte{quoted4 + 7: 1}, false},
		"about IPv6 in IPv4":                {unhex(t, told4), map[int]byte{quoted4: 0x65}, false},
		"about a header of 16 bytes":        {unhex(t, told4), map[int]byte{quoted4: 0x44}, false},
		"about a header that is cut":        {unhex(t, told4), map[int]byte{quoted4: 0x4F}, false},
		"about UDP of other ports":          {unhex(t, told4), map[int]byte{quoted4 + 9: 17}, true},
		"about TCP":                         {unhex(t, told4), map[int]byte{quoted4 + 9: 6}, false},
		"about another's packet":            {unhex(t, told4), map[int]byte{quoted4 + 15: 2}, false},
		"in a later fragment":               {unhex(t, told4), map[int]byte{ip + 7: 1}, false},
		"no ICMP":                           {unhex(t, told4), map[int]byte{ip + 9: 2}, false},
		"with ESP's header alone":           {short(told4, ip+2, 20), nil, true},
		"without the number's last byte":    {short(told4, ip+2, 21), nil, false},
		"in UDP, without the number":        {short(toldUDP, ip+2, 24), nil, false},
		"without its MTU":                   {short(told4, ip+2, 50), nil, false},
		"IPv6":                              {unhex(t, told6), nil, true},
		"IPv6, another type":                {unhex(t, told6), map[int]byte{message6: 1}, false},
		"IPv6, about IPv4":                  {unhex(t, told6), map[int]byte{quoted6: 0x45}, false},
		"IPv6, about another's packet":      {unhex(t, told6), map[int]byte{quoted6 + 23: 7}, false},
		"IPv6, without the SPI's last byte": {short(told6, ip+4, 26), nil, false},
	} {
		for at, value := range test.edit {
			test.frame[at] = value
		}
		mend(test.frame)
		if got, ok := ReadPathReport(test.frame); ok != test.want {
			t.Errorf("%s: %t %+v", name, ok, got)
		}
	}
	if _, ok := ReadPathReport(unhex(t, told4)[:13]); ok {
		t.Error("of a frame without a type")
	}
}

// mend makes the checksum of a message right.
func mend(frame []byte) {
	packet := frame[14:]
	message, pseudo := packet[20:], []byte(nil)
	if packet[0]>>4 == 6 {
		message = packet[40:]
		pseudo = append(append(pseudo, packet[8:40]...), 0, 0, 0, byte(len(message)), 0, 0, 0, 58)
	}
	message[2], message[3] = 0, 0
	binary.BigEndian.PutUint16(message[2:], checksum(append(pseudo, message...)))
}

// TestSentLately: at both ends of the numbers that an SA can have sent lately, with extended
// numbers too.
func TestSentLately(t *testing.T) {
	for _, test := range []struct {
		last   uint64
		number uint32
		want   bool
	}{
		{0, 0, false}, {0, 1, false}, {1, 0, false}, {1, 1, true}, {1, 2, false}, {1, 0xFFFFFFFF, false},
		{1<<31 - 1, 1, true}, {1<<31 - 1, 1<<31 - 1, true}, {1<<31 - 1, 1 << 31, false},
		{1 << 31, 0, false}, {1 << 31, 1, true}, {1<<31 + 5, 5, false}, {1<<31 + 5, 6, true},
		{1<<32 - 1, 1<<32 - 1, true}, {1<<32 - 1, 1<<31 - 1, false}, {1<<32 - 1, 1 << 31, true},
		{1 << 32, 0, true}, {1 << 32, 1<<32 - 1, true}, {1 << 32, 1, false},
		{5<<32 + 7, 7, true}, {5<<32 + 7, 8, false}, {5<<32 + 7, 1<<31 + 8, true}, {5<<32 + 7, 1<<31 + 7, false},
	} {
		if got := SentLately(test.last, test.number); got != test.want {
			t.Errorf("last %d, number %d: %t", test.last, test.number, got)
		}
	}
}
