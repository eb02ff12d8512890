// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/binary"
	"net/netip"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// hostsOf is a queue of hosts behind a device, and the registers of their addresses.
type hostsOf struct {
	eventQueue
	dev   string
	words [4]regs.Register
}

var hostQueues = []hostsOf{
	{
		eventQueue{"host", transport.Inner, regs.InnerHostEvent, regs.InnerHostControl}, xfrm.Red,
		[4]regs.Register{regs.InnerHostAddr3, regs.InnerHostAddr2, regs.InnerHostAddr1, regs.InnerHostAddr0},
	},
	{
		eventQueue{"black_host", transport.Outer, regs.OuterHostEvent, regs.OuterHostControl}, xfrm.Black,
		[4]regs.Register{regs.OuterHostAddr3, regs.OuterHostAddr2, regs.OuterHostAddr1, regs.OuterHostAddr0},
	},
}

// Hosts takes the events of packets to hosts that have no row, in the networks that these name. One
// that was lost comes again with the host's next packet.
func (s *Source) Hosts() (hosts []model.NextHop, err error) {
	for _, q := range hostQueues {
		some, err := s.hostsOf(q)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, some...)
	}
	return hosts, nil
}

func (s *Source) hostsOf(q hostsOf) (hosts []model.NextHop, err error) {
	var sources []chip.Source
	for _, word := range q.words {
		sources = append(sources, chip.Source{Chip: q.chip, Register: word})
	}
	_, err = s.takeQueue(q.eventQueue, func(event []uint32) error {
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
		hosts = append(hosts, model.NextHop{Dev: q.dev, IP: host, Network: int(regs.InnerHostEventNetwork.Get(event))})
		return nil
	})
	return hosts, err
}
