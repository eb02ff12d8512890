// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"sallyport/mgmt/internal/compile"
	"sallyport/mgmt/internal/disk"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// journal is what a change does to keys, which no chip shows: the rows of the key tables that it
// writes or clears. It is on the disk before the first register is written, so that a change that
// is cut short can be undone.
type journal struct {
	// Before is the generation of the configuration that the change starts from, Generation the one
	// that it leads to. SCRATCH has the latter from the first write on.
	Before     uint32 `json:"before"`
	Generation uint32 `json:"generation"`
	// Earlier are the generations of changes that were cut short before, whose marks a chip may
	// still have.
	Earlier []uint32 `json:"earlier,omitempty"`
	Out     []int    `json:"out,omitempty"`
	In      []int    `json:"in,omitempty"`
}

// keys are the rows of a direction.
func (j *journal) keys(way xfrm.Dir) *[]int {
	if way == xfrm.DirOut {
		return &j.Out
	}
	return &j.In
}

// touch notes rows of a direction's key table.
func (j *journal) touch(way xfrm.Dir, rows ...int) {
	list := j.keys(way)
	*list = append(*list, rows...)
}

// touchAll notes those that a plan writes.
func (j *journal) touchAll(writes []plan.Write) {
	for _, w := range writes {
		switch {
		case w.Chip != transport.Crypto:
		case w.Table == regs.CryptoTableOutboundKey:
			j.touch(xfrm.DirOut, w.Index)
		case w.Table == regs.CryptoTableInboundKey:
			j.touch(xfrm.DirIn, w.Index)
		}
	}
	j.sort()
}

// sort orders the rows, as lose looks for them.
func (j *journal) sort() {
	for _, list := range []*[]int{&j.Out, &j.In} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

func (s *Session) journalPath() string { return s.StatePath + ".journal" }

// record writes the journal. No chip has its generation yet, so it says nothing until begin.
func (s *Session) record(j *journal) error {
	text, err := json.Marshal(j)
	if err == nil {
		err = disk.Replace(s.journalPath(), text)
	}
	return disk.Failed("cannot write the journal of the change, "+s.journalPath(), err)
}

// begin writes SCRATCH: from here on the tables are those of no configuration. The journal is on
// the disk.
func (s *Session) begin(j *journal) error {
	s.published.writing.Store(j.Generation)
	return s.mark(j.Generation)
}

// interrupted reads the journal of the change from a configuration that was cut short; nil if there
// is none.
func (s *Session) interrupted(before uint32) (*journal, error) {
	text, err := os.ReadFile(s.journalPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the journal of the last change: %w", err)
	}
	j := &journal{}
	if err := json.Unmarshal(text, j); err != nil || j.Before != before {
		return nil, nil // of another configuration, or half of one that was never begun
	}
	return j, nil
}

// lose removes the SAs whose keys a change that was cut short may have cleared or overwritten, and
// says which.
func (j *journal) lose(m *model.Model) (lost []xfrm.ID) {
	gone := func(sa *model.SA) bool {
		_, found := slices.BinarySearch(*j.keys(sa.Way), sa.Row)
		return found
	}
	var all []*model.SA
	for sa := range m.SAs.All() {
		if gone(sa) {
			lost, all = append(lost, sa.ID), append(all, sa)
		}
	}
	m.RemoveSAs(all)
	return lost
}

// image is what the chips hold when all look-ups are cleared: keys of before, and some of those
// that the change wrote.
func (j *journal) image(before *compile.Image) *compile.Image {
	image := compile.NewImage()
	for _, way := range []xfrm.Dir{xfrm.DirOut, xfrm.DirIn} {
		rows := before.Keys(way).Clone()
		for _, row := range *j.keys(way) {
			rows.Add(row)
		}
		*image.Keys(way) = rows
	}
	return image
}
