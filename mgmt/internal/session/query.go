// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/xfrm"
)

// Carried is what an SA or a policy has carried.
type Carried struct {
	Bytes, Packets uint64
	// Age tells it from any other that was or will be.
	Age uint64
	// Added is when an SA came to the chips, in seconds since the epoch.
	Added int64
	// Sequence is the highest number that an inbound SA with a window has received, or an outbound one has used; nil of others, for no chip shows theirs.
	Sequence *uint64
	// Expired is the limit that an SA has reached, "soft" or "hard", whether or not anybody took the event; "" for none.
	Expired string
}

// querying gives the model to `query`, which changes nothing.
func (s *Session) querying(query func(*model.Model) error) error {
	return s.reading(func(state *stored) error {
		return query(state.Model)
	})
}

// State says what the SA of that destination, protocol and SPI has carried; src, if it is given, must be its own.
func (s *Session) State(id xfrm.ID) (out Carried, err error) {
	err = s.querying(func(m *model.Model) error {
		sa := m.FindSA(id)
		if sa == nil || id.Src.IsValid() && id.Src != sa.Src {
			return xfrm.Errorf(xfrm.Pos{}, "there is no SA with dst %s proto %s spi 0x%x", id.Dst, id.Proto, id.SPI)
		}
		used, err := sa.UsageOf(meter{s.Box})
		if err != nil {
			return err
		}
		out = Carried{Bytes: used.Bytes, Packets: used.Packets, Age: sa.Age, Added: sa.Added, Expired: s.expired(sa, used)}
		number, known, err := s.number(sa)
		if known {
			out.Sequence = &number
		}
		return err
	})
	return out, err
}

// Policy says what a policy has carried; the error says so if the chips do not count its packets.
func (s *Session) Policy(f xfrm.PolicyFilter) (out Carried, err error) {
	err = s.querying(func(m *model.Model) error {
		p := m.FindPolicy(f.Selector, f.Dir)
		if p == nil {
			return xfrm.Errorf(xfrm.Pos{}, "there is no policy with dir %s and selector %s", f.Dir, f.Selector)
		}
		used, known, err := m.UsageOfPolicy(p, meter{s.Box})
		if err == nil && !known {
			return xfrm.Errorf(xfrm.Pos{}, "the chips do not count the packets of the policy with dir %s and selector %s", f.Dir, f.Selector)
		}
		out = Carried{Bytes: used.Bytes, Packets: used.Packets, Age: p.Age}
		return err
	})
	return out, err
}

// States gives each SA as `ip xfrm state list` prints it, with its keys redacted.
func (s *Session) States() (texts []string, err error) {
	return s.describing(func(m *model.Model, add func(string, error) error) error {
		for _, sa := range m.SAs {
			if err := add(m.DescribeSA(sa, nil)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Policies gives each policy as `ip xfrm policy list` prints it.
func (s *Session) Policies() (texts []string, err error) {
	return s.describing(func(m *model.Model, add func(string, error) error) error {
		for _, p := range m.Policies {
			if err := add(m.DescribePolicy(p, nil)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Session) describing(each func(m *model.Model, add func(string, error) error) error) (texts []string, err error) {
	err = s.querying(func(m *model.Model) error {
		return each(m, func(text string, err error) error {
			texts = append(texts, text)
			return err
		})
	})
	return texts, err
}

// Census is the numbers of configured SAs and policies.
type Census struct {
	SAs, Policies map[xfrm.Dir]int
	InboundSPIs   map[uint32]bool // which a new inbound SA cannot have
	Ages          map[uint64]bool // of all SAs and policies
}

// Census counts the configured SAs and policies.
func (s *Session) Census() (Census, error) {
	out := Census{map[xfrm.Dir]int{}, map[xfrm.Dir]int{}, map[uint32]bool{}, map[uint64]bool{}}
	err := s.querying(func(m *model.Model) error {
		for _, sa := range m.SAs {
			out.SAs[sa.Way]++
			out.Ages[sa.Age] = true
			if sa.Way == xfrm.DirIn {
				out.InboundSPIs[sa.SPI] = true
			}
		}
		for _, p := range m.Policies {
			out.Policies[p.Dir]++
			out.Ages[p.Age] = true
		}
		return nil
	})
	return out, err
}
