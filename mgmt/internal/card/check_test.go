// SPDX-License-Identifier: Apache-2.0

package card

import (
	"errors"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

func TestCheck(t *testing.T) {
	for _, c := range transport.Chips {
		for _, test := range []struct {
			register regs.Register
			value    uint32
			want     string
		}{
			{regs.ShellScratch, 7, ""},
			{regs.ShellMagic, 0x534C5950, "the " + c.String() + " card has no bitstream of Sallyport: its shell's magic number is 0x534c5950"},
			{regs.ShellMagic, 0, "the " + c.String() + " card has no bitstream of Sallyport"},
			{regs.ShellChip, uint32(c+1)%3 + 1, "where the " + c.String() + " card should be is card number "},
			{regs.ShellChip, 0, "card number 0 ("},
		} {
			fake := fakebox.New(fakebox.Small)
			fake.AddShells()[c].Set(test.register, 0, test.value)
			for _, each := range transport.Chips {
				err := Check(fake, each)
				wrong := each == c && test.want != ""
				if !wrong && err != nil || wrong && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("%s, %s %#x: the %s card: %v", c, test.register.Name, test.value, each, err)
				}
			}
		}
	}
}

// TestCheckSaysWhatFailed: the transport's own error comes through.
func TestCheckSaysWhatFailed(t *testing.T) {
	gone := errors.New("the bus is gone")
	if err := Check(silent{why: gone}, transport.Inner); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// silent is a box that does not answer.
type silent struct {
	transport.Transport
	why error
}

func (s silent) Do([]transport.Op) error { return s.why }
