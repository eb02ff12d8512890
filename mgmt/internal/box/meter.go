package box

import (
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// meter reads what SAs and policies have carried off the inner chip.
type meter struct{ box *chip.Box }

func (m meter) OfSA(sa *SA) (Usage, error) {
	row, err := m.box.ReadRow(transport.Inner, usageTable(sa.Way), sa.Row)
	if err != nil {
		return Usage{}, err
	}
	f := regs.SaUsageRow
	return Usage{f.Bytes.Get(row) + sa.ByteHard, f.Packets.Get(row) + sa.PacketHard, f.Warned.Get(row) != 0, f.Expired.Get(row) != 0}, nil
}

func (m meter) OfRow(index int) (Usage, error) {
	row, err := m.box.ReadRow(transport.Inner, regs.InnerTablePolicyUsage, index)
	if err != nil {
		return Usage{}, err
	}
	f := regs.PolicyUsageRow
	return Usage{Bytes: f.Bytes.Get(row), Packets: f.Packets.Get(row)}, nil
}
