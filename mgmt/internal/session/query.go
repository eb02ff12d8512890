// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// Carried is what an SA or a policy has carried.
type Carried struct {
	Bytes, Packets uint64
	// Age tells it from any other that was or will be.
	Age uint64
	// Added is when an SA came to the chips, in seconds since the epoch.
	Added int64
	// Sequence is the highest number that an inbound SA with a window has received, or an outbound
	// one has used; nil of others, for no chip shows theirs.
	Sequence *uint64
	// Expired is the limit that an SA has reached, "soft" or "hard", whether or not anybody took
	// the event; "" for none.
	Expired string
}

// State says what the SA of that destination, protocol and SPI has carried; src, if it is given,
// must be its own.
func (v *View) State(id xfrm.ID) (out Carried, err error) {
	sa, err := v.named(id)
	if err != nil {
		return out, err
	}
	used, err := sa.UsageOf(meter{v.box})
	if err != nil {
		return out, err
	}
	out = Carried{Bytes: used.Bytes, Packets: used.Packets, Age: sa.Age, Added: sa.Added, Expired: v.expired(sa, used)}
	number, known, err := v.number(sa)
	if known {
		out.Sequence = &number
	}
	return out, err
}

// named finds an SA.
func (v *View) named(id xfrm.ID) (*model.SA, error) {
	sa := v.model.SAs.Find(id)
	if sa == nil || id.Src.IsValid() && id.Src != sa.Src {
		return nil, xfrm.Errorf(xfrm.Pos{}, "there is no SA with dst %s proto %s spi 0x%x", id.Dst, id.Proto, id.SPI)
	}
	return sa, nil
}

// Policy says what a policy has carried; the error says so if the chips do not count its packets.
func (v *View) Policy(f xfrm.PolicyFilter) (out Carried, err error) {
	p, err := v.model.FindPolicy(f, xfrm.Pos{})
	if err != nil {
		return out, err
	}
	if p == nil {
		return out, xfrm.Errorf(xfrm.Pos{}, "there is no policy with %s", f)
	}
	used, known, err := v.model.UsageOfPolicy(p, meter{v.box})
	if err == nil && !known {
		return out, xfrm.Errorf(xfrm.Pos{}, "the chips do not count the packets of the policy with %s", f)
	}
	return Carried{Bytes: used.Bytes, Packets: used.Packets, Age: p.Age}, err
}

// States gives each SA as `ip xfrm state list` prints it, with its keys redacted.
func (v *View) States() ([]string, error) { return v.model.DescribeSAs(v.model.SAs.All(), nil) }

// Policies gives each policy as `ip xfrm policy list` prints it.
func (v *View) Policies() ([]string, error) {
	return v.model.DescribePolicies(v.model.Policies.All(), nil)
}

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
