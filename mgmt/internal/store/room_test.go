// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// TestRoom: changes of all sizes, at places of the tables where hashes lead, never take more room
// than Reserve has asked for. SAs are as long as they get, and bring few rows.
func TestRoom(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "box.state"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	random := rand.New(rand.NewPCG(1, 2))
	state := NewState()
	state.Generation = 1
	age := uint64(0)
	for _, size := range []int{1, 3000, 1, 10, 300, 2, 1000, 5000, 40} {
		next := state.Begin()
		p := &plan.Plan{Target: &compile.Target{Part: &compile.Part{}}, Image: compile.NewImage()}
		var rows []Kept
		for range size {
			age++
			next.Model.Changes.SAs[age] = &model.SA{State: xfrm.State{Mode: strings.Repeat("x", 600)}, Way: xfrm.DirIn, Age: age}
			for _, table := range []regs.Table{regs.OuterTableSad, regs.InnerTableSelector} {
				index := random.IntN(1 << 16)
				rows = append(rows, Kept{table.Name, index, make(compile.Row, table.Words())})
				p.Writes = append(p.Writes, plan.Write{Chip: transport.Inner, Table: table, Index: index})
			}
			p.Writes = append(p.Writes, plan.Write{Chip: transport.Crypto, Table: regs.CryptoTableInboundKey})
		}
		if err := s.Reserve(p, next, true); err != nil {
			t.Fatal(err)
		}
		reserved := s.reserved
		if err := s.SavePart(p, rows, next); err != nil {
			t.Fatal(err)
		}
		checkRoom(t, s, reserved, size)
	}
	whole := NewState()
	whole.Image.SAD = map[int]compile.Row{}
	for n := range 6000 {
		whole.Model.LoadSA(&model.SA{State: xfrm.State{ID: xfrm.ID{SPI: uint32(n)}, Mode: strings.Repeat("x", 300)}, Way: xfrm.DirIn, Row: n, Age: uint64(n)})
		whole.Image.SAD[random.IntN(1<<16)] = make(compile.Row, regs.OuterTableSad.Words())
	}
	if err := s.Reserve(&plan.Plan{Target: &compile.Target{}, Image: whole.Image}, whole, false); err != nil {
		t.Fatal(err)
	}
	reserved := s.reserved
	if err := s.SaveAll(whole); err != nil {
		t.Fatal(err)
	}
	checkRoom(t, s, reserved, 6000)
}

func checkRoom(t *testing.T, s *Store, reserved int64, sas int) {
	t.Helper()
	_ = s.db.View(func(tx *bolt.Tx) error {
		if tx.Size() > reserved {
			t.Errorf("a change of %d SAs took %d bytes more than it had asked for", sas, tx.Size()-reserved)
		}
		return nil
	})
}
