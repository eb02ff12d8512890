package box

import (
	"cmp"
	"net/netip"

	"sallyport/mgmt/internal/xfrm"
)

// TooLong is a packet that is longer than its path takes, and what its sender has to be told.
type TooLong struct {
	Head, Packet []byte     // of its frame: the Ethernet header with tags, and the rest
	From         netip.Addr // that of the red port
	MTU          uint32     // the longest packet of its flow that passes
}

// TooLong reads a frame that the inner chip punted for its length (RFC 4301, 8.2.1). False if its sender is not to be told: nobody sent it alone or to one
// host, it tells of an error itself (RFC 1122, 3.2.2; RFC 4443, 2.4 e), the red port has no address of its IP version, as none has in a bridge, or the policy
// that had a limit is gone.
func (s *Session) TooLong(frame []byte) (long TooLong, ok bool, err error) {
	err = s.querying(func(m *Model) error {
		packet, read := readPacket(frame, m.skipped())
		if !read || m.bump() || !answerable(packet) {
			return nil
		}
		p := m.outPolicy(packet)
		if p == nil {
			return nil
		}
		long.Head, long.Packet, _ = splitFrame(frame)
		long.From, long.MTU = m.local(xfrm.Red, packet.Version() == 6), m.entryMTU(p, packet)
		ok = long.From.IsValid() && long.MTU != 0
		return nil
	})
	return long, ok, err
}

// Messages of ICMP that are no errors. All of ICMPv6 below 128 are (RFC 4443, 2.1).
var noErrors = map[uint16]bool{0: true, 8: true, 9: true, 10: true, 13: true, 14: true, 15: true, 16: true, 17: true, 18: true}

const firstV6Information = 128

// answerable says whether ICMP may tell the sender of a packet of an error.
func answerable(packet xfrm.Selector) bool {
	const icmp, icmpV6 = 1, 58
	src, dst := packet.Src.Addr(), packet.Dst.Addr()
	switch {
	case !src.IsGlobalUnicast() || src.Is4() && src.As4()[0] >= 240: // class E, and a broadcast
		return false
	case dst.Is4() && (dst.IsMulticast() || dst.As4()[0] >= 240):
		return false
	case packet.Proto == icmp:
		return packet.Type.Given && noErrors[packet.Type.First]
	case packet.Proto == icmpV6:
		return packet.Type.Given && packet.Type.First >= firstV6Information
	}
	return true
}

// entryMTU is the longest packet that the rows of an out policy let a packet of its be; 0 if they have no limit.
func (m *Model) entryMTU(p *Policy, packet xfrm.Selector) uint32 {
	if p.Template == nil && p.Action == xfrm.ActionAllow {
		for _, sel := range p.ByDst() {
			if sel.Covers(packet) {
				return cmp.Or(m.lookup(xfrm.Black, sel.Dst).mtu, m.mtu(xfrm.Black))
			}
		}
	}
	if p.Template == nil {
		return 0
	}
	for _, choice := range newFinder(m.SAs).choices(p) {
		if sas := choice.sas(); sas[0].Carried(p.Selector).Covers(packet) {
			mtu, _ := m.sharedMTU(sas, p.pos) // what cannot be was refused when it was written
			return mtu
		}
	}
	return 0
}
