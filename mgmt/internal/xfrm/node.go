// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"math/bits"
)

// MaxNodes is how many boxes may share an SA: the crypto chip keeps 7 bits of each number for them.
const MaxNodes = 128

// Most numbers that the fields of a key row hold for the limits in packets.
const (
	mostSoftNumber = 1<<48 - 1
	mostHardNumber = MaxPackets
)

// Node is a box of those that share an outbound SA. Each sends numbers that end with its own bits,
// so none repeats a nonce of another (RFC 5116, 3.2), even one that it never heard of.
type Node struct {
	Number uint8 `json:"number"`
	// Of is a power of two, or 0 for an SA that one box alone has.
	Of uint8 `json:"of"`
}

// String prints it as it is read.
func (n Node) String() string { return fmt.Sprintf("node %d of %d", n.Number, n.Of) }

// Bits of each sequence number that say whose it is.
func (n Node) Bits() int { return bits.Len8(max(n.Of, 1)) - 1 }

// SoftNumber is the sequence number with which an outbound SA warns; 0: none. A number that the
// chip cannot hold is the greatest that it can.
func (s *State) SoftNumber() uint64 { return min(s.PacketSoft<<s.Node.Bits(), mostSoftNumber) }

// LastNumber is the last sequence number within an outbound SA's limit in packets; 0: none.
func (s *State) LastNumber() uint64 {
	if s.PacketHard == 0 {
		return 0
	}
	return min(s.PacketHard<<s.Node.Bits()|uint64(s.Node.Number), mostHardNumber)
}

// node reads `node NUMBER of NODES`, which iproute2 does not have.
func (p *parser) node(s *State) error {
	p.skip()
	number, err := p.number32("the number after node")
	if err != nil {
		return err
	}
	word, err := p.take("of NODES")
	if err != nil {
		return err
	}
	if string(word.Text) != "of" {
		return word.errorf("node %d must be followed by of NODES, not %s", number, word.quoted())
	}
	of, err := p.number32("the number of nodes")
	if err != nil {
		return err
	}
	word = p.words[p.next-1]
	switch {
	case of < 2 || of > MaxNodes || bits.OnesCount32(of) != 1:
		return word.errorf("an SA is shared by 2, 4, 8, 16, 32, 64 or %d nodes, not %d: write the next power of two, for some numbers may be unused", MaxNodes, of)
	case number >= of:
		return word.errorf("there is no node %d of %d: the numbers are 0 to %d", number, of, of-1)
	}
	s.Node = Node{uint8(number), uint8(of)}
	return nil
}

// CheckInboundNode refuses a node in an SA that is known to be inbound.
func (s *State) CheckInboundNode(pos Pos) error {
	if s.Node.Of != 0 {
		return Errorf(pos, "%s is of the numbers that an outbound SA sends, and the SA spi 0x%x is inbound: leave it out", s.Node, s.SPI)
	}
	return nil
}
