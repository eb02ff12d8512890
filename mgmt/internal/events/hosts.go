// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/binary"
	"net/netip"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

var hostWords = []regs.Register{regs.InnerHostAddr3, regs.InnerHostAddr2, regs.InnerHostAddr1, regs.InnerHostAddr0}

// Hosts takes the events of packets to hosts that have no row. One that was lost comes again with
// the host's next packet.
func (s *Source) Hosts() (hosts []netip.Addr, err error) {
	var sources []chip.Source
	for _, word := range hostWords {
		sources = append(sources, chip.Source{Chip: transport.Inner, Register: word})
	}
	_, err = s.takeQueue(hostQueue, func(event []uint32) error {
		words, err := s.Box.ReadAll(sources...)
		if err != nil {
			return err
		}
		var bytes []byte
		for _, word := range words {
			bytes = binary.BigEndian.AppendUint32(bytes, word)
		}
		if regs.InnerHostEventVersion.Get(event) == 4 {
			bytes = bytes[12:]
		}
		host, _ := netip.AddrFromSlice(bytes)
		hosts = append(hosts, host)
		return nil
	})
	return hosts, err
}
