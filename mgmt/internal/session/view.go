// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sync/atomic"
	"time"

	"sallyport/mgmt/internal/chip"
	"sallyport/mgmt/internal/model"
	"sallyport/mgmt/internal/plan"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/store"
	"sallyport/mgmt/internal/transport"
	"sallyport/mgmt/internal/xfrm"
)

// View is a configuration that does not change any more. Any number of goroutines may read it.
type View struct {
	box        *chip.Box
	now        func() time.Time
	generation uint32
	model      *model.Model
	hops       []model.NextHop
}

// Model is the configuration.
func (v *View) Model() *model.Model { return v.model }

// published is what a session that holds its box shows to those who do not wait for its changes.
type published struct {
	view atomic.Pointer[View]
	// writing is the generation that the chips are being brought to; 0: none.
	writing atomic.Uint32
	// sending are messages of SendBy under way into the chips; sent says that there were some since
	// the last change.
	sending atomic.Int32
	sent    atomic.Bool
}

// SendBy sends a message that the policies of a configuration protect. It sends nothing where the
// chips are being brought to other policies, or have them: those might let it out in clear.
func (s *Session) SendBy(v *View, send func() error) (sent bool, err error) {
	p := &s.published
	p.sending.Add(1)
	defer p.sending.Add(-1)
	if p.writing.Load() != 0 || p.view.Load() != v {
		return false, nil
	}
	p.sent.Store(true)
	return true, send()
}

// afterSent returns when the messages of SendBy have passed the policies that they were sent by. No
// further one is sent meanwhile, because the chips are being written.
func (s *Session) afterSent() error {
	for s.published.sending.Load() > 0 {
		time.Sleep(sendingPoll)
	}
	if !s.published.sent.Swap(false) {
		return nil
	}
	// A card's mailbox may hold a frame so long, and then the injector, whose bucket it waits for.
	time.Sleep(transport.MailboxPatience)
	return s.Box.Wait(plan.DrainTime)
}

const sendingPoll = time.Millisecond

// View gives the configuration that the chips hold, without waiting for a change that runs: until
// its end that is the configuration of before. Nil where the chips do not hold it: they were reset,
// the keys were erased, a change was cut short, or they are being restored. Then Look says what
// there is.
func (s *Session) View() (*View, error) {
	for {
		v := s.published.view.Load()
		if v == nil {
			return nil, nil
		}
		writing := s.published.writing.Load()
		marks, held, err := s.marks()
		if err != nil {
			return nil, err
		}
		for _, mark := range marks {
			held = held && (mark == v.generation || writing != 0 && mark == writing)
		}
		if held {
			return v, nil
		}
		if s.published.view.Load() == v && s.published.writing.Load() == writing {
			return nil, nil
		}
	}
}

// Look reads the configuration, and waits for the session that has the box.
func (s *Session) Look() (v *View, err error) {
	err = s.reading(func(state *store.State) error {
		v = s.viewOf(state)
		return nil
	})
	return v, err
}

func (s *Session) viewOf(state *store.State) *View {
	return &View{s.Box, s.now, state.Generation, state.Model, state.Hops}
}

// publish shows what the chips hold now, or that they hold nothing that is known.
func (s *Session) publish(state *store.State) {
	if s.held == nil {
		return
	}
	if state == nil {
		s.published.view.Store(nil)
		return
	}
	if v := s.published.view.Load(); v == nil || v.model != state.Model || v.generation != state.Generation {
		s.published.view.Store(s.viewOf(state))
	}
}

// marks reads the generations in the chips' SCRATCH registers, in one piece. The crypto chip's ends
// with its keys. So does CONTROL.enable, which a configured chip always has: a chip that is not
// enabled has no keys, though the mark may have been written after they were erased.
func (s *Session) marks() (marks [3]uint32, enabled bool, err error) {
	sources := []chip.Source{{Chip: transport.Crypto, Register: regs.CryptoControl}}
	for _, c := range transport.Chips {
		sources = append(sources, chip.Source{Chip: c, Register: regs.CommonScratch})
	}
	words, err := s.Box.ReadAll(sources...)
	copy(marks[:], words[1:])
	return marks, regs.CryptoControlEnable.Get(words[:1]) != 0, err
}

// Read carries out commands that change nothing, and gives what they print.
func (v *View) Read(commands []xfrm.Command, lists Lists) (string, error) {
	return v.printed(v.model, commands, lists)
}

// printed carries commands out on a model.
func (v *View) printed(m *model.Model, commands []xfrm.Command, lists Lists) (out string, err error) {
	listing := model.Listing{JSON: lists.JSON, Ignored: lists.Ignored, Sequence: v.number, ByPrefix: v.box.Capabilities[transport.Inner].PolicyRows > 0}
	if lists.Statistics {
		listing.Meter = meter{v.box}
	}
	for _, command := range commands {
		text, err := m.Apply(command, listing)
		if err != nil {
			return "", err
		}
		if query, ok := command.(xfrm.StateSelect); ok && !lists.JSON {
			received, err := v.windowOf(m, query)
			if err != nil {
				return "", err
			}
			text += received
		}
		out += text
	}
	return out, nil
}
