// SPDX-License-Identifier: Apache-2.0

package fakebox

import (
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// command performs a command of a table window: a row is written or read, or refused.
func (b *Box) command(c transport.Chip, command uint32) {
	chip := b.chips[c]
	number, index := chip.registers[regs.CommonTableSelect.Offset], int(chip.registers[regs.CommonTableIndex.Offset])
	chip.busy, chip.failed = b.BusyReads, true
	if int(number) >= len(tables[c]) || !b.has(c, number, index) {
		return
	}
	t := tables[c][number]
	switch {
	case command == regs.TableCommandWrite && chip.torn:
		chip.data = [32]uint32{}
		return
	case command == regs.TableCommandWrite:
		row := append([]uint32(nil), chip.data[:t.Words()]...)
		switch t.Name {
		case regs.CryptoTableOutboundKey.Name:
			delete(chip.tables[regs.CryptoTableOutboundNumber.Number], index)
		case regs.CryptoTableOutboundNumber.Name:
			if before := chip.tables[number][index]; before != nil && regs.OutboundNumberRow.Last.Get(before) > regs.OutboundNumberRow.Last.Get(row) {
				row = before
			}
		}
		chip.tables[number][index] = row
		delete(b.flipped, rowAt{c, t.Name, index})
		zero := true
		for _, word := range row {
			zero = zero && word == 0
		}
		if zero {
			delete(chip.tables[number], index)
		}
		b.Log = append(b.Log, Row{c, t.Name, index, row})
		if b.OnRow != nil {
			b.OnRow(b.Log[len(b.Log)-1])
		}
		chip.data = [32]uint32{}
	case command == regs.TableCommandRead && !t.WriteOnly:
		chip.data = [32]uint32{}
		copy(chip.data[:], chip.tables[number][index])
	default:
		return
	}
	chip.failed = false
}

// has says whether a table has a row.
func (b *Box) has(c transport.Chip, number uint32, index int) bool {
	levels := map[string]int{
		regs.InnerTablePrefix.Name: 5, regs.InnerTablePrefixChild.Name: 4, regs.OuterTableBlackPrefix.Name: 5, regs.OuterTableBlackPrefixChild.Name: 4,
	}[tables[c][number].Name]
	switch {
	case levels == 0:
		return index < b.rows(c, number)
	case c == transport.Inner && b.hasPolicies():
		levels = 5
	}
	// A node's index is its level, and 12 bits of its row.
	bits := int(b.chips[c].registers[regs.CommonCapabilityPrefixBits.Offset])
	rows := []int{8, 32, 64, 1 << bits / 8, 1 << bits}
	return bits > 0 && index>>12 < levels && index&0xfff < rows[index>>12]
}

// hasPolicies says whether the inner chip has policies by prefix, to which leaves lead.
func (b *Box) hasPolicies() bool {
	return b.chips[transport.Inner].registers[regs.CommonCapabilityPolicyBits.Offset] > 0
}

// rows is how many rows a table has, by the chip's capabilities.
func (b *Box) rows(c transport.Chip, number uint32) int {
	get := func(r regs.Register) int { return int(b.chips[c].registers[r.Offset]) }
	switch tables[c][number].Name {
	case "flow", "policy_usage":
		return 1 << get(regs.CommonCapabilityFlowBits)
	case "sad":
		return 1 << get(regs.CommonCapabilitySadBits)
	case "rule", "inbound_rule":
		return get(regs.CommonCapabilityRules)
	case "next_hop":
		return get(regs.CommonCapabilityNextHops)
	case "host", "black_host":
		return 1 << get(regs.CommonCapabilityHostBits)
	case "peer":
		return 1 << get(regs.CommonCapabilityPeerBits)
	case "prefix_root":
		return 256
	case "network":
		return 4096
	case "prefix_policy":
		if !b.hasPolicies() {
			return 0
		}
		return 1 << get(regs.CommonCapabilityPolicyBits)
	case "black_prefix_root":
		return 2
	case "hop_group", "black_hop_group":
		return 256
	case "dummy":
		return 16
	case "dscp_map":
		return 16 * 64
	case "dscp_sa":
		return 64 * 64
	case "replay":
		return 2 << get(regs.CommonCapabilitySaBits)
	}
	return 1 << get(regs.CommonCapabilitySaBits)
}
