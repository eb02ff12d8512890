// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"slices"

	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/usedkeys"
	"sallyport/mgmt/internal/xfrm"
)

// claimKeys refuses new outbound SAs whose key the box has had before, because their sequence
// numbers would begin again under it (RFC 4303, 3.3.3). It stores marks of the other keys before
// any key is on a chip, so an interrupted change has used them.
func (s *Session) claimKeys(m *model.Model) (err error) {
	var list []*model.SA
	for _, sa := range m.Changes.Added() {
		if sa.Way == xfrm.DirOut && sa.Suite().Repetition() != "" {
			list = append(list, sa)
		}
	}
	if len(list) == 0 {
		return nil
	}
	if s.Initial {
		return xfrm.Errorf(list[0].Pos, "the initial batch cannot hold the outbound SA spi 0x%x: each load would begin its sequence numbers again under the same key; leave it to IKE, or load a new key by hand", list[0].SPI)
	}
	keys, err := usedkeys.Open(s.keysPath())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keys.Close()) }()
	var uses []usedkeys.Use
	seen := map[usedkeys.Mark]*model.SA{}
	for _, sa := range list {
		mark := keys.Mark(sa.Crypt().Key)
		if other := seen[mark]; other != nil {
			return xfrm.Errorf(sa.Pos, "the outbound SAs spi 0x%x and 0x%x have one key: their %s; give each its own", other.SPI, sa.SPI, sa.Suite().Repetition())
		}
		seen[mark] = sa
		use := usedkeys.Use{Mark: mark, Number: sa.Node.Number, Of: sa.Node.Of, SPI: sa.SPI, Dst: sa.Dst}
		before, used, err := keys.Used(mark)
		if err != nil {
			return err
		}
		if used && lives(m, sa, before) {
			return xfrm.Errorf(sa.Pos, "the outbound SA spi 0x%x, which is there or goes with this change, has the key of the SA spi 0x%x, and numbers would come twice under it: %s; make a new key", before.SPI, sa.SPI, sa.Suite().Repetition())
		}
		if used && (before.Number != use.Number || before.Of != use.Of) {
			return xfrm.Errorf(sa.Pos, "this box has had the key of the outbound SA spi 0x%x before with another node, so numbers may come twice under it: %s; make a new key", sa.SPI, sa.Suite().Repetition())
		}
		if used && sa.ReplayOSeq == 0 {
			return xfrm.Errorf(sa.Pos, "this box has had the key of the outbound SA spi 0x%x before, and its sequence numbers would start again: %s; make a new key", sa.SPI, sa.Suite().Repetition())
		}
		uses = append(uses, use)
	}
	return keys.Add(uses)
}

// lives says whether the SA that had a key last is there beside another one, or goes with the
// change that brings it again: then only the chip knows its number.
func lives(m *model.Model, sa *model.SA, last usedkeys.Use) bool {
	held := func(other *model.SA) bool {
		return other != sa && other.Way == xfrm.DirOut && other.SPI == last.SPI && other.Dst == last.Dst
	}
	return slices.ContainsFunc(m.Changes.Removed(), held) || slices.ContainsFunc(slices.Collect(m.SAs.OfSPI(last.SPI)), held)
}

// checkNodes refuses new SAs of nodes that the crypto chip does not know: an older one would give
// each node the same numbers.
func (s *Session) checkNodes(m *model.Model) error {
	bits := s.Box.Capabilities[transport.Crypto].NodeBits
	for _, sa := range m.Changes.Added() {
		if sa.Node.Bits() > bits {
			return xfrm.Errorf(sa.Pos, "the crypto chip names %d bits of a node, and %s of the SA spi 0x%x needs %d: its bitstream is older than this program", bits, sa.Node, sa.SPI, sa.Node.Bits())
		}
	}
	return nil
}

// keysPath is the file of marks, beside the state unless it is said.
func (s *Session) keysPath() string {
	if s.KeysPath != "" {
		return s.KeysPath
	}
	return s.StatePath + ".keys"
}
