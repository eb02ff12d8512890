// SPDX-License-Identifier: Apache-2.0

package xfrm

import (
	"fmt"
	"math/bits"
)

// MaxNodes is how many boxes may share an SA: the crypto chip keeps 7 bits of each number for them.
const MaxNodes = 128

// mostSoftNumber is the greatest that the field of a key row holds; that of hard limits holds
// MaxPackets.
const mostSoftNumber = 1<<48 - 1

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

// SoftNumber is the sequence number with which an outbound SA warns; 0: none.
func (s *State) SoftNumber() uint64 { return s.numberOf(s.PacketSoft, mostSoftNumber) }

// LastNumber is the last sequence number within an outbound SA's limit in packets; 0: none.
func (s *State) LastNumber() uint64 { return s.numberOf(s.PacketHard, MaxPackets) }

// numberOf is the number of packet n, from 1 on; 0 of 0. One that the SA does not reach, or that is
// above most, is the greatest of this node that is neither.
func (s *State) numberOf(n, most uint64) uint64 {
	if n == 0 {
		return 0
	}
	own := uint64(s.Node.Number)
	number := min(n<<s.Node.Bits()|own, s.MostNumber(), most)
	return number - (number-own)%(1<<s.Node.Bits())
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
