// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// meter reads what SAs and policies have carried off the inner chip.
type meter struct{ box *chip.Box }

func (m meter) OfSA(sa *model.SA) (model.Usage, error) {
	row, err := m.box.ReadRow(transport.Inner, compile.UsageTable(sa.Way), sa.Row)
	if err != nil {
		return model.Usage{}, err
	}
	f := regs.SaUsageRow
	return model.Usage{Bytes: f.Bytes.Get(row) + sa.ByteHard, Packets: f.Packets.Get(row) + sa.PacketHard, Warned: f.Warned.Get(row) != 0, Expired: f.Expired.Get(row) != 0}, nil
}

func (m meter) OfRow(index int) (model.Usage, error) {
	row, err := m.box.ReadRow(transport.Inner, regs.InnerTablePolicyUsage, index)
	if err != nil {
		return model.Usage{}, err
	}
	f := regs.PolicyUsageRow
	return model.Usage{Bytes: f.Bytes.Get(row), Packets: f.Packets.Get(row)}, nil
}
