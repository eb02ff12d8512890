// SPDX-License-Identifier: Apache-2.0

package card

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sallyport/mgmt/internal/fakebox"
	"sallyport/mgmt/internal/regs"
	"sallyport/mgmt/internal/transport"
)

// warm are codes of the system monitor: 40.2 degrees, 0.850 V and 1.800 V.
var warm = map[uint32]uint16{0: 0xA110, 1: 0x4889, 2: 0x9999}

func read(t *testing.T, fake *fakebox.Box, c transport.Chip) *Reading {
	t.Helper()
	reading, err := Read(fake, c)
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// TestRead: each field of the registers, at a card with one link and a MAC, and at the crypto card.
func TestRead(t *testing.T) {
	fake := fakebox.New(fakebox.Small)
	shells := fake.AddShells()
	inner, crypto := shells[transport.Inner], shells[transport.Crypto]
	inner.DRP = warm
	for _, set := range []struct {
		register regs.Register
		index    int
		value    uint32
	}{
		{regs.ShellVersion, 0, 0x010203}, {regs.ShellBoard, 0, 2}, {regs.ShellCoreState, 0, 0}, {regs.ShellParts, 0, 0x1421},
		{regs.ShellLinkState, 0, 1}, {regs.ShellChannelState, 0, 1}, {regs.ShellChannelState, 1, 2},
		{regs.ShellChannelErrors, 0, 0xFFFE0001}, {regs.ShellChannelEvents, 1, 0x00050007},
		{regs.ShellMacState, 0, 5}, {regs.ShellMacOverflow, 0, 0xFFFFFFFE}, {regs.ShellQsfpState, 0, 0x70E},
		{regs.ShellPcieRefused, 0, 3}, {regs.ShellAccessErrors, 0, 4},
	} {
		inner.Set(set.register, set.index, set.value)
	}
	same(t, "inner", read(t, fake, transport.Inner), &Reading{
		Board: "xupp3r", Version: "1.2.3", Ready: false,
		Links: []Link{{To: "crypto", Up: true, Channels: []Channel{{Up: true, SoftErrors: 1, HardErrors: 0xFFFE}, {Trained: true, Overflow: 7, Restarts: 5}}}},
		MAC:   &MAC{RxStatus: true, RxReset: true, Overflow: 0xFFFFFFFE},
		Cages: []Cage{{Module: true}, {}, {}, {Interrupt: true}}, Monitor: &Monitor{40.2, 0.85, 1.8},
		PCIeRefused: 3, AccessErrors: 4,
	})
	crypto.Set(regs.ShellLinkState, 0, 2)
	crypto.Set(regs.ShellBoard, 0, 77)
	crypto.Set(regs.ShellTunnelState, 0, 0x7FFF0002)
	up := Channel{Up: true, Trained: true}
	same(t, "crypto", read(t, fake, transport.Crypto), &Reading{
		Board: "number 77", Version: "0.1.0", Ready: true,
		Links: []Link{
			{To: "inner", Channels: []Channel{up}, Tunnel: &Tunnel{Retries: 2, Timeouts: 0x7FFF}},
			{To: "outer", Up: true, Channels: []Channel{up}, Tunnel: &Tunnel{Open: true}},
		},
		Cages: []Cage{{Module: true}, {Module: true}},
	})
	if fake.Writes == 0 {
		t.Error("the system monitor was read without a command")
	}
}

// TestMonitor: the transfer functions at both ends of their ranges and between, worked out by hand.
func TestMonitor(t *testing.T) {
	for code, want := range map[uint32]float64{0: -280.2, 0xFFFF: 229.1, 0x9780: 21.2} {
		same(t, fmt.Sprintf("temperature of %#x", code), temperature(code), want)
	}
	for code, want := range map[uint32]float64{0: 0, 0xFFFF: 3, 0x8000: 1.5, 0x4000: 0.75} {
		same(t, fmt.Sprintf("volts of %#x", code), supply(code), want)
	}
	fake := fakebox.New(fakebox.Small)
	shells := fake.AddShells()
	shells[transport.Outer].DRP = map[uint32]uint16{0: 1, 1: 1}
	same(t, "without VCCAUX", read(t, fake, transport.Outer).Monitor, (*Monitor)(nil))
}

// TestReadAll: one card that does not answer hides none of the others.
func TestReadAll(t *testing.T) {
	fake := fakebox.New(fakebox.Small)
	shells := fake.AddShells()
	shells[transport.Outer].Set(regs.ShellMagic, 0, 7)
	shells[transport.Inner].Set(regs.ShellParts, 0, 0x1151)
	states, err := ReadAll(fake)
	if err != nil || states["crypto"].Reading == nil || states["crypto"].Failure != "" {
		t.Errorf("%+v, %v", states, err)
	}
	for name, want := range map[string]string{"outer": "no bitstream of Sallyport", "inner": "1 links of 5 channels, and this program"} {
		if state := states[name]; state.Reading != nil || !strings.Contains(state.Failure, want) {
			t.Errorf("%s: %+v", name, state)
		}
	}
	if _, err := ReadAll(silent{why: fmt.Errorf("a read: %w", transport.Refusal(2))}); !errors.Is(err, ErrNoShell) {
		t.Errorf("cores alone: %v", err)
	}
}

// TestBoards: the names are those of the board files.
func TestBoards(t *testing.T) {
	files, err := filepath.Glob("../../../boards/data/*.yaml")
	if err != nil || len(files) != len(boards) {
		t.Fatalf("%v, %v", files, err)
	}
	for id, name := range boards {
		text, err := os.ReadFile("../../../boards/data/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^board: %s\nid: %d$`, name, id)).Match(text) {
			t.Errorf("%s is not board %d", name, id)
		}
	}
}
