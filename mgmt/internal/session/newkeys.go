// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"

	"sallyport/mgmt/internal/model"
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
		use := usedkeys.Use{Mark: mark, Number: sa.Node.Number, Of: sa.Node.Of}
		before, used, err := keys.Used(mark)
		if err != nil {
			return err
		}
		if used && before != use {
			return xfrm.Errorf(sa.Pos, "this box has had the key of the outbound SA spi 0x%x before with another node, so numbers may come twice under it: %s; make a new key", sa.SPI, sa.Suite().Repetition())
		}
		if used && sa.ReplayOSeq == 0 {
			return xfrm.Errorf(sa.Pos, "this box has had the key of the outbound SA spi 0x%x before, and its sequence numbers would start again at 1: %s; make a new key", sa.SPI, sa.Suite().Repetition())
		}
		uses = append(uses, use)
	}
	return keys.Add(uses)
}

// keysPath is the file of marks, beside the state unless it is said.
func (s *Session) keysPath() string {
	if s.KeysPath != "" {
		return s.KeysPath
	}
	return s.StatePath + ".keys"
}
