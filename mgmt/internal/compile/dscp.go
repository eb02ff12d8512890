// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/xfrm"
)

// DscpArrays and dscpBlocks are how many arrays of DSCPs the outer chip has, and blocks of SAs the
// inner one (regs/rows.rdl).
const (
	DscpArrays = 16
	DscpBlocks = 64
)

// Block is an array of dscp_map or a block of dscp_sa: for each DSCP a row's only word, 0 of one
// that is not valid.
type Block [model.Dscps]uint32

// blockOf is what the inner chip is told of a choice.
func blockOf(c *model.Choice) (b Block) {
	f := regs.DscpSaRow
	for dscp, sa := range c.By {
		if sa == nil {
			sa = c.All
		}
		if sa != nil {
			row := newRow(f.Bits)
			f.Valid.Put(row, 1)
			f.Sa.Put(row, uint64(sa.Row))
			b[dscp] = row[0]
		}
	}
	return b
}

// mapBlock is what the outer chip is told of a map.
func mapBlock(m xfrm.DSCPMap) (b Block) {
	f := regs.DscpMapRow
	for from, to := range m {
		row := newRow(f.Bits)
		f.Valid.Put(row, 1)
		f.Dscp.Put(row, uint64(to))
		b[from] = row[0]
	}
	return b
}

// BlockAt is a block as it is on a chip.
func BlockAt(rows map[int]Row, number int) (b Block) {
	for dscp := range b {
		if row := rows[number*model.Dscps+dscp]; row != nil {
			b[dscp] = row[0]
		}
	}
	return b
}

// placeDSCPs gives each different map of DSCPs an array of the outer chip, and each different
// choice of SAs by DSCP a block of the inner one. Policies lead to blocks, so a block in use serves
// no other choice before rows let go of it (detach). An array may change in use, for only a
// packet's mark changes.
func (c *compiler) placeDSCPs() error {
	arrays, blocks := newPlacer(c.old.DSCPMap, DscpArrays, true), newPlacer(c.old.DSCPSA, DscpBlocks, c.reuse)
	byDSCP := false
	for sa := range c.m.SAs.All() {
		if sa.DSCP.Map != nil && sa.Way == xfrm.DirOut {
			arrays.want(mapBlock(sa.DSCP.Map), xfrm.Errorf(sa.Pos, "no room for the dscp map of the SA spi 0x%x: the chip holds %d different ones", sa.SPI, DscpArrays))
		}
		byDSCP = byDSCP || sa.ForDSCP != 0
	}
	for p := range c.m.Policies.All() {
		if !byDSCP || p.Dir != xfrm.DirOut || p.Template == nil {
			continue
		}
		for _, choice := range c.m.Choices(p) {
			if choice.ByDSCP() {
				blocks.want(blockOf(&choice), xfrm.Errorf(p.Pos, "no room for the SAs with for-dscp that the policy %s chooses from: the chip holds %d different sets of such SAs", p.Selector, DscpBlocks))
			}
		}
	}
	var err error
	if c.arrays, c.out.DscpMap, err = arrays.place(); err != nil {
		return err
	}
	c.blocks, c.out.DscpSA, err = blocks.place()
	return err
}

// placer finds places for blocks: for one that is there already its own.
type placer struct {
	had    []Block // by place
	reuse  bool    // places whose block is not wanted any more may be taken
	order  []Block
	wanted map[Block]error // what to say if there is no place
}

func newPlacer(old map[int]Row, places int, reuse bool) *placer {
	p := &placer{had: make([]Block, places), reuse: reuse, wanted: map[Block]error{}}
	if len(old) > 0 {
		for i := range p.had {
			p.had[i] = BlockAt(old, i)
		}
	}
	return p
}

func (p *placer) want(b Block, full error) {
	if p.wanted[b] == nil {
		p.wanted[b] = full
		p.order = append(p.order, b)
	}
}

func (p *placer) place() (numbers map[Block]int, rows map[int]Row, err error) {
	numbers, rows = map[Block]int{}, map[int]Row{}
	var free, last []int // last: the rows there are not wanted any more
	for i, b := range p.had {
		_, twice := numbers[b]
		switch {
		case p.wanted[b] != nil && !twice:
			numbers[b] = i
		case b == Block{}:
			free = append(free, i)
		case p.reuse:
			last = append(last, i)
		}
	}
	free = append(free, last...)
	for _, b := range p.order {
		if _, placed := numbers[b]; !placed {
			if len(free) == 0 {
				return nil, nil, &FullError{Err: p.wanted[b]}
			}
			numbers[b], free = free[0], free[1:]
		}
		for dscp, word := range b {
			if word != 0 {
				rows[numbers[b]*model.Dscps+dscp] = Row{word}
			}
		}
	}
	return numbers, rows, nil
}
